import { describe, expect, it } from 'vitest';
import { readDocument } from './read-document.ts';

const rows = (...lines: string[]) => `${lines.join('\n')}\n`;
const noteLast = 'order_id,variant,currency,note';
const noteFirst = 'note,order_id,variant,currency';
const noteSecond = 'order_id,note,variant,currency';

/**
 * A file, the orders of it that are bought, and the lines that are rejected with the code of each.
 */
const cases: readonly (readonly [
  what: string,
  text: string,
  bought: string[],
  rejected: [number, string][],
])[] = [
  [
    'a quoted message of several lines with as many commas as a row',
    rows(noteLast, '1,v,USD,"Dear Ann,', 'love, from, us, all', 'Bob, Eve, Max, Tim"', '2,v,USD,n'),
    ['1', '2'],
    [],
  ],
  [
    'a quoted message that begins with a quotation',
    rows(noteLast, '1,v,USD,"""Hi, dear, Ann!""', '30 years, hey, a, lot"', '2,v,USD,n'),
    ['1', '2'],
    [],
  ],
  [
    'a message without quotes in the last column',
    rows(
      noteLast,
      '1,v,USD,n',
      '2,v,USD,Happy birthday',
      'love, from, us, all',
      'Bob',
      '3,v,USD,n',
    ),
    ['1', '2', '3'],
    [
      [4, 'invalid_field'],
      [5, 'wrong_cell_count'],
    ],
  ],
  [
    'a message without quotes in the middle, whose end looks like a row',
    rows(noteSecond, '1,n,v,USD', '2,Dear Ann', 'love, Bob,v,USD', '3,n,v,USD'),
    ['1', '3'],
    [
      [3, 'wrong_cell_count'],
      [4, 'rest_of_row'],
    ],
  ],
  [
    'a message without quotes in the middle, of which both lines look like rows',
    rows(noteSecond, '1,n,v,USD', '2,Dear, dear, Ann', 'my 30 loves, Bob,v,USD', '3,n,v,USD'),
    ['1', '3'],
    [
      [3, 'invalid_field'],
      [4, 'rest_of_row'],
    ],
  ],
  [
    'a broken first row',
    rows(noteSecond, '1,Dear Ann', 'love, Bob,v,USD', '2,n,v,USD'),
    ['2'],
    [
      [2, 'wrong_cell_count'],
      [3, 'rest_of_row'],
    ],
  ],
  [
    'a message with other quotes in it',
    rows(noteSecond, '1,"Happy "birthday"', 'love, Ann",v,USD', '2,"n",v,USD'),
    ['2'],
    [
      [2, 'wrong_cell_count'],
      [3, 'rest_of_row'],
    ],
  ],
  ['inches in a message', rows(noteLast, '1,v,USD,a 5" disc', '2,v,USD,n'), ['1', '2'], []],
  [
    'quotes that are written twice, and the mark of a text',
    rows(noteLast, '"=""1""",v,USD,"5"" disc"', '2,v,USD,n'),
    ['1', '2'],
    [],
  ],
  [
    'a stray quote in a product',
    rows(noteLast, '1,v",USD,n', '2,"v"x,USD,n', '3,v,USD,n'),
    ['3'],
    [
      [2, 'misplaced_quote'],
      [3, 'misplaced_quote'],
    ],
  ],
  [
    'two stray quotes at the end of rows',
    rows(noteLast, '1,v,USD,n', '2,v,USD,"hello', '3,v,USD,n', '4,v,USD,bye"', '5,v,USD,n'),
    ['1', '5'],
    [[3, 'suspicious_quote']],
  ],
  [
    'two stray quotes at the begin of rows',
    rows(noteFirst, 'n,1,v,USD', '"hello,2,v,USD', 'bye",3,v,USD', 'n,4,v,USD'),
    ['1', '4'],
    [[3, 'suspicious_quote']],
  ],
  [
    'a stray quote before a row with quotes',
    rows(noteLast, '1,v,USD,n', '2,v,USD,"hello', '3,v,USD,n', '4,v,USD,"bye"', '5,v,USD,n'),
    ['1', '5'],
    [[3, 'suspicious_quote']],
  ],
  [
    'rows with too few and too many cells beside others',
    rows(noteLast, '1,v,USD', '2,v,USD,n', '3,v,USD,n,n', '4,v,USD,n'),
    ['2', '4'],
    [
      [2, 'wrong_cell_count'],
      [4, 'wrong_cell_count'],
    ],
  ],
];

describe('a row that a line break or a quote has broken', () => {
  it.each(cases)('is rejected alone: %s', async (_, text, bought, rejected) => {
    for (const pieceBytes of [1, 7, 65_536]) {
      const { error, lines, rejections } = await readDocument(text, 'csv', { pieceBytes });
      expect(error).toBeNull();
      expect(lines.map(({ orderId }) => orderId)).toEqual(bought);
      expect(rejections.map(({ lineNumber, code }) => [lineNumber, code])).toEqual(rejected);
    }
  });

  it('is rejected alone, with an order of another kind of id beside it', async () => {
    const { lines, rejections } = await readDocument(
      rows(noteLast, 'good,v,USD,n', 'bad,v', 'good2,v,USD,n'),
      'csv',
    );
    expect(lines.map(({ orderId }) => orderId)).toEqual(['good', 'good2']);
    expect(rejections).toHaveLength(1);
  });

  it('keeps a message of several lines as it is', async () => {
    const { lines } = await readDocument(
      `${noteLast}\r\n1,v,USD,"a,b\r\n""c"",d,e,f\n\rg"\r\n`,
      'csv',
    );
    expect(lines[0]?.extra['note']).toBe('a,b\r\n"c",d,e,f\n\rg');
  });
});

describe('a quote that is never closed', () => {
  it.each([
    [3, rows(noteLast, '1,v,USD,n', '2,v,USD,"hello', '3,v,USD,n', '4,v,USD,n')],
    [4, rows(noteLast, '1,v,USD,"two', 'lines"', '2,v,USD,"hello', '3,v,USD,n')],
    [
      2500,
      rows(
        noteLast,
        ...Array.from({ length: 5000 }, (_, at) => `${at},v,USD,${at === 2498 ? '"' : ''}n`),
      ),
    ],
  ])('rejects the whole file, and is named by its line: %i', async (line, text) => {
    const { error, lines } = await readDocument(text, 'csv');
    expect(error).toMatchObject({ documentCode: 'unclosed_quote', line, isUnfinished: true });
    expect(error?.message).toContain(`Line ${line}: a quote opens and is never closed`);
    expect(lines).toEqual([]);
  });

  it('is named by its line also where the row becomes too long', async () => {
    const text = rows(
      noteLast,
      ...Array.from({ length: 9000 }, (_, at) => `${at},v,USD,${at === 98 ? '"' : ''}n`),
    );
    expect((await readDocument(text, 'csv')).error).toMatchObject({
      documentCode: 'line_too_long',
      line: 100,
    });
  });
});
