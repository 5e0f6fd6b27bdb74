import { isoTime } from '../../core/clock.ts';
import type { Affected } from '../../core/operator/affected.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { decimal } from './statistics.ts';

interface AffectedLine {
  /** Its place among the references that were asked for. */
  readonly place: number;
  readonly requestId: number;
  readonly currency: string | null;
  readonly amount: number | null;
  readonly isFree: 0 | 1;
  readonly receivedMs: number;
}

const selectLines = statementOf<[string], AffectedLine>(
  `SELECT j.key AS place, l.request_id AS requestId, coalesce(e.charged_currency, e.currency) AS currency,
     coalesce(CAST(e.cost AS REAL), p.unit_cost * coalesce(e.quantity, 1)) AS amount,
     e.operation = 'esim_cancel' AS isFree, l.received_at_ms AS receivedMs
   FROM json_each(?) j CROSS JOIN entries e ON e.reference = j.value JOIN lines l ON l.id = e.line_id
   LEFT JOIN product_costs p ON p.product = coalesce('variant:' || e.variant, 'plan:' || e.plan)
     AND p.days = coalesce(e.days, 0) AND p.currency = e.currency`,
);

/**
 * What each of these choices of entries affects. This is the only place where their orders and
 * money are added up.
 * @param atMost so many entries of each were looked at
 */
export function readAffected(
  database: Sqlite,
  choices: readonly (readonly string[])[],
  atMost = Number.POSITIVE_INFINITY,
): readonly Affected[] {
  const choiceOf = choices.flatMap((references, index) => references.map(() => index));
  const lines = selectLines(database).all(JSON.stringify(choices.flat()));
  const ofChoice = Map.groupBy(lines, ({ place }) => choiceOf[place]);
  return choices.map((references, index) =>
    sumOf(ofChoice.get(index) ?? [], references.length >= atMost),
  );
}

function sumOf(lines: readonly AffectedLine[], more: boolean): Affected {
  const priced = lines.filter(({ amount, currency }) => amount !== null && currency !== null);
  const amounts = [...Map.groupBy(priced, ({ currency }) => currency ?? '')].map(
    ([currency, all]) => {
      const sum = all.reduce((total, { amount }) => total + (amount ?? 0), 0);
      return { currency, amount: decimal(BigInt(Math.round(sum * 1_000_000))) };
    },
  );
  const oldestMs = lines.reduce((least, it) => Math.min(least, it.receivedMs), Infinity);
  return {
    orders: new Set(lines.map(({ requestId }) => requestId)).size,
    amounts: amounts.toSorted((a, b) => a.currency.localeCompare(b.currency)),
    lines_without_amount: lines.filter((it) => it.isFree === 0).length - priced.length,
    oldest_at: oldestMs === Infinity ? null : isoTime(oldestMs),
    more,
  };
}
