import { fingerprintOf } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import { type CheckedLine, rejectionOf, shownValue } from './checked-line.ts';

type Line = Extract<CheckedLine, { kind: 'line' }>['line'];

/** Whether two lines with one id are the same in everything else: in CSV, one row that was exported twice. */
const isSameRow = (one: Line, other: Line): boolean =>
  one.notAfterMs === other.notAfterMs && JSON.stringify(one.extra) === JSON.stringify(other.extra);

/**
 * Finds lines of one order that have the same id and buy the same. The outbox would take the second for a repetition of
 * the first, and it would never be bought. (Lines with one id that buy different things are a conflict, which the outbox
 * finds.) Only the ids of the current order are kept, so a long document needs no memory.
 */
export class RepeatedLines {
  readonly #inRows: boolean;
  #last: Line | null = null;
  /** The lines of the current order by id. Most orders have one line, so the map is made for the second. */
  #linesById: Map<string, Line> | null = null;

  /** @param inRows whether the lines are rows of CSV, where two rows that are equal in every cell are one line */
  constructor({ inRows }: { inRows: boolean }) {
    this.#inRows = inRows;
  }

  /** Returns the line, or its rejection when it repeats an earlier line. `fieldOf` names the place of its id. */
  check(checked: CheckedLine, fieldOf: () => string): CheckedLine {
    if (checked.kind !== 'line') return checked;
    const { line } = checked;
    const last = this.#last;
    this.#last = line;
    if (last === null || last.orderId !== line.orderId || last.source !== line.source) {
      this.#linesById = null;
      return checked;
    }
    this.#linesById ??= new Map([[last.lineId, last]]);
    const first = this.#linesById.get(line.lineId);
    if (first === undefined) this.#linesById.set(line.lineId, line);
    if (first === undefined || fingerprintOf(first) !== fingerprintOf(line)) return checked;
    return this.#inRows && isSameRow(first, line) ? checked : repeated(line, first, fieldOf());
  }
}

function repeated(line: Line, first: Line, field: string): CheckedLine {
  const { source, orderId, lineId, lineNumber } = line;
  const rule = `repeats the line_id of the same purchase on line ${first.lineNumber ?? '?'}: give each purchase its own line_id`;
  const problem = { code: 'duplicate_line', field, rule, value: shownValue(lineId) };
  return rejectionOf({ lineNumber, source, orderId, lineId, product: productOf(line) }, [problem]);
}
