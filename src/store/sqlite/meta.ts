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
 * The upstream and secret that a database belongs to. It is stamped once, and refuses another upstream or another reference
 * secret.
 */
interface DatabaseStamp {
  /** The upstream that the references are sent to: an origin, or `sandbox`. */
  readonly upstream: string;
  readonly namespace: ReferenceNamespace;
}

/** @throws OrderSyncError UPSTREAM_MISMATCH, REFERENCE_SECRET_CHANGED */
export function checkStamp(database: Sqlite, stamp: DatabaseStamp): void {
  inTransaction(database, () => {
    const upstream = stampOnce(database, 'upstream', stamp.upstream);
    if (upstream !== stamp.upstream) {
      throw new OrderSyncError(
        'UPSTREAM_MISMATCH',
        `This database belongs to the upstream ${upstream}, but the config names ${stamp.upstream}`,
        { hint: 'give every upstream its own data_dir: orders of a sandbox and of a real account must never meet' },
      );
    }
    const namespace = namespaceFingerprint(stamp.namespace);
    if (stampOnce(database, 'namespace', namespace) !== namespace) {
      throw new OrderSyncError(
        'REFERENCE_SECRET_CHANGED',
        'The reference secret, instance or prefix is not the one this database was made with',
        {
          hint: 'restore the secret file that was backed up with it: other references would buy redelivered orders again',
        },
      );
    }
  });
}

/** Writes the value where there is none; returns the one that stands. */
function stampOnce(database: Sqlite, name: string, value: string): string {
  const found = readMeta(database, name);
  if (found === undefined) writeMeta(database, name, value);
  return found ?? value;
}
