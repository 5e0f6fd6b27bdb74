import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { FileFormat, SentLine } from './intake-plan.ts';

/**
 * A document in pieces that each end with a line: where it begins, then one piece for each order
 * line.
 */
export type Pieces = readonly [begin: string, ...lines: string[]];

const columns = 'source,order_id,line_id,type,variant,plan,iccid,quantity,days,currency,not_after';

const isoOf = (ms: number | null): string | undefined =>
  ms === null ? undefined : new Date(ms).toISOString();

/** The quantity as the sender writes it. */
function quantityOf({ line, mistake }: SentLine): number | string | undefined {
  if (mistake === 'quantity') return 'two';
  return line.quantity ?? undefined;
}

const typeOf = ({ line, mistake }: SentLine): string =>
  mistake === 'type' ? 'gift_crad_order' : line.operation;

function csvRow(sent: SentLine): string {
  const { source, orderId, lineId, variant, plan, iccid, days, currency, notAfterMs } = sent.line;
  const cells = [
    source,
    orderId,
    lineId,
    typeOf(sent),
    variant,
    plan,
    iccid,
    quantityOf(sent),
    days,
    currency,
  ];
  return `${[...cells, isoOf(notAfterMs)].map((cell) => cell ?? '').join(',')}\n`;
}

function lineObject(sent: SentLine): Record<string, unknown> {
  const { lineId, variant, plan, iccid, days, currency } = sent.line;
  const fields = {
    line_id: lineId,
    type: typeOf(sent),
    variant,
    plan,
    iccid,
    quantity: quantityOf(sent),
    days,
    currency,
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** One order with these lines; deadline and rules are those of the first one. */
export function orderObject(lines: readonly SentLine[]): Record<string, unknown> {
  const [first] = lines;
  if (first === undefined) return { lines: [] };
  const { source, orderId, notAfterMs, rules = {} } = first.line;
  const not_after = isoOf(notAfterMs);
  return {
    source,
    order_id: orderId,
    ...(not_after === undefined ? {} : { not_after }),
    ...(Object.keys(rules).length === 0 ? {} : { rules }),
    lines: lines.map(lineObject),
  };
}

/** An order file. CSV has no rules. */
export function documentOf(format: FileFormat, lines: readonly SentLine[]): Pieces {
  if (format === 'csv') return [`${columns}\n`, ...lines.map(csvRow)];
  if (format === 'ndjson')
    return ['', ...lines.map((line) => `${JSON.stringify(orderObject([line]))}\n`)];
  return [`${JSON.stringify(lines.map((line) => orderObject([line])))}\n`];
}

/** A line as the format carries it. */
export function carriedBy(format: FileFormat, line: AcceptableLine): AcceptableLine {
  return format === 'csv' ? { ...line, rules: {} } : line;
}
