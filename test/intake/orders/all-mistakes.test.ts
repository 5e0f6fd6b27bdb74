import { describe, expect, it } from 'vitest';
import { FolderBench } from '../folder/folder-bench.ts';
import { readDocument } from './read-document.ts';

const order = (head: string, ...lines: string[]) => `{${head},"lines":[${lines.join(',')}]}`;

describe('all mistakes of a JSON order are told at once', () => {
  it('those of the order and those of its lines', async () => {
    const text = order(
      '"order_id":"1","currency":"dollars"',
      '{"line_id":"1","type":"gift_card_order","quantity":0}',
      '{"line_id":"2","type":"gift_card_order","variant":"v","quantity":1}',
    );
    const { rejections } = await readDocument(text, 'json');
    expect(rejections.map(({ lineId, field }) => [lineId, field])).toEqual([
      ['1', '/currency'],
      ['2', '/currency'],
    ]);
    expect(rejections[0]?.rule).toMatch(
      /\/lines\/0\/variant is required.*\/lines\/0\/quantity must be at least 1/,
    );
    expect(rejections[1]?.rule).not.toContain('also');
  });

  it('a missing currency beside another mistake of the line, and the fields of a line with a mistyped type', async () => {
    const text = order(
      '"order_id":"1"',
      '{"line_id":"1","type":"giftcard_order","variant":"v","quantity":0}',
    );
    const { rejections } = await readDocument(text, 'json');
    expect(rejections[0]?.rule).toMatch(
      /gift_card_order.*quantity must be at least 1.*currency is required/,
    );
  });

  it('a doubled key beside another mistake of its order', async () => {
    const text = order(
      '"order_id":"1","order_id":"2"',
      '{"line_id":"1","type":"esim_order","plan":"p","quantity":99}',
    );
    const { rejections } = await readDocument(text, 'json');
    expect(rejections[0]?.rule).toMatch(
      /^is given twice.*quantity must be at most 30.*currency is required/,
    );
  });

  it('also a hundred thousand of them: the first ones and the number of the others', async () => {
    const fields = Array.from({ length: 150_000 }, (_, index) => `"x${index}":1`).join(',');
    const { rejections } = await readDocument(
      order('"order_id":"1"', `{"type":"gift_card_order",${fields}}`),
      'json',
    );
    expect(rejections[0]?.rule).toMatch(/; and 149\d\d\d more$/);
  });
});

describe('all mistakes of the header of a CSV file are told at once', () => {
  it('those of its columns, and nothing of the rows is read', async () => {
    const content = 'order_id,varaint,qty,curency\n1,v,0,USD\n2,v,1,dollars\n3,v,1,USD\n';
    const { error, lines, rejections } = await readDocument(content, 'csv');
    expect([lines, rejections]).toEqual([[], []]);
    expect(error?.mistakes.map(({ line, code }) => [line, code])).toEqual([
      [1, 'unknown_column'],
      [1, 'unknown_column'],
      [1, 'unknown_column'],
    ]);
    expect(error?.mistakes.map(({ message }) => message).join(' ')).toMatch(
      /varaint.*qty.*curency/s,
    );
  });

  it('of a header with hundreds, all of them, and a message that fits into one line of a log', async () => {
    const header = Array.from({ length: 400 }, (_, index) => `x${index >> 1}`).join(',');
    const { error } = await readDocument(`order_id,variant,currency,${header}\n1,v,USD\n`, 'csv');
    expect(error?.mistakes).toHaveLength(200);
    expect(error?.message).toContain('There are 199 more mistakes.');
    expect(error?.message.length).toBeLessThan(300);
  });

  it('the report of a rejected file lists them', async () => {
    const bench = new FolderBench();
    await bench.intake.scanOnce();
    bench.drop('orders.csv', 'order_id,varaint,qty,currency\n1,v,0,USD\n');
    await bench.intake.scanOnce();
    expect(bench.report()).toMatchObject({
      code: 'unknown_column',
      mistakes: [
        { line: 1, code: 'unknown_column' },
        { line: 1, code: 'unknown_column' },
      ],
    });
    await bench.close();
  });
});
