import type { Redelivery } from '../../core/operator/operator-command.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { repeatResult } from './due-results.ts';
import { readResult, refuseShredded } from './result-reader.ts';

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
const countAll = columnOf<Values, number>(
  `SELECT count(*) FROM requests r WHERE (:orderId IS NULL OR r.order_id = :orderId) AND ${fits}`,
);
const hasShredded = statementOf<[number], unknown>(
  'SELECT 1 FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = ? AND e.shredded_at_ms IS NOT NULL LIMIT 1',
);

function valuesOf(which: Redelivery) {
  const {
    sink = null,
    source = null,
    orderId = null,
    sinceMs = null,
    untilMs = null,
    givenUp = false,
  } = which;
  return { sink, source, orderId, sinceMs, untilMs, givenUp: Number(givenUp) };
}

/**
 * Makes the next results of a redelivery due again, at one sink or at all of their source; not
 * those whose codes were shredded. Returns how many, and where the next step continues; null: there
 * is none.
 * @throws OrderSyncError INVALID_INPUT; NOT_ALLOWED when all of one order were shredded
 */
export function redeliver(
  outbox: Outbox,
  which: Redelivery,
  afterId: number,
): { readonly due: number; readonly nextId: number | null } {
  const { database } = outbox;
  checkSink(outbox, which);
  const rows = selectStep(database).all({ ...valuesOf(which), afterId });
  const ids = rows.filter((row) => row.fits === 1).map(({ id }) => id);
  const repeated = ids.filter((id) => hasShredded(database).get(id) === undefined);
  const [first] = ids;
  if (first !== undefined && repeated.length === 0 && which.orderId !== undefined)
    refuseShredded(readResult(outbox, first).document);
  for (const id of repeated) repeatResult(outbox, id, which.sink);
  return {
    due: repeated.length,
    nextId: rows.length < requestsAtOnce ? null : (rows.at(-1)?.id ?? null),
  };
}

function checkSink({ sinks }: Outbox, { sink }: Redelivery): void {
  if (sink === undefined || sinks.some(({ name }) => name === sink)) return;
  throw new OrderSyncError('INVALID_INPUT', `No sink is called "${sink}"`, {
    hint: `the configured sinks: ${sinks.map(({ name }) => name).join(', ')}`,
  });
}

export function countRedelivery(database: Sqlite, which: Redelivery): number {
  return countAll(database).get(valuesOf(which)) ?? 0;
}
