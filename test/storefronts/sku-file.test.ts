import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SkuFile } from '../../src/storefronts/sku-file.ts';

let folder: string;
let path: string;
/** How far the clock of the test is ahead of the file system's, in ms. */
let aheadMs = 0;
const clock = {
  wallMs: () => Date.now() + aheadMs,
  monoMs: () => performance.now() + aheadMs,
  bootId: 'boot',
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
const quantities = (file: SkuFile) => [...file.current().values()].map((sku) => ('quantity' in sku ? sku.quantity : 0));

describe('a SKU map that is being written', () => {
  it('is not read before it is complete: the last good version stays in use', () => {
    writeFileSync(path, `${header}A,gift_card_order,steam-usd-20,1\n`);
    const file = opened();
    aheadMs += 5000;
    writeFileSync(path, unfinished);
    utimesSync(path, clock.wallMs() / 1000, clock.wallMs() / 1000);
    expect(quantities(file)).toEqual([1]);
    aheadMs += 1500;
    writeFileSync(path, `${header}${rows}`);
    utimesSync(path, clock.wallMs() / 1000, clock.wallMs() / 1000);
    expect(quantities(file)).toEqual([1]);
    aheadMs += 3000;
    expect(quantities(file)).toEqual([1, 100]);
  });

  it('is read at the next use when it was written a while ago', () => {
    writeFileSync(path, `${header}A,gift_card_order,steam-usd-20,1\n`);
    const file = opened();
    writeFileSync(path, `${header}${rows}`);
    aheadMs += 60_000;
    expect(quantities(file)).toEqual([1, 100]);
  });

  it('is read when it no longer changes, even with a file time in the future', () => {
    writeFileSync(path, `${header}A,gift_card_order,steam-usd-20,1\n`);
    const file = opened();
    writeFileSync(path, `${header}${rows}`);
    utimesSync(path, 4_000_000_000, 4_000_000_000);
    aheadMs += 1500;
    expect(quantities(file)).toEqual([1]);
    aheadMs += 3000;
    expect(quantities(file)).toEqual([1, 100]);
  });
});
