import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storedRules } from '../../support/stored-rules.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FolderSettings } from '../../../src/intake/folder/settings.ts';
import { FolderBench } from './folder-bench.ts';

async function benchWith(changes: Partial<FolderSettings> = {}): Promise<FolderBench> {
  const bench = new FolderBench(changes);
  onTestFinished(() => bench.close());
  await bench.intake.scanOnce();
  return bench;
}

/** A SKU map in a file that a test may change. The bench's clock is years ahead, so every change is old enough. */
function skuFile(content: string): { path: string; write(content: string): void } {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-skus-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'skus.csv');
  let changes = 0;
  const write = (text: string): void => {
    writeFileSync(path, text);
    changes += 1;
    utimesSync(path, changes, changes);
  };
  write(content);
  return { path, write };
}

const skus = 'sku,type,variant\nS20,gift_card_order,steam-usd-20\n';

describe('a CSV file of three columns in the inbox', () => {
  it('buys each order once, however often and in whatever order of rows it is sent', async () => {
    const bench = await benchWith();
    const rows = ['1,steam-usd-20,USD', '2,steam-usd-10,USD', '3,steam-usd-20,EUR'];
    for (const [index, some] of [rows, rows.toReversed(), rows.slice(1)].entries()) {
      bench.drop(`orders-${index}.csv`, `order_id,variant,currency\n${some.join('\n')}\n`);
      const { lines } = await bench.intake.scanOnce();
      expect(lines).toMatchObject(index === 0 ? { accepted: 3, known: 0 } : { accepted: 0, known: some.length });
    }
    expect(bench.entryCount()).toBe(3);
    expect(bench.names('rejected')).toEqual([]);
  });

  it('does not buy several rows of one order without ids, and buys them when the ids are added', async () => {
    const bench = await benchWith();
    bench.drop('orders.csv', 'order_id,variant,currency\n1,v,USD\n1,v,USD\n2,v,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 2 });
    expect(bench.report().lines?.map(({ order_id, field }) => [order_id, field])).toEqual([
      ['1', 'line_id'],
      ['1', 'line_id'],
    ]);
    bench.drop('corrected.csv', 'order_id,line_id,variant,currency\n1,a,v,USD\n1,b,v,USD\n2,,v,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 2, known: 1, rejected: 0 });
    expect(bench.entryCount()).toBe(3);
  });

  it('says which id a row has that was bought alone, when the order is sent again with another row', async () => {
    const bench = await benchWith();
    bench.drop('first.csv', 'order_id,variant,currency\n1,v,USD\n');
    await bench.intake.scanOnce();
    bench.drop('second.csv', 'order_id,variant,currency\n1,v,USD\n1,w,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 0, rejected: 2 });
    expect(bench.report().lines?.[0]?.rule).toContain('A row that was bought alone before has the id 1');
    bench.drop('third.csv', 'order_id,line_id,variant,currency\n1,1,v,USD\n1,2,w,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, known: 1 });
    expect(bench.entryCount()).toBe(2);
  });

  it('that has another row for a known order is a conflict, and the first row keeps its place', async () => {
    const bench = await benchWith();
    bench.drop('first.csv', 'order_id,variant,currency\n1,v,USD\n');
    await bench.intake.scanOnce();
    bench.drop('second.csv', 'order_id,variant,currency\n1,w,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 0, conflicts: 1 });
    expect(bench.entryCount()).toBe(1);
  });

  it('is charged to the balance of the configuration where it names none', async () => {
    const bench = await benchWith({ currency: 'EUR' });
    bench.drop('orders.csv', 'Order ID;Variant\n1;v\n');
    await bench.intake.scanOnce();
    expect(bench.store.read.showOrder('folder', '1')?.entries).toMatchObject([
      { currency: 'EUR', asked: '1 x v in EUR' },
    ]);
  });
});

describe('a CSV file of SKUs in the inbox', () => {
  it('is bought by the SKU map, which is read again when it changes', async () => {
    const map = skuFile(skus);
    const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
    bench.drop('orders.csv', 'order_id,sku\n1,S20\n2,S10\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 1 });
    expect(bench.report().lines).toMatchObject([{ order_id: '2', line_id: '1', code: 'unknown_sku', value: 'S10' }]);
    map.write(`${skus}S10,gift_card_order,steam-usd-10\n`);
    bench.clock.advance(10_000);
    bench.drop('again.csv', 'order_id,sku\n1,S20\n2,S10\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, known: 1, rejected: 0 });
    expect(bench.store.read.showOrder('folder', '2')?.entries).toMatchObject([{ product: 'variant:steam-usd-10' }]);
  });

  it('has the rules and the deadline of the SKU, unless the order has a deadline of its own', async () => {
    const map = skuFile('sku,type,variant,split,fallback_currency,wait_h\nS20,gift_card_order,v,true,EUR,2\n');
    const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
    const ownMs = bench.clock.wallMs() + 60_000;
    const untilMs = bench.clock.wallMs() + 2 * 3_600_000;
    bench.drop('orders.csv', `order_id,sku,not_after\n1,S20,\n2,S20,${new Date(ownMs).toISOString()}\n`);
    await bench.intake.scanOnce();
    expect(storedRules(join(bench.root, 'order-sync.db'))).toEqual([
      { rules: { split: true, fallback_currency: 'EUR' }, notAfterMs: untilMs },
      { rules: { split: true, fallback_currency: 'EUR' }, notAfterMs: ownMs },
    ]);
  });

  it('that is sent again after its SKU stands for something else is a conflict', async () => {
    const map = skuFile(skus);
    const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
    for (const name of ['first.csv', 'second.csv']) {
      bench.drop(name, 'order_id,sku\n1,S20\n');
      await bench.intake.scanOnce();
      map.write(skus.replace('usd-20', 'usd-50'));
      bench.clock.advance(10_000);
    }
    expect(bench.entryCount()).toBe(1);
    expect(bench.report().lines).toMatchObject([{ code: 'conflict', field: 'variant' }]);
  });

  it('uses the last good version while a changed map cannot be used, and the status says so', async () => {
    const map = skuFile(skus);
    const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
    map.write('sku,type\nS20,nonsense\n');
    bench.clock.advance(10_000);
    bench.drop('orders.csv', 'order_id,sku\n1,S20\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1 });
    expect(bench.intake.status().degraded).toContain('SKU map');
  });

  it('is read with the SKU map of a changed configuration; one that cannot be used changes nothing', async () => {
    const bench = await benchWith({ currency: 'USD' });
    bench.drop('carried.csv', 'order_id,sku,variant\n1,S20,v\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1 });
    expect(() => bench.intake.prepare({ ...bench.config, skuMap: '/nowhere/skus.csv' })).toThrow('/nowhere/skus.csv');
    bench.intake.prepare({ ...bench.config, skuMap: skuFile(skus).path })();
    bench.drop('orders.csv', 'order_id,sku\n2,S20\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 0 });
  });
});
