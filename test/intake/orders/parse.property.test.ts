import * as fc from 'fast-check';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { isWithoutFormula } from '../../../src/core/result/csv-result.ts';
import { JsonSyntaxError, parseStrictJson } from '../../../src/intake/orders/strict-json.ts';
import { csvHeader } from '../folder/folder-bench.ts';
import { type Reading, readDocument } from './read-document.ts';

function strictly(text: string): { value: unknown; clean: boolean } | 'refused' {
  try {
    const { value, findings } = parseStrictJson(text, 1000);
    return { value, clean: findings.length === 0 };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return 'refused';
    throw error;
  }
}

function loosely(text: string): { value: unknown } | 'refused' {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'refused';
  }
}

const spoilers = '{ } [ ] " , : \\ 0 1 5 9 . e E + - t f n u é'
  .split(' ')
  .concat(' ', '\n', '\u0001');

/**
 * JSON documents that were changed in up to two places: similar enough to JSON to reach every rule.
 */
const nearlyJson = fc
  .tuple(fc.json(), fc.array(fc.tuple(fc.nat(), fc.constantFrom(...spoilers)), { maxLength: 2 }))
  .map(([text, changes]) =>
    changes.reduce((changed, [place, character]) => {
      const at = place % (changed.length + 1);
      return changed.slice(0, at) + character + changed.slice(at + (place % 2));
    }, text),
  );

const spelt = (key: string, escaped: boolean) =>
  escaped
    ? `"${key
        .split('')
        .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join('')}"`
    : JSON.stringify(key);

describe('the strict JSON reader', () => {
  it('rejects the same texts as JSON.parse and returns the same values, unless it reports a finding', () => {
    fc.assert(
      fc.property(nearlyJson, (text) => {
        const strict = strictly(text);
        const loose = loosely(text);
        if (strict === 'refused' || loose === 'refused') return strict === loose;
        expect(strict.clean ? strict.value : loose.value).toEqual(loose.value);
        return true;
      }),
      { numRuns: 20_000 },
    );
  });

  it('reports no finding in the output of JSON.stringify, except numbers that lose digits, `__proto__` and lone surrogates', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const { findings } = parseStrictJson(text, 1000);
        const expected = ['unsafe_number', 'reserved_key', 'bad_unicode'];
        expect(findings.filter(({ code }) => !expected.includes(code))).toEqual([]);
      }),
      { numRuns: 5000 },
    );
  });

  it('reports every key that is twice in one object, however it is escaped', () => {
    const keys = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'quantity', 'toString', 'constructor'), fc.boolean()),
      {
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(keys, (found) => {
        const text = `{${found.map(([key, escaped], index) => `${spelt(key, escaped)}:${index}`).join(',')}}`;
        const twice = found.length - new Set(found.map(([key]) => key)).size;
        expect(parseStrictJson(text, 16).findings.map(({ code }) => code)).toEqual(
          Array(twice).fill('duplicate_key'),
        );
      }),
      { numRuns: 2000 },
    );
  });
});

const identifier = fc
  .stringMatching(/^[A-Za-z0-9"',;é€😀_-]{1,20}$/u)
  // As a CSV result writes what begins as a formula: such an id is rejected.
  .filter((text) => !isWithoutFormula(text))
  // An apostrophe before a text is the mark of a spreadsheet, and is taken off.
  .map((text) => text.replace(/^'+(?=.)/, ''));
const rowOf = fc.record({
  order_id: identifier,
  line_id: identifier,
  variant: identifier,
  quantity: fc.integer({ min: 1, max: 10_000 }),
  note: fc.stringMatching(/^[a-z ,;"'\n\r€]{0,30}$/u),
});

/** A document with two mistakes may be rejected for either. */
const summary = ({ error, lines, rejections }: Reading) =>
  error === null ? { lines, rejections } : 'refused';

describe('CSV', () => {
  it('is read to the same lines that a CSV writer wrote, in pieces of any size', async () => {
    const rows = fc.array(rowOf, { minLength: 1, maxLength: 8 });
    const style = fc.record({
      quoted: fc.boolean(),
      bom: fc.boolean(),
      record_delimiter: fc.constantFrom('\n', '\r\n'),
    });
    await fc.assert(
      fc.asyncProperty(
        rows,
        style,
        fc.integer({ min: 1, max: 200 }),
        async (written, options, pieceBytes) => {
          const records = written.map(({ order_id, line_id, variant, quantity, note }) => [
            note,
            order_id,
            line_id,
            'gift_card_order',
            variant,
            '',
            '',
            quantity,
            '',
            'USD',
          ]);
          const text = stringify([['note', ...csvHeader.split(',')], ...records], {
            ...options,
            quoted_match: /[\r\n]/,
          });
          const { error, lines, rejections } = await readDocument(text, 'csv', { pieceBytes });
          expect(error).toBeNull();
          // An id with a quote, and a note with line breaks and many commas, which may look like
          // swallowed rows.
          if (rejections.some(({ code }) => /_quote$|rest_of_row/.test(code))) return;
          expect(
            lines.map(({ orderId, lineId, variant, quantity, extra }) => ({
              order_id: orderId,
              line_id: lineId,
              variant,
              quantity,
              note: extra['note'] ?? '',
            })),
          ).toEqual(written);
        },
      ),
      { numRuns: 300 },
    );
  });
});

const order = (index: number) =>
  `{"order_id":"order-${index}","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"gift-${index}","quantity":${index + 10}}]}`;
const documents = {
  csv: `${csvHeader}\n${[1, 2, 3].map((index) => `order-${index},1,gift_card_order,gift-${index},,,${index + 10},,USD\n`).join('')}`,
  ndjson: [1, 2, 3].map((index) => `${order(index)}\n`).join(''),
  json: `[${[1, 2, 3].map(order).join(',\n')}]\n`,
} as const;
const format = fc.constantFrom('csv' as const, 'ndjson' as const, 'json' as const);

describe('a document', () => {
  it('that is cut off at any byte never has a line that the complete document does not have', async () => {
    for (const kind of ['csv', 'ndjson', 'json'] as const) {
      const whole = await readDocument(documents[kind], kind);
      expect(whole.lines).toHaveLength(3);
      for (let end = 0; end < documents[kind].length; end += 1) {
        const cut = await readDocument(documents[kind].slice(0, end), kind);
        expect(cut.lines).toEqual(whole.lines.slice(0, cut.lines.length));
        // The rest of an incomplete line is rejected, alone or with the whole document.
        expect(cut.rejections.length).toBeLessThanOrEqual(1);
      }
    }
  });

  it('of three columns that is cut off at any byte never has such a line either', async () => {
    const text = 'order_id,variant,currency\norder-1,gift-1,USD\norder-2,gift-2,USD\n';
    const whole = await readDocument(text, 'csv');
    expect(whole.lines).toHaveLength(2);
    for (let end = 0; end < text.length; end += 1) {
      const cut = await readDocument(text.slice(0, end), 'csv');
      expect(cut.lines).toEqual(whole.lines.slice(0, cut.lines.length));
    }
  });

  it('gives the same lines and ids whatever the order of its rows', async () => {
    const row = fc.tuple(
      fc.constantFrom('1', '2', '3'),
      fc.constantFrom('', '', '1', 'a', 'b'),
      fc.constantFrom('v', 'w'),
    );
    const rows = fc.uniqueArray(row, {
      maxLength: 8,
      selector: ([orderId, lineId]) => `${orderId}/${lineId === '' ? Math.random() : lineId}`,
    });
    const shuffled = rows.chain((some) =>
      fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
    );
    const read = async (some: readonly (readonly string[])[]): Promise<unknown> => {
      const text = [
        'order_id,line_id,variant,currency',
        ...some.map((cells) => `${cells.join(',')},USD`),
      ].join('\n');
      const { lines, rejections } = await readDocument(`${text}\n`, 'csv');
      expect(lines.length + rejections.length).toBe(some.length);
      return lines
        .map(({ orderId, lineId, variant }) => `${orderId}/${lineId}: ${variant}`)
        .toSorted();
    };
    await fc.assert(
      fc.asyncProperty(shuffled, async ([some, other]) => {
        expect(await read(other)).toEqual(await read(some));
      }),
      { numRuns: 500 },
    );
  });

  it('of any bytes is accepted or rejected with a reason, and the size of its pieces makes no difference', async () => {
    const spoilt = fc
      .tuple(
        format,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
      )
      .map(([kind, changes]) => {
        const bytes = Buffer.from(documents[kind]);
        for (const [place, value] of changes) bytes[place % bytes.length] = value;
        return { kind, bytes: new Uint8Array(bytes) };
      });
    const anything = fc.record({ kind: format, bytes: fc.uint8Array({ maxLength: 200 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(spoilt, anything),
        fc.integer({ min: 1, max: 40 }),
        async ({ kind, bytes }, pieceBytes) => {
          const whole = await readDocument(bytes, kind);
          expect(summary(await readDocument(bytes, kind, { pieceBytes }))).toEqual(summary(whole));
        },
      ),
      { numRuns: 3000 },
    );
  });
});
