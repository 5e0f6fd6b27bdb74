import { describe, expect, it } from 'vitest';
import type { OrderFormat } from '../../../src/intake/orders/settings.ts';
import { csvHeader } from '../folder/folder-bench.ts';
import { type ReadingChanges, readDocument } from './read-document.ts';

const row = (orderId: string) => `${orderId},1,gift_card_order,gift-us-25,,,1,,USD`;
const goodCsv = `${csvHeader}\n${row('1')}\n${row('2')}\n`;
const order = (orderId: string) =>
  JSON.stringify({
    order_id: orderId,
    currency: 'USD',
    lines: [{ line_id: '1', type: 'gift_card_order', variant: 'v', quantity: 1 }],
  });
const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))),
  );

interface Case {
  name: string;
  format: OrderFormat;
  content: string | Uint8Array;
  code: string;
  line?: number;
  says?: RegExp;
  changes?: ReadingChanges;
}

const cases: Case[] = [
  { name: 'nothing at all', format: 'csv', content: '', code: 'empty' },
  { name: 'nothing at all, as JSON', format: 'json', content: '', code: 'empty' },
  { name: 'only white space', format: 'json', content: ' \n\t ', code: 'empty' },
  { name: 'only blank lines, as NDJSON', format: 'ndjson', content: '\n\n', code: 'empty' },
  {
    name: 'a byte order mark alone',
    format: 'ndjson',
    content: bytes([0xef, 0xbb, 0xbf]),
    code: 'empty',
  },
  { name: 'an empty array', format: 'json', content: '[]', code: 'no_orders' },
  {
    name: 'a header without rows, which may still be being written',
    format: 'csv',
    content: `${csvHeader}\n`,
    code: 'no_orders',
  },
  {
    name: 'blocks of zeros, as a crash of its writer leaves them',
    format: 'csv',
    content: new Uint8Array(4096),
    code: 'nul_bytes',
  },
  {
    name: 'a NUL in the middle',
    format: 'csv',
    content: bytes(goodCsv, [0], row('3')),
    code: 'nul_bytes',
    line: 4,
  },
  {
    name: 'UTF-16 with a mark',
    format: 'csv',
    content: bytes([0xff, 0xfe], [...Buffer.from(goodCsv, 'utf16le')]),
    code: 'encoding_utf16',
    says: /UTF-8/,
  },
  {
    name: 'UTF-16, big end first',
    format: 'csv',
    content: bytes([0xfe, 0xff], [...Buffer.from(goodCsv, 'utf16le').swap16()]),
    code: 'encoding_utf16',
  },
  {
    name: 'UTF-16 without a mark',
    format: 'json',
    content: Buffer.from(order('1'), 'utf16le'),
    code: 'encoding_utf16',
  },
  {
    name: 'a workbook of a spreadsheet under the name of a CSV file',
    format: 'csv',
    content: bytes([0x50, 0x4b, 3, 4, 20, 0, 6, 0], [...Buffer.from(goodCsv)]),
    code: 'spreadsheet_file',
    says: /save the file as "CSV UTF-8"/,
  },
  {
    name: 'a web page',
    format: 'csv',
    content: '\n<!DOCTYPE html>\n<html lang="en"><body>Sign in, please</body></html>\n',
    code: 'html_document',
    says: /sign-in/,
  },
  {
    name: 'a web page as JSON',
    format: 'json',
    content: '<html><body>Sign in</body></html>',
    code: 'html_document',
    says: /HTML/,
  },
  {
    name: 'Latin-1',
    format: 'csv',
    content: Buffer.from(goodCsv.replace('gift-us-25', 'caf\u00e9'), 'latin1'),
    code: 'encoding_not_utf8',
    line: 2,
    says: /Latin-1/,
  },
  {
    name: 'a byte that no UTF-8 holds',
    format: 'ndjson',
    content: bytes(`${order('1')}\n`, [0xff], order('2')),
    code: 'encoding_not_utf8',
    line: 2,
  },
  {
    name: 'an incomplete character at the end',
    format: 'csv',
    content: bytes(goodCsv, [0xe2, 0x82]),
    code: 'encoding_not_utf8',
    line: 4,
  },
  {
    name: 'an overlong encoding',
    format: 'json',
    content: bytes('["', [0xc0, 0xaf], '"]'),
    code: 'encoding_not_utf8',
  },
  {
    name: 'a lone surrogate as bytes',
    format: 'json',
    content: bytes('["', [0xed, 0xa0, 0x80], '"]'),
    code: 'encoding_not_utf8',
  },
  {
    name: 'JSON that is cut off',
    format: 'json',
    content: `[${order('1')},{"order_id":"2"`,
    code: 'invalid_json',
    says: /ends too early/,
  },
  {
    name: 'JSON with a comma too many',
    format: 'json',
    content: `[${order('1')},\n]`,
    code: 'invalid_json',
    line: 2,
  },
  {
    name: 'two JSON documents in one',
    format: 'json',
    content: `${order('1')}\n${order('2')}`,
    code: 'invalid_json',
    line: 2,
  },
  {
    name: 'JSON with single quotes',
    format: 'json',
    content: "{'order_id':1}",
    code: 'invalid_json',
  },
  { name: 'JSON with NaN', format: 'json', content: '{"order_id":NaN}', code: 'invalid_json' },
  {
    name: 'JSON with a leading zero',
    format: 'json',
    content: '{"order_id":01}',
    code: 'invalid_json',
  },
  {
    name: 'JSON with a raw line break in a string',
    format: 'json',
    content: '{"order_id":"1\n"}',
    code: 'invalid_json',
  },
  { name: 'JSON of great depth', format: 'json', content: '['.repeat(100_000), code: 'too_deep' },
  {
    name: 'JSON of a depth just over the limit',
    format: 'json',
    content: `{"order_id":"1","metadata":${'{"a":'.repeat(16)}1${'}'.repeat(16)}}`,
    code: 'too_deep',
  },
  {
    name: 'JSON that is too large to be held',
    format: 'json',
    content: `["${'x'.repeat(200)}"]`,
    code: 'too_large',
    says: /NDJSON/,
    changes: { limits: { jsonBytes: 100 } },
  },
  {
    name: 'a stream that is too large',
    format: 'csv',
    content: goodCsv,
    code: 'too_large',
    changes: { limits: { documentBytes: 100 }, pieceBytes: 10 },
  },
  {
    name: 'more rows than the limit',
    format: 'csv',
    content: goodCsv,
    code: 'too_many_rows',
    changes: { limits: { rows: 1 } },
  },
  {
    name: 'more order lines than the limit, as NDJSON',
    format: 'ndjson',
    content: `${order('1')}\n${order('2')}\n`,
    code: 'too_many_rows',
    changes: { limits: { rows: 1 } },
  },
  {
    name: 'more order lines than the limit, as JSON',
    format: 'json',
    content: `[${order('1')},${order('2')}]`,
    code: 'too_many_rows',
    changes: { limits: { rows: 1 } },
  },
  {
    name: 'a line of NDJSON that never ends',
    format: 'ndjson',
    content: `${order('1')}\n${'x'.repeat(3000)}`,
    code: 'line_too_long',
    line: 2,
    changes: { limits: { orderBytes: 1000 }, pieceBytes: 100 },
  },
  {
    name: 'a row of CSV that never ends',
    format: 'csv',
    content: `${goodCsv}${'x'.repeat(70_000)}\n`,
    code: 'line_too_long',
  },
  {
    name: 'a CSV row that is cut off',
    format: 'csv',
    content: `${goodCsv}3,1,gift_card_order,gift`,
    code: 'truncated_tail',
    line: 4,
  },
  {
    name: 'an NDJSON line that is cut off',
    format: 'ndjson',
    content: `${order('1')}\n${order('2').slice(0, 40)}`,
    code: 'truncated_tail',
    line: 2,
  },
  {
    name: 'a quote that is never closed',
    format: 'csv',
    content: `${csvHeader}\n"1,1,gift_card_order,v,,,1,,USD\n2,1,gift_card_order,v,,,1,,USD\n`,
    code: 'unclosed_quote',
  },
  {
    name: 'a header without a column that every row needs',
    format: 'csv',
    content: 'line_id,type,variant,currency\n1,gift_card_order,v,USD\n',
    code: 'missing_column',
    says: /order_id/,
  },
  {
    name: 'a header with a slip in a column',
    format: 'csv',
    content: goodCsv.replace('quantity', 'quanity'),
    code: 'unknown_column',
    says: /did you mean quantity/,
  },
  {
    name: 'a header with a slip in an optional column',
    format: 'csv',
    content: `${csvHeader},not_affter\n${row('1')},2026-12-01T00:00:00Z\n`,
    code: 'unknown_column',
    says: /did you mean not_after/,
  },
  {
    name: 'a header that names a column twice',
    format: 'csv',
    content: `${csvHeader},quantity\n${row('1')},9\n`,
    code: 'duplicate_column',
    line: 1,
  },
  {
    name: 'a header that names an extra column twice',
    format: 'csv',
    content: `${csvHeader},note,note\n${row('1')},a,b\n`,
    code: 'duplicate_column',
  },
  {
    name: 'a header with a name that JavaScript treats as its own',
    format: 'csv',
    content: `${csvHeader},__proto__\n${row('1')},x\n`,
    code: 'bad_column_name',
  },
  {
    name: 'more columns than anybody needs',
    format: 'csv',
    content: `${csvHeader},${Array.from({ length: 600 }, (_, index) => `x${index}`).join(',')}\n`,
    code: 'too_many_columns',
  },
  {
    name: 'so many doubled keys that one could be missed',
    format: 'json',
    content: `[${'{"a":1,"a":1},'.repeat(1000)}{"a":1,"a":1}]`,
    code: 'invalid_json',
    says: /more than 1000/,
  },
  {
    name: 'rows without a header',
    format: 'csv',
    content: `${row('1')}\n${row('2')}\n`,
    code: 'missing_column',
    says: /looks like an order.*order_id,variant,currency/,
  },
  {
    name: 'a header in another language, which is not taken for an order',
    format: 'csv',
    content: 'Bestellnummer;Artikel;Menge 1\n1;v;2\n',
    code: 'missing_column',
    says: /has no order_id/,
  },
  {
    name: 'a separator that is not found by itself',
    format: 'csv',
    content: goodCsv.replaceAll(',', '|'),
    code: 'missing_column',
    says: /sep=/,
  },
  {
    name: 'a last row that is cut off before the cell that says how many, and so would buy one',
    format: 'csv',
    content: 'order_id,variant,currency,quantity\n1,v,USD,3\n2,v,USD,',
    code: 'truncated_tail',
    line: 3,
  },
  {
    name: 'a sep= line without a separator we know',
    format: 'csv',
    content: `sep=x\n${goodCsv}`,
    code: 'bad_separator',
  },
  {
    name: 'a mapped column that is not there',
    format: 'csv',
    content: goodCsv.replace('order_id', 'note'),
    code: 'missing_column',
    says: /Order No/,
    changes: { columns: { order_id: 'Order No' } },
  },
  {
    name: 'our name of a column that is mapped to another one',
    format: 'csv',
    content: goodCsv,
    code: 'unknown_column',
    says: /order_id is called "Order No"/,
    changes: { columns: { order_id: 'Order No' } },
  },
];

describe('a damaged document is rejected as a whole, with a reason and a hint', () => {
  it.each(cases)('$name', async ({ format, content, code, line, says, changes }) => {
    const { error, lines, rejections } = await readDocument(content, format, changes);
    expect(error?.documentCode).toBe(code);
    expect([lines, rejections]).toEqual([[], []]);
    expect(error?.message).toMatch(/[.?]$/);
    expect(error?.hint).toBeTruthy();
    expect(line === undefined ? undefined : error?.line).toBe(line);
    expect(`${error?.message} ${error?.hint}`).toMatch(says ?? /./);
    // A report may hold a taste of what was met, never a copy of it.
    expect(error?.message.length).toBeLessThan(300);
  });

  it.each([1, 2, 3, 7])(
    'is rejected in the same way when it arrives in pieces of %i bytes',
    async (pieceBytes) => {
      const small = cases.filter(
        ({ content, changes }) => content.length < 1000 && changes === undefined,
      );
      for (const { name, format, content, code } of small) {
        const { error } = await readDocument(content, format, { pieceBytes });
        expect([name, error?.documentCode]).toEqual([name, code]);
      }
    },
  );
});
