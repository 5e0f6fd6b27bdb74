import type { Family, Operation } from '../core/operation.ts';
import { inTransaction, statementOf, type Sqlite } from './database.ts';
import type { LookupProof } from './store.ts';

const families: readonly Family[] = ['gift_card', 'esim'];
const nameOf = (family: Family): string => `lookup_proven:${family}`;

const selectMeta = statementOf<[string], string>('SELECT value FROM meta WHERE name = ?');

/**
 * An order that was surely bought. What only a person says was bought may be missing at the API for a good reason, and
 * would prove nothing. The index that this names is why it costs nothing on every turn of the loop.
 */
export const boughtOrderSql = `SELECT reference FROM entries INDEXED BY entries_bought
  WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = ? LIMIT 1`;

/** Whether the lookup path of a family is known to be right: it has found an order of ours at least once. */
export class LookupProofs {
  readonly #database: Sqlite;
  readonly #bought;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#bought = database.prepare<[Operation], string>(boughtOrderSql).pluck();
  }

  proven(): readonly LookupProof[] {
    const find = selectMeta(this.#database).pluck();
    return families.flatMap((family) => {
      const path = find.get(nameOf(family));
      return path === undefined ? [] : [{ family, path }];
    });
  }

  prove({ family, path }: LookupProof): void {
    inTransaction(this.#database, () => {
      this.#database
        .prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
        .run(nameOf(family), path);
    });
  }

  boughtReference(family: Family): string | null {
    // A top-up is an order too, but whether a lookup shows it is a guess of its own.
    const placing: Operation = family === 'gift_card' ? 'gift_card_order' : 'esim_order';
    return this.#bought.get(placing) ?? null;
  }
}
