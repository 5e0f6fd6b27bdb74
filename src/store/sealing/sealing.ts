import { randomBytes } from 'node:crypto';
import { assert, hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { nonceBytes, type SealKeys } from '../../core/sealing/seal-keys.ts';
import { columnOf, inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import { readMeta, writeMeta } from '../sqlite/meta.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';

export interface SealProgress {
  readonly sealed: number;
  /** References whose units could not be opened. They stay as they are. */
  readonly unreadable: readonly string[];
  readonly more: boolean;
}

interface SealUsage {
  /** The id of the key; null: the units are in clear. */
  readonly key: string | null;
  readonly entries: number;
}

interface UnsealedRow {
  readonly id: number;
  readonly reference: string;
  readonly units: string;
}

/** More damaged entries than this need an operator, not another try. */
const mostUnreadable = 1000;

// Three ranges of one index: values in clear, and values under keys before and after the first one.
const selectNext = statementOf<{ key: string; skipped: string; limit: number }, UnsealedRow>(
  ['sealed_by IS NULL', 'sealed_by < :key', 'sealed_by > :key']
    .map(
      (range) => `SELECT id, reference, units FROM entries WHERE units IS NOT NULL AND ${range}
        AND id NOT IN (SELECT value FROM json_each(:skipped))`,
    )
    .join(' UNION ALL ')
    .concat(' LIMIT :limit'),
);
const update = statementOf<{ id: number; before: string; units: string; key: string }, never>(
  'UPDATE entries SET units = :units, sealed_by = :key WHERE id = :id AND units = :before',
);
// Reads an index with one row for each entry that has units.
const selectUsage = statementOf<[], SealUsage>(
  'SELECT sealed_by AS key, count(*) AS entries FROM entries WHERE units IS NOT NULL GROUP BY sealed_by',
);

export function readSealUsage(database: Sqlite): readonly SealUsage[] {
  return selectUsage(database).all();
}

export class Sealing extends OutboxSteps {
  readonly #unreadable = new Set<number>();

  get sealsWith(): string | null {
    return this.outbox.units.sealsWith;
  }

  /**
   * Seals units that are in clear, or that another key sealed, with the first key, in one
   * transaction. Does nothing without a key. Continues where any earlier call ended, also that of a
   * process that was killed.
   */
  async sealNext(limit: number): Promise<SealProgress> {
    const key = this.sealsWith;
    if (key === null || this.#unreadable.size >= mostUnreadable)
      return { sealed: 0, unreadable: [], more: false };
    return inTransaction(this.database, () => {
      const skipped = JSON.stringify([...this.#unreadable]);
      const rows = selectNext(this.database).all({ key, skipped, limit });
      const unreadable = rows
        .filter((row) => !this.#sealAgain(row, key))
        .map(({ reference }) => reference);
      return { sealed: rows.length - unreadable.length, unreadable, more: rows.length === limit };
    });
  }

  #sealAgain({ id, reference, units: before }: UnsealedRow, key: string): boolean {
    try {
      const units = this.outbox.units.sealAgain({ reference, units: before });
      const { changes } = update(this.database).run({ id, before, units, key });
      assert(changes === 1, `the units of ${reference} are those that were read`);
      return true;
    } catch (error) {
      if (!hasCode(error, 'SEALED_UNREADABLE')) throw error;
      this.#unreadable.add(id);
      return false;
    }
  }

  /**
   * Moves the write-ahead log into the database and empties it: it has what was replaced until
   * then. False while somebody reads the database: try again later.
   */
  async emptyLog(): Promise<boolean> {
    const wait = this.database.pragma('busy_timeout', { simple: true });
    // The worker must not wait for readers: it does no other work meanwhile.
    this.database.pragma('busy_timeout = 0');
    try {
      return this.database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
    } finally {
      this.database.pragma(`busy_timeout = ${Number(wait)}`);
    }
  }
}

const checked = 'order-sync';

// From one key to the next by the index: the cost is the number of keys, not that of entries.
const keysInUse = columnOf<[], string>(`
  WITH RECURSIVE used (key) AS (
    SELECT min(sealed_by) FROM entries WHERE units IS NOT NULL AND sealed_by > ''
    UNION ALL
    SELECT (SELECT min(sealed_by) FROM entries WHERE units IS NOT NULL AND sealed_by > used.key) FROM used WHERE used.key IS NOT NULL)
  SELECT key FROM used WHERE key IS NOT NULL`);
const countOfKey = columnOf<[string], number>(
  'SELECT count(*) FROM entries WHERE units IS NOT NULL AND sealed_by = ?',
);

/**
 * Checks that the configured keys open what is sealed in the database. A worker that cannot read
 * what it bought could neither judge nor deliver it, so it does not start.
 * @throws OrderSyncError SEAL_KEY_MISSING, SEAL_KEY_CHANGED
 */
export function checkSealKeys(database: Sqlite, keys: SealKeys): void {
  for (const id of keysInUse(database).all()) {
    if (keys.ids.includes(id)) continue;
    const count = countOfKey(database).get(id);
    const message = `The codes of ${count} entries are sealed with the key "${id}", which is not in seal.keys`;
    throw new OrderSyncError('SEAL_KEY_MISSING', message, {
      hint: 'put this key back from your copy. Remove a key only when `order-sync seal rotate --dry-run` shows no entry that is sealed with it. Lost keys: docs/sealing.md',
    });
  }
  inTransaction(database, () => {
    for (const id of keys.ids) checkValue(database, keys, id);
  });
}

/**
 * The database keeps a text that each key has sealed: a wrong value under a known id is noticed
 * before it seals anything.
 */
function checkValue(database: Sqlite, keys: SealKeys, id: string): void {
  const name = `seal_check:${id}`;
  const at = { reference: id, place: 'seal_check' };
  const known = readMeta(database, name);
  if (known === undefined)
    return writeMeta(database, name, keys.seal(checked, at, randomBytes(nonceBytes), id));
  try {
    keys.open(known, at);
  } catch (error) {
    if (!hasCode(error, 'SEALED_UNREADABLE')) throw error;
    throw new OrderSyncError(
      'SEAL_KEY_CHANGED',
      `The sealing key "${id}" has another value than before`,
      {
        hint: 'put the value back from your copy; a new key needs a new id and must be the first in seal.keys',
      },
    );
  }
}
