import { describe, expect, it } from 'vitest';
import { actOn, shopifyOrder, startShops, type Shops, wooOrder } from './storefront-shops.ts';

const line = (sku: unknown, changes: object = {}) => ({
  id: 315,
  sku,
  quantity: 2,
  product_id: 93,
  meta_data: [],
  ...changes,
});
const wooLine = (sku: unknown, minute = 0, id = 727, changes: object = {}) =>
  wooOrder({ id, line_items: [line(sku, changes)] }, minute);
const steam =
  '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 }, NEW: { type: gift_card_order, variant: new-1 } }';
const mapOf = (sku: string): string =>
  `${JSON.stringify(sku)}: { type: gift_card_order, variant: new-1 }`;
const withoutSteam = '{ NEW: { type: gift_card_order, variant: new-1 } }';

async function acknowledge({ outbox }: Shops): Promise<void> {
  const ids = outbox.store.read.attention(10).map(({ id }) => id);
  await outbox.store.operator.acknowledge({
    which: { ids },
    actor: 'test',
    reason: 'delivered by hand',
    nowMs: Date.now(),
  });
}

describe('a line of a shop that ignores other products', () => {
  it.each([
    'STEAM-20 ',
    'steam-20',
    '\u00a0STEAM-20',
    'STEAM\u201320',
    'ＳＴＥＡＭ-20',
    'ЅТЕАМ-20',
    "'STEAM-20",
    'steam&#8211;20',
    'STEAM-20\t',
    '\r\nSTEAM-20',
    'STEAM\u200B-20',
    '\uFEFFSTEAM-20',
    'STEAM-20\u202F',
    '\u200ESTEAM-20',
    'STE\u00ADAM-20',
    'SΤEAΜ-20',
    'ＳＴＥＡＭ－２０',
    '="STEAM-20"',
    '"STEAM-20"',
  ])('is bought where its SKU is written as %j', async (sku) => {
    const shops = await startShops();
    expect((await shops.woo(wooLine(sku))).json).toMatchObject({ accepted: 1, flagged: 0 });
    const line_items = [
      { id: 11, sku, quantity: 1, current_quantity: 1, gift_card: false, properties: [] },
    ];
    expect((await shops.shopify(shopifyOrder({ line_items }))).json).toMatchObject({
      accepted: 1,
      flagged: 0,
    });
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 pending', '11 1 x steam-usd-20 pending']);
  });

  it.each([
    ['A&B-10', 'A&amp;B-10'],
    ['A&B-10', 'A&#038;B-10'],
    ['A&B-10', 'A&amp;amp;B-10'],
    ['A&amp;B-10', 'A&B-10'],
    ['CAFÉ-20', 'CAFE\u0301-20'],
    ['194512345678', '194512345678.0'],
    ['8499', 8499],
    ['0027001', "'0027001"],
    ['STEAM-20-1', 'STEAM-20-1'],
  ])('is bought where the map has %j, and the shop writes %j', async (mapped, sku) => {
    const shops = await startShops();
    shops.mapSkus(`{ STEAM-20: { type: gift_card_order, variant: other }, ${mapOf(mapped)} }`);
    expect((await shops.woo(wooLine(sku))).json).toMatchObject({ accepted: 1, flagged: 0 });
    expect(shops.bought()).toEqual(['315 2 x new-1 pending']);
  });

  it.each([
    ['NINTENDO-20', 'NINTEND0-20'],
    ['NINTENDO-20', 'NlNTENDO-20'],
    ['0027001', '27001'],
    ['194512345678', '1,94512E+11'],
  ])('needs attention where the map has %j, and the shop writes %j', async (mapped, sku) => {
    const shops = await startShops();
    shops.mapSkus(`{ ${mapOf(mapped)} }`);
    expect((await shops.woo(wooLine(sku))).json).toMatchObject({ accepted: 0, flagged: 1 });
    // The shop corrects it.
    expect((await shops.woo(wooLine(mapped, 1))).json).toMatchObject({ accepted: 1 });
    expect([shops.bought(), shops.flagged()]).toEqual([['315 2 x new-1 pending'], []]);
  });

  it.each(['STEAM_20', 'STEAM 20', 'STEAM.(20)', 'STEAM-20-1-1', 'SETAM-20', 'STEAM/20'])(
    'needs attention where its SKU is %j, and the line beside it is bought',
    async (sku) => {
      const shops = await startShops();
      await shops.woo(wooOrder({ line_items: [line('STEAM-20', { id: 314 }), line(sku)] }));
      expect(shops.flagged()).toEqual(['315 unknown_sku']);
      expect(shops.bought()).toEqual(['314 2 x steam-usd-20 pending']);
      // It is bought once the map has it.
      await shops.storefronts.followMaps();
      shops.mapSkus(
        `{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 }, ${mapOf(sku)} }`,
      );
      await shops.storefronts.followMaps();
      expect([shops.bought(), shops.flagged()]).toEqual([
        ['314 2 x steam-usd-20 pending', '315 2 x new-1 pending'],
        [],
      ]);
    },
  );

  it.each([
    [
      'STEAM20',
      /has the SKU "STEAM20", which is not in the SKU map, which has "STEAM-20"; nothing was bought/,
    ],
    ['STEAM-2O', /which has "STEAM-20"/],
    ['STEAM-20-1', /which has "STEAM-20"/],
    ['STEAM-20 (Copy)', /"STEAM-20 \(Copy\)", which is not in the SKU map, which has "STEAM-20"/],
    ['STAEM\u00a0-20', /has the SKU "STAEM\\u00a0-20", which/],
    ['1.94512E+11', /has the SKU "1\.94512E\+11", which looks changed by a spreadsheet/],
  ])('needs attention where its SKU is %j', async (sku, why) => {
    const shops = await startShops();
    expect((await shops.woo(wooLine(sku))).json).toMatchObject({ accepted: 0, flagged: 1 });
    expect(shops.reasons()).toMatchObject([expect.stringMatching(why)]);
    expect(shops.bought()).toEqual([]);
  });

  it.each([
    'STEAM-10',
    'STEAM-200',
    'STEAM-30',
    'STEAM',
    'STEAM-50-EU',
    'FR-30D',
    'DE-7D',
    'XBOX-20',
    'MUG',
    'MAR-20',
    '194512345678',
    '',
    'STEAM-20-3PACK',
    'STEAMDECK-20',
    'MAY-01',
    'TSHIRT-20-M',
    'STEAM-25',
    'STEAM-20-EUR',
    'RIOT-20',
  ])('makes no row where its SKU is %j', async (sku) => {
    const shops = await startShops();
    expect((await shops.woo(wooLine(sku))).json).toMatchObject({ accepted: 0, flagged: 0 });
    expect((await shops.woo(wooLine(sku, 1, 728, { quantity: 0.5 }))).json).toMatchObject({
      flagged: 0,
    });
    expect(shops.flagged()).toEqual([]);
  });

  it.each(['steam-20 ', 'STEAM20'])(
    'that cannot be read needs attention where its SKU is %j',
    async (sku) => {
      const shops = await startShops();
      expect((await shops.woo(wooLine(sku, 0, 727, { quantity: 0.5 }))).json).toMatchObject({
        flagged: 1,
      });
      expect(shops.flagged()).toEqual(['315 unreadable_line']);
    },
  );

  it('is no other product when its SKU is typed in another way', async () => {
    const shops = await startShops();
    await shops.woo(wooLine('STEAM-20', 0, 727, { product_id: 0 }));
    expect((await shops.woo(wooLine(' steam-20', 1, 727, { product_id: 0 }))).json).toMatchObject({
      known: 1,
      flagged: 0,
    });
    const moved = wooOrder({ line_items: [line('Steam-20 ', { id: 316 })] }, 2);
    expect((await shops.woo(moved)).json).toMatchObject({ accepted: 1, flagged: 0 });
    expect(shops.bought()).toEqual([
      '315 2 x steam-usd-20 cancelled',
      '316 2 x steam-usd-20 pending',
    ]);
  });

  it('is a part of a bundle whose SKU is written in another way', async () => {
    const shops = await startShops();
    const container = line('steam-3pack ', { id: 314 });
    await shops.woo(wooOrder({ line_items: [container, line('STEAM-20', { bundled_by: 314 })] }));
    expect(shops.flagged()).toEqual(['315 bundled_line']);
  });
});

it('a line with a near SKU in a sale from before the connection makes no row of its own', async () => {
  const shops = await startShops({ woo: { lookbackH: 0 } });
  const named = [{ title: 'woo', source: 'woo', fingerprints: [] }];
  await shops.outbox.store.storefronts.adoptShops({ shops: named, nowMs: Date.now() });
  for (const id of [1, 2, 3]) await shops.woo(wooLine('STEAM20', 0, id));
  expect(shops.flagged()).toEqual(['null old_sale']);
});

describe('a SKU that left the map', () => {
  it('flags its lines, which are bought once when the map has it again', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    shops.mapSkus(withoutSteam);
    expect((await shops.woo(wooLine('Steam-20'))).json).toMatchObject({ accepted: 0, flagged: 1 });
    expect(shops.reasons()).toEqual([
      '315 has the SKU "Steam-20", which the SKU map had before; nothing was bought',
    ]);
    await shops.storefronts.followMaps();
    expect(shops.bought()).toEqual([]);
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect([shops.bought(), shops.flagged()]).toEqual([['315 2 x steam-usd-20 pending'], []]);
    await shops.woo(wooLine('Steam-20', 1));
    shops.mapSkus(`${steam} `);
    await shops.storefronts.followMaps();
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 pending']);
  });

  it('is bought in one of two orders that are copies, when the map has it again', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    shops.mapSkus(withoutSteam);
    const paid = { transaction_id: 'pi_3Nabc' };
    await shops.woo({ ...wooLine('STEAM-20'), ...paid });
    await shops.woo({ ...wooLine('STEAM-20', 0, 728, { id: 316 }), ...paid });
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect(shops.bought().map((text) => text.replace(/ .* /, ' '))).toEqual([
      '315 pending',
      '316 held',
    ]);
  });

  it('is not bought when its order was cancelled before the map was right again', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    shops.mapSkus(withoutSteam);
    await shops.woo(wooLine('STEAM-20'));
    await shops.woo({ ...wooLine('STEAM-20', 1), status: 'cancelled' });
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect([shops.bought(), shops.flagged()]).toEqual([[], []]);
  });

  it('is remembered across a restart', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    const { store } = shops.outbox;
    const asked = { source: 'woo', skus: JSON.stringify(['steam-20', 'mug']) };
    expect(await store.storefronts.mappedBefore(asked)).toEqual(['steam-20']);
  });

  it('is bought once where the shop sends the order while the worker buys what was flagged', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    shops.mapSkus(withoutSteam);
    for (let id = 1; id <= 10; id += 1) await shops.woo(wooLine('STEAM-20', 0, id));
    shops.mapSkus(steam);
    const again = Array.from({ length: 10 }, (_, index) =>
      shops.woo(wooLine('STEAM-20', 1, index + 1)),
    );
    await Promise.all([shops.storefronts.followMaps(), ...again, shops.storefronts.followMaps()]);
    expect(shops.bought()).toEqual(
      Array.from({ length: 10 }, () => '315 2 x steam-usd-20 pending'),
    );
    expect(shops.flagged()).toEqual([]);
  });

  it('leaves a line as it is that an operator acknowledged', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    shops.mapSkus(withoutSteam);
    await shops.woo(wooLine('STEAM-20'));
    await acknowledge(shops);
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect(shops.bought()).toEqual([]);
    await shops.woo(wooLine('STEAM-20', 1));
    expect(shops.bought()).toEqual(['315 2 x steam-usd-20 held']);
  });

  it('does not buy a line that was flagged for another reason, too', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    await shops.woo(wooLine('STEAM-20', 0, 727, { quantity: 1.5 }));
    shops.mapSkus(withoutSteam);
    await shops.woo(
      wooOrder(
        {
          date_paid_gmt: '2020-01-01T00:00:00',
          line_items: [line('STEAM-20'), line('NEW', { id: 316 })],
        },
        1,
      ),
    );
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect(shops.bought()).toEqual([]);
    expect(shops.flagged()).toEqual(['315 too_old', '315 unknown_sku', '316 too_old']);
  });

  it('is named in health while it was bought lately, until it is back or acknowledged', async () => {
    const shops = await startShops();
    await shops.storefronts.followMaps();
    await shops.woo(wooLine('STEAM-20'));
    await actOn(shops, '315', { action: 'hold' });
    expect(shops.intake.details()).toBeNull();
    shops.mapSkus(withoutSteam);
    await shops.storefronts.followMaps();
    expect(shops.intake.details()).toMatchObject({
      reason: expect.stringMatching(/lacks .*"STEAM-20"/),
    });
    expect(shops.flagged()).toContain('null skus_lost');
    shops.mapSkus(steam);
    await shops.storefronts.followMaps();
    expect([shops.intake.details(), shops.flagged()]).toEqual([null, ['315 held']]);
    shops.mapSkus(withoutSteam);
    await shops.storefronts.followMaps();
    await acknowledge(shops);
    await shops.storefronts.followMaps();
    expect(shops.intake.details()).toBeNull();
  });
});
