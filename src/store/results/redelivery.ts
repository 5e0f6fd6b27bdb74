import { OrderSyncError } from '../../core/order-sync-error.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Redelivery } from './results.ts';

/** So many requests are looked at in one step: the worker does nothing else meanwhile. */
const requestsAtOnce = 1000;

type Values = ReturnType<typeof valuesOf>;

/** Only a result that was due once has a delivery. */
const fits = `(:source IS NULL OR r.source = :source)
  AND (:sinceMs IS NULL OR r.updated_at_ms >= :sinceMs) AND (:untilMs IS NULL OR r.updated_at_ms < :untilMs)
  AND EXISTS (SELECT 1 FROM deliveries d WHERE d.request_id = r.id AND (:givenUp = 0
    OR (d.given_up_at_ms IS NOT NULL AND (:sink IS NULL OR d.sink = :sink))))`;

const selectStep = statementOf<Values & { afterId: number }, { id: number; fits: number }>(
  `SELECT r.id, ${fits} AS fits FROM requests r
   WHERE r.id > :afterId AND (:orderId IS NULL OR r.order_id = :orderId) ORDER BY r.id LIMIT ${requestsAtOnce}`,
);
const countAll = statementOf<Values, { count: number }>(
  `SELECT count(*) AS count FROM requests r WHERE (:orderId IS NULL OR r.order_id = :orderId) AND ${fits}`,
);

function valuesOf({ sink, source, orderId, sinceMs, untilMs, givenUp }: Redelivery) {
  return {
    sink: sink ?? null,
    source: source ?? null,
    orderId: orderId ?? null,
    sinceMs: sinceMs ?? null,
    untilMs: untilMs ?? null,
    givenUp: Number(givenUp ?? false),
  };
}

/** The requests of one step, and where the next step continues; null: there is none. */
export function readRedeliveryStep(
  database: Sqlite,
  which: Redelivery,
  afterId: number,
): { readonly ids: readonly number[]; readonly nextId: number | null } {
  const rows = selectStep(database).all({ ...valuesOf(which), afterId });
  const ids = rows.filter((row) => row.fits === 1).map(({ id }) => id);
  return { ids, nextId: rows.length < requestsAtOnce ? null : (rows.at(-1)?.id ?? null) };
}

/** How many results would be delivered again. */
export function countRedelivery(database: Sqlite, which: Redelivery): number {
  return countAll(database).get(valuesOf(which))?.count ?? 0;
}

/** @throws OrderSyncError INVALID_INPUT when no such sink is configured */
export function checkSink(sink: string, configured: readonly string[]): void {
  if (configured.includes(sink)) return;
  throw new OrderSyncError('INVALID_INPUT', `No sink is called "${sink}"`, {
    hint: `the configured sinks: ${configured.join(', ')}`,
  });
}
