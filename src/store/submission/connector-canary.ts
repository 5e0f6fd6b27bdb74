import type { Family, Operation } from '../../core/order/operation.ts';
import { familyOf } from '../../core/order/operation.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import { readMeta, writeMeta } from '../sqlite/meta.ts';
import { readPauses } from './paused-scopes.ts';
import type { SqlitePauses } from './pauses.ts';

/** The reason of the pause that shows that a family waits for its first delivered order. */
export const connectorUnproven = 'connector_unproven';

/** So many orders of a family may be open before one was delivered under the present connector. */
const openWhileUnproven = 2;

const families: readonly Family[] = ['gift_card', 'esim'];
const provenName = (family: Family): string => `connector_proven:${family}`;
const seenName = 'connector_seen';

/** The entries in which such orders are found, each by the index of its state: the cost is not that of the whole outbox. */
const openEntries: readonly (readonly [index: string, where: string])[] = [
  ['entries_sending', "state = 'sending'"],
  ['entries_placed', "state = 'placed'"],
  ['entries_unknown', "state = 'unknown' AND outcome_row = 'unreadable_success'"],
  [
    'entries_attention',
    "state IN ('needs_review', 'held') AND state = 'needs_review' AND outcome_row IN ('accepted', 'answer_mismatch', 'unreadable_success')",
  ],
];

/** The states of the orders that were sent and not delivered: they may have been bought. */
const openOrders = (family: Family): string => `
  SELECT state FROM (${openEntries
    .map(([index, where]) => `SELECT id, state, operation FROM entries INDEXED BY ${index} WHERE ${where}`)
    .join(' UNION ALL ')}) e
  WHERE ${family === 'gift_card' ? "operation = 'gift_card_order'" : "operation IN ('esim_order', 'esim_topup')"}
    AND EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.id > :afterAttempt)
  LIMIT ${openWhileUnproven}`;

/**
 * Until one order of a family was fulfilled under the present connector, only two of its orders may be open: with a wrong
 * mapping the worker could buy for a day without delivering one code.
 */
export class ConnectorCanary {
  readonly #database: Sqlite;
  readonly #pauses: SqlitePauses;
  readonly #open;
  #connector: string;
  /** The last attempt before this connector was configured: earlier ones say nothing about it. */
  #afterAttempt: number;
  readonly #proven = new Set<Family>();

  constructor(database: Sqlite, pauses: SqlitePauses) {
    this.#database = database;
    this.#pauses = pauses;
    const prepare = (family: Family) => database.prepare<{ afterAttempt: number }, string>(openOrders(family)).pluck();
    this.#open = { gift_card: prepare('gift_card'), esim: prepare('esim') };
    const [connector = '', after = '0'] = (readMeta(database, seenName) ?? '').split(' ');
    this.#connector = connector;
    this.#afterAttempt = Number(after);
    this.#readProven();
  }

  /** The connector of this run. */
  adopt(connector: string): void {
    inTransaction(this.#database, () => {
      if (this.#connector === connector) return;
      this.#connector = connector;
      this.#afterAttempt =
        this.#database.prepare<[], number>('SELECT coalesce(max(id), 0) FROM attempts').pluck().get() ?? 0;
      writeMeta(this.#database, seenName, `${connector} ${this.#afterAttempt}`);
      this.#readProven();
    });
  }

  #readProven(): void {
    this.#proven.clear();
    for (const family of families)
      if (readMeta(this.#database, provenName(family)) === this.#connector) this.#proven.add(family);
  }

  /** Called inside a transaction: an order was fulfilled, or a person lifts the limit. */
  prove(family: Family, nowMs: number, why = 'an order was fulfilled'): void {
    if (this.#proven.has(family)) return;
    writeMeta(this.#database, provenName(family), this.#connector);
    this.#proven.add(family);
    this.#endPause(family, why, nowMs);
  }

  /** Whether another order of the family may be opened. Called inside the transaction of a claim. */
  mayOpen(scope: string, nowMs: number): boolean {
    const family = scope === 'family:gift_card' ? 'gift_card' : 'esim';
    // Only a worker adopts a connector, and only a worker sends.
    if (this.#connector === '' || this.#proven.has(family)) return true;
    const open = this.#open[family].all({ afterAttempt: this.#afterAttempt });
    if (open.length < openWhileUnproven) {
      this.#endPause(family, 'fewer orders are open', nowMs);
      return true;
    }
    // A call under way may prove it in a moment.
    if (!open.includes('sending')) this.#show(family, nowMs);
    return false;
  }

  proveByOrder(operation: Operation, nowMs: number): void {
    // A cancel delivers nothing.
    if (operation !== 'esim_cancel') this.prove(familyOf(operation), nowMs);
  }

  #show(family: Family, nowMs: number): void {
    const message = `${openWhileUnproven} orders were accepted under this connector, and none of them was delivered so far. Does wholesale.wire fit the API?`;
    const scope = `family:${family}`;
    const pause = { scope, reason: connectorUnproven, message, openedBy: 'worker', probeAtMs: null, nowMs };
    // No order may try a family that is paused for another reason: it resumes by a delivery or a person.
    this.#pauses.takeOver(pause);
  }

  #endPause(family: Family, why: string, nowMs: number): void {
    const scope = `family:${family}`;
    const isShown = readPauses(this.#database).some((it) => it.scope === scope && it.reason === connectorUnproven);
    if (isShown) this.#pauses.endByWorker(scope, why, nowMs);
  }
}
