import { namespaceFingerprint, type ReferenceNamespace } from '../../core/order/reference.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from './database.ts';

/** What a database belongs to. It is stamped once and refuses another upstream or another reference secret. */
export interface DatabaseStamp {
  /** The upstream the references were sent to: an origin, or `sandbox`. */
  readonly upstream: string;
  readonly namespace: ReferenceNamespace;
}

/** @throws OrderSyncError UPSTREAM_MISMATCH, REFERENCE_SECRET_CHANGED */
export function checkStamp(database: Sqlite, stamp: DatabaseStamp): void {
  const find = database.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck();
  const insert = database.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  const expected = { upstream: stamp.upstream, namespace: namespaceFingerprint(stamp.namespace) };
  inTransaction(database, () => {
    for (const [name, value] of Object.entries(expected)) {
      const found = find.get(name);
      if (found === undefined) insert.run(name, value);
      else if (found !== value && name === 'upstream') {
        throw new OrderSyncError(
          'UPSTREAM_MISMATCH',
          `This database belongs to the upstream ${found}, but the config names ${value}`,
          {
            hint: 'give every upstream its own data_dir: orders of a sandbox and of a real account must never meet',
          },
        );
      } else if (found !== value) {
        throw new OrderSyncError(
          'REFERENCE_SECRET_CHANGED',
          'The reference secret, instance or prefix is not the one this database was made with',
          {
            hint: 'restore the secret file that was backed up with it: other references would buy redelivered orders again',
          },
        );
      }
    }
  });
}
