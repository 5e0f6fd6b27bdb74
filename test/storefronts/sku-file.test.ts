import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SkuFile } from '../../src/storefronts/sku-file.ts';

let folder: string;
let path: string;
/** How far the clock of the test is ahead of the file system's, in ms. */
let aheadMs = 0;
const clock = {
  wallMs: () => Date.now() + aheadMs,
  steadyMs: () => performance.now() + aheadMs,
  sleep: async () => undefined,
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-sku-'));
  path = join(folder, 'skus.csv');
  aheadMs = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const header = 'sku,type,variant,quantity\n';
const rows = 'A,gift_card_order,steam-usd-20,1\nB,gift_card_order,steam-usd-50,100\n';
/** Ends within the last number, so every row looks complete. */
const unfinished = `${header}${rows}`.slice(0, -3);
const opened = (): SkuFile => new SkuFile(path, clock, pino({ level: 'silent' }));
const quantities = async (file: SkuFile) =>
  [...(await file.current()).values()].map((sku) => ('quantity' in sku ? sku.quantity : 0));

describe('a SKU map that is being written', () => {
  it('is not read before it is complete: the last good version stays in use', async () => {
    writeFileSync(path, `${header}A,gift_card_order,steam-usd-20,1\n`);
    const file = opened();
    aheadMs += 5000;
    writeFileSync(path, unfinished);
    utimesSync(path, clock.wallMs() / 1000, clock.wallMs() / 1000);
    expect(await quantities(file)).toEqual([1]);
    aheadMs += 1500;
    writeFileSync(path, `${header}${rows}`);
    utimesSync(path, clock.wallMs() / 1000, clock.wallMs() / 1000);
    expect(await quantities(file)).toEqual([1]);
    aheadMs += 3000;
    expect(await quantities(file)).toEqual([1, 100]);
  });

  it('is read at the next use when it was written a while ago', async () => {
    writeFileSync(path, `${header}A,gift_card_order,steam-usd-20,1\n`);
    const file = opened();
    writeFileSync(path, `${header}${rows}`);
    aheadMs += 60_000;
    expect(await quantities(file)).toEqual([1, 100]);
  });

  it('is read when it no longer changes, even with a file time in the future', async () => {
    writeFileSync(path, `${header}A,gift_card_order,steam-usd-20,1\n`);
    const file = opened();
    writeFileSync(path, `${header}${rows}`);
    utimesSync(path, 4_000_000_000, 4_000_000_000);
    aheadMs += 1500;
    expect(await quantities(file)).toEqual([1]);
    aheadMs += 3000;
    expect(await quantities(file)).toEqual([1, 100]);
  });
});

describe('a large SKU map that changed', () => {
  const yaml = (count: number, more = ''): string =>
    `skus:\n${Array.from({ length: count }, (_, row) => `  S-${row}: { type: gift_card_order, variant: v-${row} }\n`).join('')}${more}`;

  it('is read by another process: this one does other things, and who asks gets the new map', async () => {
    path = join(folder, 'skus.yaml');
    writeFileSync(path, yaml(1));
    const file = opened();
    writeFileSync(path, yaml(3000, '  __proto__: { type: gift_card_order, variant: p }\n'));
    aheadMs += 60_000;
    const asked = [file.current(), file.current()];
    await nextTurn();
    aheadMs += 60_000;
    asked.push(file.current());
    const isRead = await Promise.race([asked[0], nextTurn('other things')]);
    expect(isRead).toBe('other things');
    const maps = await Promise.all(asked);
    expect(maps.map(({ size }) => size)).toEqual([3001, 3001, 3001]);
    expect(maps[0]?.get('__proto__')).toEqual({
      type: 'gift_card_order',
      variant: 'p',
      quantity: 1,
    });
    expect(file.problem).toBeNull();
  });

  it('with a mistake is named with its line, and the last good one stays', async () => {
    path = join(folder, 'skus.yaml');
    writeFileSync(path, yaml(1));
    const file = opened();
    writeFileSync(path, yaml(3000, '  BAD: { type: gift_card_order }\n'));
    aheadMs += 60_000;
    // Also when no order needs the map.
    await expect
      .poll(() => file.problem, { timeout: 30_000 })
      .toMatch(/line 3002, skus\.BAD\.variant/);
    expect((await file.current()).size).toBe(1);
  });
});
