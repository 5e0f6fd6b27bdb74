import { fingerprintOf } from '../../core/order/order-request.ts';
import { type ParsedItem, rejectionOf, shownValue } from './checked-line.ts';

type Line = Extract<ParsedItem, { kind: 'line' }>['line'];

/** Whether two lines of one id say the same in everything: of rows of a CSV that is one row, exported twice. */
const isSameRow = (one: Line, other: Line): boolean =>
  one.notAfterMs === other.notAfterMs && JSON.stringify(one.extra) === JSON.stringify(other.extra);

/**
 * The ids of lines that an order has named. Two lines of one id that buy the same are one line to buy, and the second
 * purchase would be lost in silence: the outbox takes it for the first one, sent again. (That they buy something else is
 * a conflict, which the outbox finds.) Only the order in hand is remembered, so that a long document costs no memory.
 */
export class NamedLines {
  readonly #areRows: boolean;
  #last: Line | null = null;
  /** The lines of the order in hand; none before its second one, because most orders have one line. */
  #named: Map<string, Line> | null = null;

  /** `areRows`: lines that are the same in every cell are the same line, sent again. */
  constructor({ areRows }: { areRows: boolean }) {
    this.#areRows = areRows;
  }

  /** The item, or its refusal where its line repeats an earlier one. `fieldOf`: where the id stands. */
  judge(item: ParsedItem, fieldOf: () => string): ParsedItem {
    if (item.kind !== 'line') return item;
    const { line } = item;
    const last = this.#last;
    this.#last = line;
    if (last === null || last.orderId !== line.orderId || last.source !== line.source) {
      this.#named = null;
      return item;
    }
    this.#named ??= new Map([[last.lineId, last]]);
    const first = this.#named.get(line.lineId);
    if (first === undefined) this.#named.set(line.lineId, line);
    if (first === undefined || fingerprintOf(first) !== fingerprintOf(line)) return item;
    return this.#areRows && isSameRow(first, line) ? item : repeated(line, first, fieldOf());
  }
}

function repeated(line: Line, first: Line, field: string): ParsedItem {
  const { source, orderId, lineId, lineNumber } = line;
  const rule = `is the line_id of the same line before (line ${first.lineNumber ?? '?'}): it was ordered once, and one more needs its own`;
  const problem = { code: 'duplicate_line', field, rule, value: shownValue(lineId) };
  return rejectionOf({ lineNumber, source, orderId, lineId }, [problem]);
}
