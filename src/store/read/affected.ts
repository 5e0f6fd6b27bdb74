import { isoTime } from '../../core/clock.ts';
import type { Affected } from '../../core/operator/affected.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { decimal } from './statistics.ts';

/** `amount`: in millionths; null where it is not known. A cancel costs nothing. */
const selectLines = statementOf<
  [string],
  { requestId: number; currency: string; amount: number | null; receivedMs: number }
>(
  `SELECT l.request_id AS requestId, coalesce(e.charged_currency, e.currency) AS currency, l.received_at_ms AS receivedMs,
     iif(e.operation = 'esim_cancel', 0, coalesce((SELECT sum(millionths) FROM charges c WHERE c.entry_id = e.id AND c.kind = 'charge'),
       p.unit_cost * coalesce(e.quantity, 1) * 1e6)) AS amount
   FROM json_each(?) j CROSS JOIN entries e ON e.reference = j.value JOIN lines l ON l.id = e.line_id
   LEFT JOIN product_costs p ON p.product = coalesce('variant:' || e.variant, 'plan:' || e.plan)
     AND p.days = coalesce(e.days, 0) AND p.currency = e.currency ORDER BY currency`,
);

/**
 * Adds up the orders and the money of entries: the only place that does.
 * @param atMost so many entries were looked for
 */
export function readAffected(
  database: Sqlite,
  references: readonly string[],
  atMost = Number.POSITIVE_INFINITY,
): Affected {
  const lines = selectLines(database).all(JSON.stringify(references));
  const sums = new Map<string, number>();
  for (const { currency, amount } of lines)
    if (amount) sums.set(currency, (sums.get(currency) ?? 0) + amount);
  return {
    orders: new Set(lines.map(({ requestId }) => requestId)).size,
    amounts: [...sums].map(([currency, sum]) => {
      return { currency, amount: decimal(BigInt(Math.round(sum))) };
    }),
    lines_without_amount: lines.filter(({ amount }) => amount === null).length,
    oldest_at: lines.length === 0 ? null : isoTime(Math.min(...lines.map((it) => it.receivedMs))),
    more: references.length >= atMost,
  };
}
