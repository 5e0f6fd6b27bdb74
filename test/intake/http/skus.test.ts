import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { order, startIntake } from './running-intake.ts';

const steam = 'STEAM-20: { type: gift_card_order, variant: steam-usd-20, split: true, wait_h: 2 }';

/** The intake with a SKU map in a file, and a clock that a test may set forward. */
async function startWithMap() {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-http-skus-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const skuMap = join(folder, 'skus.yaml');
  const map = (skus: string, ageS = 60): void => {
    writeFileSync(skuMap, `skus: { ${skus} }\n`);
    utimesSync(skuMap, Date.now() / 1000 - ageS, Date.now() / 1000 - ageS);
  };
  map(steam);
  const clock = new SystemClock();
  const steadyMs = clock.steadyMs.bind(clock);
  let aheadMs = 0;
  clock.steadyMs = () => steadyMs() + aheadMs;
  const running = await startIntake({ config: { skuMap }, clock });
  const pass = (ms: number) => void (aheadMs += ms);
  return { ...running, map, pass };
}
const bySku = (sku: unknown, orderId = '1001') =>
  order({ order_id: orderId, lines: [{ line_id: '1', sku, quantity: 2 }] });

describe('an order over HTTP that names a SKU', () => {
  it('is bought as the SKU map says, with the rules and the deadline of the SKU', async () => {
    const { post, outbox } = await startWithMap();
    const before = Date.now();
    expect((await post(bySku('STEAM-20'))).status).toBe(202);
    const attempt = await outbox.opened({ nowMs: Date.now() });
    const { variant, quantity, rules, notAfterMs } = attempt.entry;
    expect([variant, quantity, rules]).toEqual(['steam-usd-20', 2, { split: true }]);
    expect(notAfterMs).toBeGreaterThanOrEqual(before + 2 * 3_600_000);
    const again = await post(
      order({ lines: [{ line_id: '1', variant: 'steam-usd-20', quantity: 2 }] }),
    );
    expect(again.status).toBe(200);
    const { document } = outbox.store.read.resultDocument(1);
    expect(document.lines[0]?.extra).toEqual({ sku: 'STEAM-20', shop_quantity: '2' });
  });

  it('is refused as a whole when the map lacks the SKU', async () => {
    const { post, outbox } = await startWithMap();
    const lines = [
      { line_id: '1', sku: 'STEAM-20' },
      { line_id: '2', sku: 'STEAM-2O' },
    ];
    const { status, json } = await post(order({ lines }));
    expect(status).toBe(422);
    expect(json.errors).toEqual([
      {
        pointer: '#/lines/1/sku',
        code: 'unknown_sku',
        detail: expect.stringMatching(/^is not in the SKU map, which has .STEAM-20/),
        value: 'STEAM-2O',
      },
    ]);
    expect(outbox.store.read.counts().pending).toBe(0);
  });

  it('is read by the map as it is now; a mistake in the map is shown, and the last good one stays', async () => {
    const { post, intake, map, pass } = await startWithMap();
    map('STEAM-20: { type: card }', 30);
    pass(5000);
    expect((await post(bySku('STEAM-20'))).status).toBe(202);
    expect([intake.health(), intake.details()]).toEqual([
      'warn',
      { sku_map: expect.stringContaining('skus.STEAM-20.type') },
    ]);
    map(`${steam}, XBOX: { type: gift_card_order, variant: xbox-usd-25 }`, 10);
    pass(5000);
    expect((await post(bySku('XBOX', '1002'))).status).toBe(202);
    expect([intake.health(), intake.details()]).toEqual(['pass', null]);
  });

  it('is told which key it needs where no map is configured', async () => {
    const { post } = await startIntake();
    const { status, json } = await post(bySku('STEAM-20'));
    expect([status, json.errors]).toMatchObject([
      422,
      [
        {
          pointer: '#/lines/0/sku',
          detail: 'needs `sku_map` of the folder or of `intake.webhook`',
        },
      ],
    ]);
  });
});
