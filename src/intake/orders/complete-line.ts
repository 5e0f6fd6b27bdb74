import { type FieldNames, impliedType, type Problem } from './check-line.ts';

/**
 * The id of the only line of an order. It must never change: under another id the line would be
 * bought again.
 */
export const onlyLineId = '1';

export interface Completion {
  readonly nameOf: FieldNames;
  readonly isOneOfSeveral: boolean;
  /** Something else may say how many: one would be a guess. */
  readonly hasQuantities: boolean;
  /** One of these fields must name the product; none: one does. */
  readonly products: readonly string[];
}

/**
 * Fills in what a line need not say: the id of an only line, the type of its product, a quantity of
 * one. Adds a problem for what only the sender can say.
 */
export function completeLine(
  line: Record<string, unknown>,
  { nameOf, isOneOfSeveral, hasQuantities, products }: Completion,
  problems: Problem[],
): void {
  const missing = (name: string, rule: string): void => {
    problems.push({ code: 'missing_field', field: nameOf([name]), rule, value: null });
  };
  if (line['line_id'] === undefined) {
    const rule = `is required in an order of several lines: give each line its own id, and never change this id. A line that was bought alone before has the id ${onlyLineId}`;
    if (isOneOfSeveral) missing('line_id', rule);
    else line['line_id'] = onlyLineId;
  }
  if (line['type'] === undefined) line['type'] = impliedType(line);
  const { type, iccid, quantity } = line;
  if (type === undefined && products.length > 0)
    missing(
      'type',
      iccid === undefined
        ? `is required, unless the line has ${products.map((name) => nameOf([name])).join(' or ')}, from which the type follows`
        : `is required where only an ICCID is given: esim_cancel cancels the eSIM; with ${nameOf(['plan'])} the eSIM is topped up`,
    );
  const isOrder = type === 'gift_card_order' || type === 'esim_order';
  if (isOrder && !hasQuantities && quantity === undefined) line['quantity'] = 1;
}
