import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import {
  csvResultCells,
  csvResultColumns,
  isWithoutFormula,
  withoutFormula,
} from '../../../src/core/result/csv-result.ts';
import type { ResultLine } from '../../../src/core/result/result-document.ts';

const lineWith = (units: readonly Unit[], error: ResultLine['error'] = null): ResultLine => ({
  line_id: '1',
  state: 'fulfilled',
  entries: [
    {
      reference: 'os-1',
      operation: 'gift_card_order',
      state: 'fulfilled',
      resolved_by: null,
      order_number: '=7',
      currency: 'USD',
      cost: '-1.50',
      units,
      error: null,
    },
  ],
  error,
});

const cell = (line: ResultLine, column: (typeof csvResultColumns)[number]): string | undefined =>
  csvResultCells(line)[csvResultColumns.indexOf(column)];

describe('a cell of a CSV result', () => {
  it.each(['=1+1', '+49', '-5', '@SUM(A1)', '\tx', '\rx', '\nx', '＝1', '＋1', '－1', '＠x'])(
    'that begins as a formula, as %j does, has an apostrophe before it',
    (text) => {
      expect(withoutFormula(text)).toBe(`'${text}`);
      expect(isWithoutFormula(`'${text}`)).toBe(true);
    },
  );

  it.each([
    ["x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"],
    ['a,+1\t@b', "a,'+1\t'@b"],
  ])(
    'that begins one after the separator of another country, as %j does, has it there',
    (text, escaped) => {
      expect(withoutFormula(text)).toBe(escaped);
      expect(isWithoutFormula(escaped)).toBe(true);
      expect(isWithoutFormula(text)).toBe(false);
    },
  );

  it.each(['', '1+1', 'a=b', 'a; -b', "it's", "'", "'t"])(
    'of other text, as %j, stays as it is',
    (text) => {
      expect(withoutFormula(text)).toBe(text);
      expect(isWithoutFormula(text)).toBe(false);
    },
  );

  it('of a code stays usable, unless a formula could call or reach something with it', () => {
    const coded = (code: string): string | undefined => cell(lineWith([{ code }]), 'result_code');
    for (const code of ['-AB1-22', '+1234', '@home.1', '=ABC_9', 'A(1)|!', '1234'])
      expect(coded(code)).toBe(code);
    for (const code of ['=cmd|x', '+A(1)', '-x!A1', '@f(x)', '=1:2', '="x"', '=[b]c'])
      expect(coded(code)).toBe(`'${code}`);
  });

  it('of several units has each value in its place, and no line breaks', () => {
    const line = lineWith([{ code: 'A', pin: '1' }, { code: 'B' }, { code: 'C\r\nD', pin: '3' }]);
    expect([cell(line, 'result_code'), cell(line, 'result_pin')]).toEqual([
      'A ; B ; C D',
      '1 ;  ; 3',
    ]);
    expect(cell(line, 'result_serial')).toBe('');
    // Two codes must not make one formula.
    expect(cell(lineWith([{ code: '=cmd' }, { code: '/C calc!A0' }]), 'result_code')).toBe(
      "'=cmd ; /C calc!A0",
    );
  });

  it('has no code of an order that needs review, or that was refunded', () => {
    for (const state of ['needs_review', 'placed', 'refunded', 'unknown'] as const) {
      const line = lineWith([{ code: 'A' }]);
      const entries = line.entries.map((entry) => ({ ...entry, state }));
      expect(cell({ ...line, state, entries }, 'result_code')).toBe('');
    }
  });

  it('of text from the supplier or of an error is no formula', () => {
    const line = lineWith([], { code: '=x', message: '@bad\nvalue', action: null });
    expect(cell(line, 'result_order_number')).toBe("'=7");
    expect(cell(line, 'result_cost')).toBe("'-1.50");
    expect(cell(line, 'result_error_code')).toBe("'=x");
    expect(cell(line, 'result_error_message')).toBe("'@bad value");
  });
});
