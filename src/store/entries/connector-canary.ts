import { familyOf, type Family, type Operation } from '../../core/order/purchase.ts';
import { columnOf, inTransaction, type Sqlite } from '../sqlite/database.ts';
import { readMeta, writeMeta } from '../sqlite/meta.ts';
import { endPause, readPause, readPauses, recordPause } from './pauses.ts';

/*
 * Until one order of a family was fulfilled under the present connector, only two of its orders may
 * be open: with a wrong mapping the worker could buy for a day without delivering one code.
 */

/** The reason of the pause that shows that a family waits for its first delivered order. */
export const connectorUnproven = 'connector_unproven';

/** So many orders of a family may be open before one was delivered under the present connector. */
const openWhileUnproven = 2;

const families: readonly Family[] = ['gift_card', 'esim'];

const provenName = (family: Family): string => `connector_proven:${family}`;
const seenName = 'connector_seen';

/**
 * The entries in which such orders are found, each by the index of its state: the cost is not that
 * of the whole outbox.
 */
const openEntries: readonly (readonly [index: string, where: string])[] = [
  ['entries_sending', "state = 'sending'"],
  ['entries_placed', "state = 'placed'"],
  ['entries_unknown', "state = 'unknown'"],
  ['entries_attention', "state IN ('needs_review', 'held')"],
];
/** After these an order may have been bought, whatever later lookups say. */
const boughtRows = "('accepted', 'answer_mismatch', 'unreadable_success', 'crashed')";

/** The states of the orders that were sent and not delivered: they may have been bought. */
const openOrders = (operations: string) =>
  columnOf<{ afterAttempt: number }, string>(`
  SELECT state FROM (${openEntries
    .map(
      ([index, where]) =>
        `SELECT id, state, operation FROM entries INDEXED BY ${index} WHERE ${where}`,
    )
    .join(' UNION ALL ')}) e
  WHERE ${operations}
    AND EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.id > :afterAttempt)
    AND (state IN ('sending', 'placed')
      OR EXISTS (SELECT 1 FROM attempts b WHERE b.entry_id = e.id AND b.id > :afterAttempt AND b.outcome IN ${boughtRows}))
  LIMIT ${openWhileUnproven}`);
const openOf: Readonly<Record<Family, ReturnType<typeof openOrders>>> = {
  gift_card: openOrders("operation = 'gift_card_order'"),
  esim: openOrders("operation IN ('esim_order', 'esim_topup')"),
};
const newestAttempt = columnOf<[], number>('SELECT coalesce(max(id), 0) FROM attempts');

/**
 * The connector of the last worker, and the last attempt before it was configured: earlier ones say
 * nothing about it.
 */
function readConnector(database: Sqlite): {
  readonly connector: string;
  readonly afterAttempt: number;
} {
  const [connector = '', after = '0'] = (readMeta(database, seenName) ?? '').split(' ');
  return { connector, afterAttempt: Number(after) };
}

/** The connector of this run. */
export function adoptConnector(database: Sqlite, connector: string, nowMs: number): void {
  inTransaction(database, () => {
    if (readConnector(database).connector === connector) return;
    writeMeta(database, seenName, `${connector} ${newestAttempt(database).get() ?? 0}`);
    // The new mapping may read the fields that paused these.
    for (const { scope, reason } of readPauses(database))
      if (reason === 'unread_fields') endPause(database, scope, 'the mapping changed', nowMs);
  });
}

/** Called inside a transaction: an order was fulfilled, or an operator lifts the limit. */
export function proveConnector(
  database: Sqlite,
  family: Family,
  nowMs: number,
  why = 'an order was fulfilled',
): void {
  const { connector } = readConnector(database);
  if (readMeta(database, provenName(family)) === connector) return;
  writeMeta(database, provenName(family), connector);
  endOwnPause(database, family, why, nowMs);
}

export function proveConnectorByOrder(
  database: Sqlite,
  operation: Operation,
  attemptId: number,
  nowMs: number,
): void {
  // A cancel delivers nothing, and what began under an earlier connector says nothing about this
  // one.
  if (operation !== 'esim_cancel' && attemptId > readConnector(database).afterAttempt)
    proveConnector(database, familyOf(operation), nowMs);
}

/**
 * Those of these families of which no further order may be opened now, and whether a call under way
 * may change that.
 */
export function fullFamilies(database: Sqlite): ReadonlyMap<Family, { readonly isBusy: boolean }> {
  const { connector, afterAttempt } = readConnector(database);
  const full = new Map<Family, { isBusy: boolean }>();
  // Only a worker adopts a connector, and only a worker sends.
  if (connector === '') return full;
  for (const family of families) {
    if (readMeta(database, provenName(family)) === connector) continue;
    const open = openOf[family](database).all({ afterAttempt });
    if (open.length >= openWhileUnproven) full.set(family, { isBusy: open.includes('sending') });
  }
  return full;
}

/**
 * Shows that families wait for their first delivered order, or that they do not any more. Called
 * inside a transaction.
 */
export function showUnproven(database: Sqlite, asked: Iterable<Family>, nowMs: number): void {
  const full = fullFamilies(database);
  for (const family of asked) {
    const found = full.get(family);
    if (found === undefined) endOwnPause(database, family, 'fewer orders are open', nowMs);
    // A call under way may prove it in a moment.
    else if (!found.isBusy) pauseFamily(database, family, nowMs);
  }
}

/**
 * No order may try a family that is paused for another reason: it resumes by a delivery or an
 * operator.
 */
function pauseFamily(database: Sqlite, family: Family, nowMs: number): void {
  const [scope, reason] = [`family:${family}`, connectorUnproven];
  if (readPause(database, scope)?.reason === reason) return;
  endPause(database, scope, `the scope is paused as ${reason} from now on`, nowMs);
  const message = `${openWhileUnproven} orders were accepted with this mapping, and none of them was delivered so far. Does wholesale.wire fit the API?`;
  recordPause(database, { scope, reason, message, openedBy: 'worker', probeAtMs: null, nowMs });
}

function endOwnPause(database: Sqlite, family: Family, why: string, nowMs: number): void {
  const scope = `family:${family}`;
  if (readPause(database, scope)?.reason === connectorUnproven)
    endPause(database, scope, why, nowMs);
}
