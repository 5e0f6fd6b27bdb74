import { stepsOf } from '../support/steps.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Buffer } from 'node:buffer';
import { describe, expect, it, onTestFinished } from 'vitest';
import { referenceFor } from '../../src/core/order/reference.ts';
import { openStore } from '../../src/store/store.ts';
import { close, fulfilled, nothing } from '../support/outbox.ts';
import { actOn, openShops, type ShopOutbox, shopifyOrder, wooOrder } from './storefront-shops.ts';

const theirs = 'os-aaaaaaaaaaaaaaaaaaaaaaaaaa';

/** A field of an order with a result, as write-back writes it. */
const resultOf = (lineId: string, references: readonly string[], changes: object = {}) => ({
  meta_data: [
    {
      id: 1,
      key: '_order_sync_result',
      value: JSON.stringify({
        sandbox: true,
        lines: [{ line_id: lineId, state: 'fulfilled', references, ...changes }],
      }),
    },
  ],
});
const secondOrder = (changes: object = {}, minute = 0) =>
  wooOrder(
    {
      id: 728,
      number: '728',
      line_items: [{ id: 316, sku: 'STEAM-20', quantity: 1, meta_data: [] }],
      ...changes,
    },
    minute,
  );
const rowsOf = ({ outbox }: ShopOutbox) => outbox.store.read.attention(100);
const flagOf = (shops: ShopOutbox) => rowsOf(shops).find(({ reason }) => reason === 'other_worker');
const states = (shops: ShopOutbox) =>
  shops
    .bought()
    .map((text) => `${text.split(' ')[0]} ${text.split(' ').at(-1)}`)
    .toSorted();
const claim = ({ outbox }: ShopOutbox) =>
  stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() + 1000 }));

async function acknowledge(shops: ShopOutbox): Promise<void> {
  const { outbox } = shops;
  const which = { ids: [flagOf(shops)?.id ?? ''] };
  const request = { which, actor: 'cli:anna', reason: 'it was the old server', nowMs: Date.now() };
  expect((await outbox.store.operator.acknowledge(request)).refused).toEqual([]);
}

describe('a result of another worker in an order of the shop', () => {
  it('holds every unsent line of the shop, also those that were pending, until its row is acknowledged', async () => {
    const shops = await openShops();
    await shops.woo(secondOrder());
    await shops.woo(wooOrder({ status: 'completed', ...resultOf('9', [theirs]), line_items: [] }));
    expect(await claim(shops)).toBeNull();
    await shops.woo(wooOrder({ id: 729, number: '729' }, 1));
    expect(await claim(shops)).toBeNull();
    expect(states(shops)).toEqual(['315 held', '316 held']);
    expect(flagOf(shops)).toMatchObject({
      source: 'woo',
      message: expect.stringContaining(
        `the order 727 of the shop has a result of another worker, with the reference "${theirs}"`,
      ),
      canAcknowledge: true,
    });
    // A later state of an order changes nothing about that.
    await shops.woo(secondOrder({}, 2));
    expect(states(shops)).toEqual(['315 held', '316 held']);
    await acknowledge(shops);
    expect([states(shops), flagOf(shops)]).toEqual([['315 pending', '316 pending'], undefined]);
    expect([(await claim(shops))?.purpose, (await claim(shops))?.purpose]).toEqual([
      'submit',
      'submit',
    ]);
    // It is shown again and again: it was decided about.
    await shops.woo(
      wooOrder({ status: 'completed', ...resultOf('9', [theirs]), line_items: [] }, 3),
    );
    expect(flagOf(shops)).toBeUndefined();
  });

  it('holds no line of another shop', async () => {
    const shops = await openShops();
    await shops.woo(wooOrder(resultOf('315', [theirs])));
    await shops.shopify(shopifyOrder());
    expect((await claim(shops))?.purpose).toBe('submit');
  });

  it('holds its own line after the row was acknowledged, too, until an operator releases it', async () => {
    const shops = await openShops();
    await shops.woo(wooOrder(resultOf('315', [theirs])));
    await shops.woo(secondOrder());
    expect(await claim(shops)).toBeNull();
    await acknowledge(shops);
    expect((await claim(shops))?.entry.quantity).toBe(1);
    expect(await claim(shops)).toBeNull();
    // This worker wrote its own result over that of the other one.
    await shops.woo(wooOrder({ note: 'another address' }, 2));
    expect(await claim(shops)).toBeNull();
    expect(shops.reasons()).toEqual([
      expect.stringContaining('315 another worker wrote into this order'),
    ]);
    await actOn(shops, '315', { action: 'release' });
    expect((await claim(shops))?.entry.quantity).toBe(2);
  });

  it('does not hold a line that an operator released meanwhile', async () => {
    const shops = await openShops();
    await shops.woo(secondOrder(resultOf('316', [theirs])));
    await shops.woo(wooOrder());
    expect(await claim(shops)).toBeNull();
    await actOn(shops, '315', { action: 'release' });
    await shops.woo(wooOrder({}, 1));
    expect((await claim(shops))?.entry.quantity).toBe(2);
    expect(states(shops)).toEqual(['315 sending', '316 held']);
  });

  it('holds a line whose order is not paid any more until it is paid again, also after the row was acknowledged', async () => {
    const shops = await openShops();
    await shops.woo(secondOrder(resultOf('9', [theirs])));
    await shops.woo(wooOrder());
    expect(await claim(shops)).toBeNull();
    await shops.woo(wooOrder({ status: 'on-hold' }, 1));
    await acknowledge(shops);
    expect(await claim(shops)).toMatchObject({ entry: { quantity: 1 } });
    expect([await claim(shops), states(shops)]).toEqual([null, ['315 held', '316 sending']]);
    await shops.woo(wooOrder({}, 2));
    expect((await claim(shops))?.entry.quantity).toBe(2);
  });

  it('keeps an order of unknown outcome from being sent again', async () => {
    const shops = await openShops();
    await shops.woo(wooOrder());
    const attempt = await claim(shops);
    if (attempt === null) throw new Error('it is due');
    const again = {
      ...nothing,
      nextStep: 'send',
      inFlightWindowEndMs: null,
      inFlightWindowMs: null,
    } as const;
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, again));
    await shops.woo(secondOrder(resultOf('9', [theirs])));
    expect(await claim(shops)).toBeNull();
    expect(states(shops)).toEqual(['315 held', '316 held']);
    await acknowledge(shops);
    expect(states(shops)).toEqual(['315 unknown', '316 pending']);
  });

  it('does not make the claim long, however many lines wait', async () => {
    const shops = await openShops();
    const line_items = Array.from({ length: 60 }, (_, index) => ({
      id: 1000 + index,
      sku: 'STEAM-20',
      quantity: 1,
      meta_data: [],
    }));
    await shops.woo(wooOrder({ line_items }));
    await shops.woo(secondOrder(resultOf('9', [theirs])));
    const held = () => states(shops).filter((text) => text.endsWith('held')).length;
    expect([await claim(shops), held()]).toEqual([null, 25]);
    for (let more = 0; more < 3; more += 1) expect(await claim(shops)).toBeNull();
    expect(held()).toBe(61);
  });
});

describe('a result that no other worker wrote', () => {
  const ours = (lineId: string, generation: number) => {
    const namespace = { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) };
    return referenceFor(namespace, { source: 'woo', orderId: '727', lineId, generation, part: 0 });
  };

  it('flags nothing: a known reference, one of a lost outbox with the same secret, and what nobody can read', async () => {
    const shops = await openShops();
    await shops.woo(secondOrder());
    const attempt = await claim(shops);
    if (attempt === null) throw new Error('it is due');
    await stepsOf(shops.outbox.store).closeAttempt(close(attempt, fulfilled));
    const { reference } = attempt.entry;
    const shown = [
      resultOf('316', [reference]),
      // A copy of the order has its fields, too.
      resultOf('999', [reference]),
      resultOf('315', [ours('315', 0)]),
      resultOf('315', [ours('315', 2), theirs]),
      resultOf('315', [theirs], { state: 'held' }),
      resultOf('315', []),
      ...[
        'x',
        '[]',
        '{}',
        '7',
        'null',
        '{"lines":7}',
        '{"lines":["a"]}',
        '{"lines":[{"references":"a"}]}',
        '{"lines":[{"references":[7,{"a":[]},null]}]}',
      ].map((value) => ({ meta_data: [{ id: 1, key: '_order_sync_result', value }] })),
      { meta_data: [{ id: 1, key: '_order_sync_result', value: { lines: [1] } }] },
      { meta_data: 'x' },
    ];
    for (const [minute, changes] of shown.entries())
      await shops.woo(wooOrder({ ...changes }, minute));
    expect([flagOf(shops), (await claim(shops))?.entry.quantity]).toEqual([undefined, 2]);
  });

  it('flags nothing in production when it was bought in a trial with the sandbox', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'order-sync-other-worker-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const namespace = { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 8) };
    const path = join(folder, 'order-sync.db');
    const store = openStore({
      path,
      init: 'if-missing',
      namespace,
      upstream: 'https://api.example',
      sinks: [],
    });
    onTestFinished(() => store.close());
    const note = (sandbox: boolean) => {
      const lines = [{ line_id: '1', state: 'fulfilled', references: [theirs] }];
      const result = JSON.stringify({ sandbox, lines });
      return store.storefronts.noteResult({ source: 'woo', orderId: '1', result, nowMs: 1 });
    };
    expect([await note(true), await note(false)]).toEqual([false, true]);
  });
});
