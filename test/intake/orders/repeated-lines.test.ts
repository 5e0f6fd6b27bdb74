import { describe, expect, it } from 'vitest';
import { csvHeader } from '../folder/folder-bench.ts';
import { readDocument } from './read-document.ts';

const gift = (lineId: string, to: string) =>
  `{"line_id":"${lineId}","type":"gift_card_order","variant":"v","quantity":1,"extra":{"to":"${to}"}}`;
const order = (id: string, ...lines: string[]) =>
  `{"order_id":"${id}","currency":"USD","lines":[${lines.join(',')}]}`;
const row = (orderId: string, lineId: string, to = 'Ann') =>
  `${orderId},${lineId},gift_card_order,v,,,1,,USD,${to}`;
const document = (...rows: string[]) => `${[`${csvHeader},to`, ...rows].join('\n')}\n`;

describe('two lines of one order with the same id, of which only one could be bought', () => {
  it('in JSON the second line is rejected with its place', async () => {
    const text = `[${order('1', gift('a', 'Ann'), gift('b', 'Bob'), gift('a', 'Cid'))}]`;
    const { lines, rejections } = await readDocument(text, 'json');
    expect(lines.map((line) => line.extra['to'])).toEqual(['Ann', 'Bob']);
    expect(rejections).toMatchObject([
      {
        code: 'duplicate_line',
        field: '/0/lines/2/line_id',
        orderId: '1',
        lineId: 'a',
        value: 'a',
      },
    ]);
  });

  it('in NDJSON the second line is rejected, but a whole order may be repeated', async () => {
    const text = `${order('1', gift('a', 'Ann'), gift('a', 'Bob'))}\n${order('2', gift('a', 'Cid'))}\n${order('2', gift('a', 'Cid'))}\n`;
    const { lines, rejections } = await readDocument(text, 'ndjson');
    expect(lines.map((line) => line.orderId)).toEqual(['1', '2', '2']);
    expect(rejections).toMatchObject([
      { code: 'duplicate_line', field: '/lines/1/line_id', lineNumber: 1 },
    ]);
  });

  it('in CSV the second row is rejected, and its rejection names the first', async () => {
    const text = document(
      row('2', 'a'),
      row('1', 'a'),
      row('1', 'b'),
      row('1', 'a', 'Bob'),
      row('2', 'a'),
    );
    const { lines, rejections } = await readDocument(text, 'csv');
    expect(lines.map((line) => `${line.orderId}/${line.lineId}`)).toEqual([
      '2/a',
      '1/a',
      '1/b',
      '2/a',
    ]);
    expect(rejections).toMatchObject([
      { code: 'duplicate_line', field: 'line_id', lineNumber: 5, orderId: '1' },
    ]);
    expect(rejections[0]?.rule).toContain('line 3');
  });

  it('in CSV two rows that are equal in every cell are one line that was exported twice', async () => {
    const { lines, rejections } = await readDocument(document(row('1', 'a'), row('1', 'a')), 'csv');
    expect([lines.length, rejections]).toEqual([2, []]);
  });

  it('in CSV a row may have the id of a rejected row', async () => {
    const { lines, rejections } = await readDocument(
      document(row('1', 'a').replace(',,1,,', ',,0,,'), row('1', 'a')),
      'csv',
    );
    expect(lines).toHaveLength(1);
    expect(rejections).toMatchObject([{ code: 'invalid_field' }]);
  });
});
