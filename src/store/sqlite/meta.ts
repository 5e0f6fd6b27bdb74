import { randomBytes } from 'node:crypto';
import { namespaceFingerprint, type ReferenceNamespace } from '../../core/order/reference.ts';
import { assert, OrderSyncError } from '../../core/order-sync-error.ts';
import type { OutboxProgress } from '../../core/outbox-progress.ts';
import { columnOf, inTransaction, statementOf, type Sqlite } from './database.ts';

const select = statementOf<[string], { value: string }>('SELECT value FROM meta WHERE name = ?');
const upsert = statementOf<[string, string], never>(
  'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
);

/** A name with this prefix and a fingerprint: that key is of the account from which this outbox buys. */
export const accountKey = 'account_key:';

/** A fact about the database itself; undefined where it was never written. */
export function readMeta(database: Sqlite, name: string): string | undefined {
  return select(database).get(name)?.value;
}

export function writeMeta(database: Sqlite, name: string, value: string): void {
  upsert(database).run(name, value);
}

const remove = statementOf<[string], never>('DELETE FROM meta WHERE name = ?');
const findAnyProof = columnOf<[], number>(
  "SELECT 1 FROM meta WHERE name GLOB 'lookup_proven:*' LIMIT 1",
);

/** A name with this prefix and a kind: a lookup of that kind did not find what was bought. */
export const lookupMissed = 'lookup_missed:';

export function deleteMeta(database: Sqlite, name: string): void {
  remove(database).run(name);
}

/** Whether a lookup has ever found an order. */
export const isAnyLookupProven = (database: Sqlite): boolean =>
  findAnyProof(database).get() !== undefined;

/** What a database belongs to. */
export interface Stamp {
  readonly upstream: string;
  readonly namespace: ReferenceNamespace;
}

/**
 * A database belongs to one upstream and one reference secret: it is stamped once, and refuses any
 * other.
 * @throws OrderSyncError UPSTREAM_MISMATCH, REFERENCE_SECRET_CHANGED
 */
export function checkStamp(database: Sqlite, stamp: Stamp): void {
  inTransaction(database, () => {
    refuseOtherStamp(database, stamp);
    writeMeta(database, 'upstream', stamp.upstream);
    writeMeta(database, 'namespace', namespaceFingerprint(stamp.namespace));
  });
}

/** Throws as `checkStamp`, and writes nothing. */
export function refuseOtherStamp(database: Sqlite, { upstream, namespace }: Stamp): void {
  const other = otherUpstream(database, upstream);
  if (other !== null) {
    const message = `The database has orders of the upstream ${other}, but wholesale.base_url leads to ${upstream}`;
    throw new OrderSyncError('UPSTREAM_MISMATCH', message, {
      hint: 'correct wholesale.base_url; or give this upstream a data_dir of its own: orders of a sandbox and of a real account must never meet',
    });
  }
  const own = namespaceFingerprint(namespace);
  if ((readMeta(database, 'namespace') ?? own) === own) return;
  const message =
    'The reference secret, instance or prefix is not the one that this database was made with';
  throw new OrderSyncError('REFERENCE_SECRET_CHANGED', message, {
    hint: 'restore the secret file of this database: other references would buy redelivered orders again',
  });
}

const newestOrder = columnOf<[], number | null>('SELECT max(id) FROM requests');
const mayHaveBought = columnOf<[], number>(
  `SELECT EXISTS (SELECT 1 FROM attempts WHERE purpose = 'submit'
     AND outcome IN ('accepted', 'answer_mismatch', 'unreadable_success'))`,
);

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

/**
 * The other upstream that a database belongs to; null if it may be used with this one. While it has
 * no orders, it may take another one; while nothing was accepted, another path of the same address:
 * the first one was mistyped.
 */
export function otherUpstream(database: Sqlite, upstream: string): string | null {
  const found = readMeta(database, 'upstream');
  if (found === undefined || found === upstream || newestOrder(database).get() === null)
    return null;
  return originOf(found) === originOf(upstream) && mayHaveBought(database).get() === 0
    ? null
    : found;
}

const idName = 'database_id';

/** The newest row of a table whose rows are never deleted. */
const counts = statementOf<[], Omit<OutboxProgress, 'databaseId'>>(
  `SELECT coalesce((SELECT max(id) FROM attempts), 0) AS attempt, coalesce((SELECT max(id) FROM entries), 0) AS entry,
          coalesce((SELECT max(id) FROM audit), 0) AS decision`,
);

/**
 * Where a database has taken the place of a lost one, the audit log has how far that one had come.
 */
const replaced = columnOf<[], string | null>(
  `SELECT json_extract(detail, '$.replaced') FROM audit WHERE subject = 'outbox' AND action = 'after_loss'
   ORDER BY id DESC LIMIT 1`,
);

export function makeDatabaseId(database: Sqlite): void {
  writeMeta(database, idName, randomBytes(16).toString('hex'));
}

export function makeDatabaseIdOnce(database: Sqlite): void {
  if (readMeta(database, idName) === undefined) makeDatabaseId(database);
}

/**
 * The committed progress. `replaced`: how far the lost outbox had come whose place this database
 * has taken, if known.
 */
export function readProgress(
  database: Sqlite,
): OutboxProgress & { readonly replaced: OutboxProgress | null } {
  const databaseId = readMeta(database, idName);
  const newest = counts(database).get();
  assert(
    databaseId !== undefined && newest !== undefined,
    'a database has its id as soon as it is opened',
  );
  return { databaseId, ...newest, replaced: JSON.parse(replaced(database).get() ?? 'null') };
}
