import { fingerprintOf } from '../../core/order-request.ts';
import { type ParsedItem, rejectionOf, shownValue } from './parsed-item.ts';

type Line = Extract<ParsedItem, { kind: 'line' }>['line'];

/**
 * The ids of lines that an order has named. Two lines of one id that buy the same are one line to buy, and the second
 * purchase would be lost in silence: the outbox takes it for the first one, sent again. (That they buy something else is
 * a conflict, which the outbox finds.) Only the order in hand is remembered, so that a long document costs no memory.
 */
export class NamedLines {
  #order = '';
  #named = new Map<string, Line>();

  /** The item, or its refusal where its line repeats an earlier one. `fieldOf`: where the id stands. */
  judge(item: ParsedItem, fieldOf: () => string): ParsedItem {
    if (item.kind !== 'line') return item;
    const { source, orderId, lineId, lineNumber } = item.line;
    // No source holds a control character.
    const order = `${source}\u0000${orderId}`;
    if (order !== this.#order) {
      this.#order = order;
      this.#named = new Map();
    }
    const first = this.#named.get(lineId);
    if (first === undefined) this.#named.set(lineId, item.line);
    if (first === undefined || fingerprintOf(first) !== fingerprintOf(item.line)) return item;
    const rule = `is the line_id of the same line before (line ${first.lineNumber ?? '?'}): it was ordered once, and one more needs its own`;
    const problem = { code: 'duplicate_line', field: fieldOf(), rule, value: shownValue(lineId) };
    return rejectionOf({ lineNumber, source, orderId, lineId }, [problem]);
  }
}
