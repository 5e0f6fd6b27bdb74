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

/**
 * A SKU map in a file that a test may change. The bench's clock is years ahead, so every change is
 * old enough.
 */
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
      expect(lines).toMatchObject(
        index === 0 ? { accepted: 3, known: 0 } : { accepted: 0, known: some.length },
      );
    }
    expect(bench.entryCount()).toBe(3);
    expect(bench.names('rejected')).toEqual([]);
  });

  it.each(['1,23457E+11', '1.23457E+11', '1E+05', '12.Jan', 'Jan-12'])(
    'gives no customer the code of another one whose id a spreadsheet turned into %s, too',
    async (id) => {
      const bench = await benchWith();
      const file = `order_id,variant,currency\n"${id}",steam-usd-20,USD\n`;
      bench.drop('first.csv', file);
      await bench.intake.scanOnce();
      expect(bench.report().lines?.[0]).toMatchObject({
        order_id: null,
        code: 'id_mangled',
        value: id,
      });
      bench.drop('second.csv', `${file}\n`);
      expect((await bench.intake.scanOnce()).lines).toMatchObject({
        accepted: 0,
        known: 0,
        rejected: 1,
      });
      expect(bench.entryCount()).toBe(0);
    },
  );

  it('is reported as refused in full where no line of it was accepted, and else with what is bought', async () => {
    for (const [rows, said] of [
      ['1,,USD', 'Nothing of this file will be bought.'],
      ['1,,USD\n2,steam-usd-20,USD', 'The other lines were accepted.'],
    ]) {
      const bench = await benchWith();
      bench.drop('orders.csv', `order_id,variant,currency\n${rows}\n`);
      await bench.intake.scanOnce();
      expect(bench.report().message).toBe(`1 line of the file was rejected. ${said}`);
    }
  });

  it('takes a date for an id only where no other id is a number, and all ids where the configuration allows them', async () => {
    const rows = (...ids: string[]) =>
      `order_id,variant,currency\n${ids.map((id) => `${id},v,USD\n`).join('')}`;
    const bench = await benchWith();
    bench.drop('mixed.csv', rows('1001', '2026-11-23', 'A-E+5', '12-JanX', 'MAY-2026', '1E5'));
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 5, rejected: 1 });
    bench.drop('dates.csv', rows('2026-11-23', '2026-11-24'));
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 2, rejected: 0 });
    const allowing = await benchWith({ allowMangledIds: true });
    allowing.drop('mixed.csv', rows('1001', '2026-11-23', '1E+05', '12.Jan'));
    expect((await allowing.intake.scanOnce()).lines).toMatchObject({ accepted: 4, rejected: 0 });
  });

  it('names the spreadsheet also where more rows have the changed id than an order may have lines', async () => {
    const bench = await benchWith();
    bench.drop('many.csv', `order_id,variant,currency\n${'1.2E+11,v,USD\n'.repeat(1001)}`);
    await bench.intake.scanOnce();
    expect(bench.report().lines?.[0]).toMatchObject({ code: 'id_mangled' });
  });

  it('does not buy several rows of one order without ids, and buys them when the ids are added', async () => {
    const bench = await benchWith();
    bench.drop('orders.csv', 'order_id,variant,currency\n1,v,USD\n1,v,USD\n2,v,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 2 });
    expect(bench.report().lines?.map(({ order_id, field }) => [order_id, field])).toEqual([
      ['1', 'line_id'],
      ['1', 'line_id'],
    ]);
    bench.drop(
      'corrected.csv',
      'order_id,line_id,variant,currency\n1,a,v,USD\n1,b,v,USD\n2,,v,USD\n',
    );
    expect((await bench.intake.scanOnce()).lines).toMatchObject({
      accepted: 2,
      known: 1,
      rejected: 0,
    });
    expect(bench.entryCount()).toBe(3);
  });

  it('says which id a row has that was bought alone, when the order is sent again with another row', async () => {
    const bench = await benchWith();
    bench.drop('first.csv', 'order_id,variant,currency\n1,v,USD\n');
    await bench.intake.scanOnce();
    bench.drop('second.csv', 'order_id,variant,currency\n1,v,USD\n1,w,USD\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 0, rejected: 2 });
    expect(bench.report().lines?.[0]?.rule).toContain(
      'A line that was bought alone before has the id 1',
    );
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
  it.each(['STEAM20', 'STAEM-20', 'STEAM-20 copy'])(
    'names the SKU that %j may mean',
    async (named) => {
      const map = skuFile(
        'sku,type,variant\nSTEAM-20,gift_card_order,v\nESIM-FR,gift_card_order,w\n',
      );
      const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
      bench.drop('orders.csv', `order_id,sku\n1,${named}\n2,OTHER\n`);
      await bench.intake.scanOnce();
      expect(bench.report().lines).toMatchObject([
        { rule: 'is not in the SKU map, which has "STEAM-20"', value: named },
        { rule: 'is not in the SKU map', value: 'OTHER' },
      ]);
    },
  );

  it.each(['steam-20', 'STEAM-20 ', '\u00a0STEAM-20', '="STEAM-20"'])(
    'is bought where it has %j for STEAM-20',
    async (named) => {
      const map = skuFile('sku,type,variant\nSTEAM-20,gift_card_order,v\n');
      const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
      bench.drop('orders.csv', `order_id,sku\n1,"${named.replaceAll('"', '""')}"\n`);
      await bench.intake.scanOnce();
      expect(bench.store.read.showOrder('folder', '1')?.entries).toMatchObject([
        { asked: '1 x v in USD' },
      ]);
    },
  );

  it.each(['1.94512E+11', '12-Jan', '2026-01-12'])(
    'says of %s that a spreadsheet changed it',
    async (named) => {
      const map = skuFile('sku,type,variant\n194512345678,gift_card_order,v\n');
      const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
      bench.drop('orders.csv', `order_id,sku\n1,${named}\n`);
      await bench.intake.scanOnce();
      expect(bench.report().lines).toMatchObject([
        {
          code: 'id_mangled',
          field: 'sku',
          rule: expect.stringContaining('looks changed by a spreadsheet'),
          value: named,
        },
      ]);
    },
  );

  it('is bought by the SKU map, which is read again when it changes', async () => {
    const map = skuFile(skus);
    const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
    bench.drop('orders.csv', 'order_id,sku\n1,S20\n2,S10\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 1 });
    expect(bench.report().lines).toMatchObject([
      { order_id: '2', line_id: '1', code: 'unknown_sku', value: 'S10' },
    ]);
    map.write(`${skus}S10,gift_card_order,steam-usd-10\n`);
    bench.clock.advance(10_000);
    bench.drop('again.csv', 'order_id,sku\n1,S20\n2,S10\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({
      accepted: 1,
      known: 1,
      rejected: 0,
    });
    expect(bench.store.read.showOrder('folder', '2')?.entries).toMatchObject([
      { product: 'variant:steam-usd-10' },
    ]);
  });

  it('has the rules and the deadline of the SKU, unless the order has a deadline of its own', async () => {
    const map = skuFile(
      'sku,type,variant,split,fallback_currency,wait_h\nS20,gift_card_order,v,true,EUR,2\n',
    );
    const bench = await benchWith({ skuMap: map.path, currency: 'USD' });
    const ownMs = bench.clock.wallMs() + 60_000;
    const untilMs = bench.clock.wallMs() + 2 * 3_600_000;
    bench.drop(
      'orders.csv',
      `order_id,sku,not_after\n1,S20,\n2,S20,${new Date(ownMs).toISOString()}\n`,
    );
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
    expect(() => bench.intake.prepare({ ...bench.config, skuMap: '/nowhere/skus.csv' })).toThrow(
      '/nowhere/skus.csv',
    );
    bench.intake.prepare({ ...bench.config, skuMap: skuFile(skus).path })();
    bench.drop('orders.csv', 'order_id,sku\n2,S20\n');
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 0 });
  });
});
