import { assert, hasCode } from '../../core/order-sync-error.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';
import type { SealProgress, Sealing } from './sealing.ts';

interface UnsealedRow {
  readonly id: number;
  readonly reference: string;
  readonly units: string;
}

/** More damaged entries than this need a person, not another try. */
const mostUnreadable = 1000;

// Three ranges of one index: what is in clear, and what the keys before and after the first one have sealed.
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

/** Seals what is in clear, and what other keys have sealed. */
export class SqliteSealing implements Sealing {
  readonly #database: Sqlite;
  readonly #units: SealedUnits;
  readonly #unreadable = new Set<number>();

  constructor(database: Sqlite, units: SealedUnits) {
    this.#database = database;
    this.#units = units;
  }

  get sealsWith(): string | null {
    return this.#units.sealsWith;
  }

  async sealNext(limit: number): Promise<SealProgress> {
    const key = this.sealsWith;
    if (key === null || this.#unreadable.size >= mostUnreadable) return { sealed: 0, unreadable: [], more: false };
    return inTransaction(this.#database, () => {
      const skipped = JSON.stringify([...this.#unreadable]);
      const rows = selectNext(this.#database).all({ key, skipped, limit });
      const unreadable = rows.filter((row) => !this.#sealAgain(row, key)).map(({ reference }) => reference);
      return { sealed: rows.length - unreadable.length, unreadable, more: rows.length === limit };
    });
  }

  /** False for units that cannot be opened. */
  #sealAgain({ id, reference, units: before }: UnsealedRow, key: string): boolean {
    try {
      const units = this.#units.sealAgain({ reference, units: before });
      const { changes } = update(this.#database).run({ id, before, units, key });
      assert(changes === 1, `the units of ${reference} are those that were read`);
      return true;
    } catch (error) {
      if (!hasCode(error, 'SEALED_UNREADABLE')) throw error;
      this.#unreadable.add(id);
      return false;
    }
  }

  async emptyLog(): Promise<boolean> {
    const wait = this.#database.pragma('busy_timeout', { simple: true });
    // The worker must not wait for whoever reads: nothing else is done meanwhile.
    this.#database.pragma('busy_timeout = 0');
    try {
      return this.#database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
    } finally {
      this.#database.pragma(`busy_timeout = ${Number(wait)}`);
    }
  }
}
