import { stepsOf } from '../support/steps.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import { wooOrder } from '../storefronts/storefront-shops.ts';
import { close, nothing, usualClaim } from '../support/outbox.ts';
import { installation, runHere, sandboxConfig, type Installation } from './installation.ts';
import { openOutbox } from './sample-outbox.ts';

const shops = (folder: string): string => `${sandboxConfig(folder)}
intake:
  folders:
    - { name: other, sku_map: ${folder}/other.yaml, currency: EUR }
    - { name: folder, sku_map: ${folder}/skus.yaml, currency: USD }
  webhook:
    listen: 127.0.0.1:0
    sku_map: ${folder}/http.yaml
    woocommerce:
      - { shop: main, secrets: [{ value: a-secret-of-the-shop-1 }], sku_map: ${folder}/skus.yaml, unmatched: review }
`;

const mapSkus = ({ folder }: Installation, skus: string) =>
  writeFileSync(join(folder, 'skus.yaml'), `skus: ${skus}\n`);

/**
 * A shop with an order of two lines: the product of the first is not sold, the SKU of the second is
 * not in the map.
 */
async function withOrder(): Promise<{ here: Installation; reference: string; flag: string }> {
  const known = installation(shops);
  // The shop's order was paid an hour ago.
  const run: Installation['run'] = (...argv) =>
    runHere([...argv, '--config', known.configFile], new SystemClock());
  const here = { ...known, run };
  mapSkus(here, '{ STEAM-20: { type: gift_card_order, variant: wrong } }');
  const store = openOutbox(here);
  try {
    const { config } = loadConfig({ file: here.configFile, flags: {} });
    const intake = new StorefrontIntake({
      shops: config.intake.shops,
      store: store.storefronts,
      clock: new SystemClock(),
      logger: pino({ level: 'silent' }),
      onChanged: () => undefined,
    });
    const second = { id: 316, sku: 'NEW', quantity: 1, meta_data: [] };
    const line_items = [{ id: 315, sku: 'STEAM-20', quantity: 2, meta_data: [] }, second];
    const document = parseExactJson(JSON.stringify(wooOrder({ line_items })));
    await intake.handlerFor('woocommerce', 'main')?.take({
      document,
      isTest: false,
      topic: 'order.updated',
      isListed: false,
      refunds: 'unknown',
    });
    const attempt = await stepsOf(store).openAttempt({
      ...usualClaim,
      nowMs: Date.now(),
      latestMs: Date.now(),
      steadyMs: 500,
    });
    if (attempt === null) throw new Error('the first line is due');
    const error = { code: 'invalid_variant', message: 'no such product', buffered: false };
    const rejected = {
      ...nothing,
      state: 'rejected',
      outcomeUnknown: false,
      row: 'invalid_variant',
      error,
    } as const;
    await stepsOf(store).closeAttempt(close(attempt, rejected));
    const flag = store.read.attention(10).find(({ code }) => code === 'unknown_sku')?.id ?? '';
    return { here, reference: attempt.entry.reference, flag };
  } finally {
    await store.close();
  }
}

const corrected =
  '{ STEAM-20: { type: gift_card_order, variant: steam-usd-20 }, NEW: { type: gift_card_order, variant: new-1 } }';
const because = ['--remap', '--reason', 'the map was wrong'] as const;

describe('orders reorder --remap', () => {
  it('shows the old and the new request, and changes nothing without --confirm', async () => {
    const { here, reference } = await withOrder();
    mapSkus(here, corrected);
    const shown = await here.run('orders', 'reorder', reference, ...because);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toBe(
      `${reference} was: 2 x wrong in USD\n${' '.repeat(reference.length)}  is: 2 x steam-usd-20 in USD\n` +
        `nothing was changed; order the new request with --confirm ${reference}\n`,
    );
    expect((await here.run('orders', 'show', reference)).stdout).not.toContain('steam-usd-20');
  });

  it('orders it with --confirm, and the old entry leaves the attention list', async () => {
    const { here, reference, flag } = await withOrder();
    mapSkus(here, corrected);
    const done = await here.run(
      'orders',
      'reorder',
      reference,
      ...because,
      '--confirm',
      reference,
      '--json',
    );
    const answer = JSON.parse(done.stdout);
    expect(answer).toMatchObject({
      id: reference,
      was: '2 x wrong in USD',
      is: '2 x steam-usd-20 in USD',
    });
    expect((await here.run('orders', 'show', answer.new_reference)).stdout).toContain(
      '2 x steam-usd-20 in USD',
    );
    const status = JSON.parse((await here.run('queue', 'status', '--json')).stdout);
    expect(status.attention.map(({ id }: { id: string }) => id)).toEqual([flag]);
    expect(
      await here.run('orders', 'reorder', reference, ...because, '--confirm', reference),
    ).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('another reference replaced this one'),
    });
  });

  it.each([
    [
      'the map says the same',
      (reference: string) => reference,
      5,
      /has the same product for "STEAM-20".*correct the SKU in .*skus.yaml/s,
    ],
    ['there is no such reference', () => 'os-nothing', 4, /"os-nothing" is no reference/],
  ])('says what to do where %s', async (_, idOf, code, message) => {
    const { here, reference } = await withOrder();
    const id = idOf(reference);
    const refused = await here.run('orders', 'reorder', id, ...because, '--confirm', id);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  it.each([
    ['order files', 'F1', 'steam-usd-20'],
    ['orders over HTTP', null, 'steam-usd-10'],
  ])('takes the map of %s for a line that came from one', async (_, fileId, variant) => {
    const { here } = await withOrder();
    const store = openOutbox(here);
    await store.intake.files.begin({
      id: 'F1',
      name: 'orders.csv',
      folder: 'folder',
      sizeBytes: 10,
      nowMs: 1,
    });
    const line = {
      source: 'files',
      orderId: '9',
      lineId: '1',
      operation: 'gift_card_order',
      variant: 'wrong',
      plan: null,
      iccid: null,
      quantity: 3,
      days: null,
      currency: 'USD',
      notAfterMs: 1,
      metadata: {},
      extra: { sku: 'STEAM-20', shop_quantity: '3' },
      lineNumber: 2,
    } as const;
    const [accepted] = await store.intake.acceptBatch({
      nowMs: 1,
      fileId,
      lines: [line],
      rejections: [],
    });
    await stepsOf(store).expireOverdue(Date.now(), 10);
    await store.close();
    mapSkus(here, corrected);
    const ofHttp = 'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-10 } }\n';
    writeFileSync(join(here.folder, 'http.yaml'), ofHttp);
    const reference = accepted?.reference ?? '';
    const done = await here.run(
      'orders',
      'reorder',
      reference,
      ...because,
      '--confirm',
      reference,
      '--json',
    );
    expect(JSON.parse(done.stdout)).toMatchObject({
      was: '3 x wrong in USD',
      is: `3 x ${variant} in USD`,
    });
  });
});
