import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderBench, csvHeader } from './folder-bench.ts';

let bench: FolderBench;
beforeEach(async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
});
afterEach(() => bench.close());

const giftCard = (orderId: string, quantity = 1) => ({
  order_id: orderId,
  currency: 'USD',
  lines: [{ line_id: '1', type: 'gift_card_order', variant: 'gift-us-25', quantity }],
});

const twoLines = (quantity: number) => ({
  order_id: '6001',
  currency: 'USD',
  lines: ['1', '2'].map((line_id) => ({
    line_id,
    type: 'gift_card_order',
    variant: 'gift-us-25',
    quantity,
  })),
});

describe('an order file that is dropped into the inbox', () => {
  it('becomes entries with references, and is moved to the archive', async () => {
    bench.drop('orders.json', JSON.stringify([giftCard('1001'), giftCard('1002')]));
    const report = await bench.intake.scanOnce();
    expect(report).toMatchObject({
      ingested: 1,
      rejected: 0,
      lines: { accepted: 2, known: 0, conflicts: 0, rejected: 0 },
    });
    expect(bench.archived()).toEqual([expect.stringMatching(/^[0-9A-Z]{26}__orders\.json$/)]);
    expect([bench.names('inbox'), bench.names('work'), bench.names('rejected')]).toEqual([
      [],
      [],
      [],
    ]);
    expect(bench.store.read.showOrder('folder', '1001')?.entries[0]).toMatchObject({
      state: 'pending',
      reference: expect.stringMatching(/^os-/),
    });
    expect(bench.accepted).toBe(1);
  });

  it('may be CSV with columns in any order, and unknown columns are carried through', async () => {
    bench.drop(
      'orders.csv',
      `note,currency,quantity,days,iccid,plan,variant,type,line_id,order_id\r\nfor Ann,USD,2,7,,eu-daily,,esim_order,1,2001\r\n`,
    );
    expect(await bench.intake.scanOnce()).toMatchObject({ lines: { accepted: 1 } });
    expect(bench.store.read.showOrder('folder', '2001')?.entries[0]).toMatchObject({
      operation: 'esim_order',
    });
  });

  it('may be NDJSON, and a line with a mistake is rejected while the others are accepted', async () => {
    const bad = {
      ...giftCard('3002'),
      lines: [{ line_id: '1', type: 'gift_card_order', variant: 'x', quanity: 1 }],
    };
    bench.drop(
      'orders.ndjson',
      [giftCard('3001'), bad, giftCard('3003')].map((order) => JSON.stringify(order)).join('\n') +
        '\n',
    );
    expect(await bench.intake.scanOnce()).toMatchObject({
      ingested: 1,
      lines: { accepted: 2, rejected: 1 },
    });
    expect(bench.report().lines).toEqual([
      expect.objectContaining({
        line: 2,
        order_id: '3002',
        line_id: '1',
        code: 'unknown_field',
        field: '/lines/0/quanity',
      }),
    ]);
    expect(bench.report().lines?.[0]?.rule).toContain('did you mean quantity?');
  });

  it('that is sent again under the same name buys nothing more', async () => {
    for (const expected of [
      { accepted: 1, known: 0 },
      { accepted: 0, known: 1 },
    ]) {
      bench.drop('orders.json', JSON.stringify(giftCard('4001')));
      expect((await bench.intake.scanOnce()).lines).toMatchObject(expected);
    }
    expect(bench.entryCount()).toBe(1);
    expect(bench.archived()).toHaveLength(2);
  });

  it('with other content for a known line is a conflict: the first content stays, and the report names the difference', async () => {
    bench.drop('first.json', JSON.stringify(giftCard('5001', 1)));
    await bench.intake.scanOnce();
    bench.drop('second.json', JSON.stringify(giftCard('5001', 9)));
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 0, conflicts: 1 });
    expect(bench.entryCount()).toBe(1);
    expect(bench.report().lines).toEqual([
      expect.objectContaining({ code: 'conflict', order_id: '5001', field: 'quantity' }),
    ]);
  });

  it('gets a report with every conflict, also when the whole order is on one line of text', async () => {
    bench.drop('first.ndjson', JSON.stringify(twoLines(1)));
    await bench.intake.scanOnce();
    bench.drop('second.ndjson', JSON.stringify(twoLines(2)));
    await bench.intake.scanOnce();
    expect(bench.report().lines?.map((line) => line.line_id)).toEqual(['1', '2']);
  });

  it('that is damaged is rejected with a report, and nothing of it is bought', async () => {
    bench.drop(
      'orders.csv',
      `${csvHeader}\n1,1,gift_card_order,x,,,1,,USD\n2,1,gift_card_order,x,,,1`,
    );
    expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 0, rejected: 1 });
    expect(bench.report()).toMatchObject({ code: 'truncated_tail', line: 3, file: 'orders.csv' });
    expect(bench.entryCount()).toBe(0);
    expect(bench.names('rejected')).toEqual([
      expect.stringMatching(/^orders\.csv\.[0-9A-Z]{26}\.csv$/),
      expect.stringMatching(/^orders\.csv\.[0-9A-Z]{26}\.error\.json$/),
    ]);
  });
});
