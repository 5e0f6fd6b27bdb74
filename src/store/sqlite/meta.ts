import { namespaceFingerprint, type ReferenceNamespace } from '../../core/order/reference.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, statementOf, type Sqlite } from './database.ts';

const select = statementOf<[string], { value: string }>('SELECT value FROM meta WHERE name = ?');
const upsert = statementOf<[string, string], never>(
  'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
);

/** A fact about the database itself; undefined where it was never written. */
export function readMeta(database: Sqlite, name: string): string | undefined {
  return select(database).get(name)?.value;
}

/** Called inside a transaction. */
export function writeMeta(database: Sqlite, name: string, value: string): void {
  upsert(database).run(name, value);
}

/**
 * A database belongs to one upstream and one reference secret: it is stamped once, and refuses any other.
 * @throws OrderSyncError UPSTREAM_MISMATCH, REFERENCE_SECRET_CHANGED
 */
export function checkStamp(database: Sqlite, stamp: { upstream: string; namespace: ReferenceNamespace }): void {
  inTransaction(database, () => {
    const upstream = stampOnce(database, 'upstream', stamp.upstream);
    if (upstream !== stamp.upstream) {
      const message = `This database belongs to the upstream ${upstream}, but the config names ${stamp.upstream}`;
      throw new OrderSyncError('UPSTREAM_MISMATCH', message, {
        hint: 'give every upstream its own data_dir: orders of a sandbox and of a real account must never meet',
      });
    }
    const namespace = namespaceFingerprint(stamp.namespace);
    if (stampOnce(database, 'namespace', namespace) !== namespace) {
      const message = 'The reference secret, instance or prefix is not the one this database was made with';
      throw new OrderSyncError('REFERENCE_SECRET_CHANGED', message, {
        hint: 'restore the secret file that was backed up with it: other references would buy redelivered orders again',
      });
    }
  });
}

/** Writes the value where there is none; returns the one that stands. */
function stampOnce(database: Sqlite, name: string, value: string): string {
  const found = readMeta(database, name);
  if (found === undefined) writeMeta(database, name, value);
  return found ?? value;
}
