import { keyFingerprint } from '../../core/order/reference.ts';
import type { Operation } from '../../core/order/purchase.ts';
import { columnOf, statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import { accountKey } from '../../store/sqlite/meta.ts';
import { hasAnyKey, isOfAccount } from '../../store/entries/sender-keys.ts';
import { OutboxSteps } from '../../store/sqlite/outbox.ts';

/** An order that was delivered to a key of the account. */
export interface KnownOrder {
  readonly reference: string;
  readonly operation: Operation;
  readonly sentAtMs: number;
}

const findProven = columnOf<[string], number>(`SELECT ${isOfAccount('?')}`);
const prove = statementOf<[string], never>(
  `INSERT INTO meta (name, value) VALUES ('${accountKey}' || ?, '') ON CONFLICT DO NOTHING`,
);
const proveFirst = statementOf<[number], never>(
  `INSERT INTO meta (name, value) SELECT '${accountKey}' || key_fingerprint, '' FROM attempts
   WHERE id = ? AND key_fingerprint IS NOT NULL AND NOT ${hasAnyKey}`,
);
// The last one that a lookup must show by now, not one of years ago. Else the very last one.
const selectKnown = statementOf<{ operation: Operation; settledMs: number }, KnownOrder>(
  `SELECT reference, operation, last_sent_at_ms AS sentAtMs FROM (
     SELECT id, reference, operation, coalesce(last_sent_at_ms, 0) AS last_sent_at_ms FROM entries INDEXED BY entries_bought
     WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = :operation ORDER BY id DESC LIMIT 500) e
   WHERE ${isOfAccount('(SELECT key_fingerprint FROM attempts WHERE entry_id = e.id ORDER BY number DESC LIMIT 1)')}
   ORDER BY last_sent_at_ms > :settledMs, id DESC LIMIT 1`,
);

/**
 * The keys of the account that this outbox buys from: that of the first order that was delivered,
 * each that knew such an order since, and one that an operator accepted.
 */
export class AccountKeys extends OutboxSteps {
  /**
   * The names of those that are not known to be of the account, and orders by which they can be
   * asked.
   * @param settledMs a lookup shows each order that was sent before it
   */
  async statesOf(
    keys: readonly { readonly name: string; readonly value: string }[],
    settledMs: number,
  ): Promise<{ readonly unproven: readonly string[]; readonly orders: readonly KnownOrder[] }> {
    const { database, namespace } = this.outbox;
    const unproven = keys.filter(
      ({ value }) => findProven(database).get(keyFingerprint(namespace, value)) !== 1,
    );
    const orders = (['gift_card_order', 'esim_order'] as const).flatMap(
      (operation) => selectKnown(database).get({ operation, settledMs }) ?? [],
    );
    return { unproven: unproven.map(({ name }) => name), orders };
  }

  readonly prove = this.step(({ database, namespace }, value: string): void => {
    prove(database).run(keyFingerprint(namespace, value));
  });
}

// Called inside a transaction.

/** An order was delivered: the first one says which account this is. */
export function proveFirstKey(database: Sqlite, attemptId: number): void {
  proveFirst(database).run(attemptId);
}
