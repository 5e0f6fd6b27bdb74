import { lookedUpKinds, type LookedUp, type Operation } from '../../core/order/operation.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { LookupProof, LookupProofs } from './submission.ts';

const nameOf = (kind: LookedUp): string => `lookup_proven:${kind}`;

const selectMeta = statementOf<[string], string>('SELECT value FROM meta WHERE name = ?');

/**
 * An order that was surely bought. What only a person says was bought may be missing at the API for a good reason, and
 * would prove nothing; so may one of years ago, and the very last one, which a lookup may not show yet. The index that
 * this names is why it costs nothing on every turn of the loop.
 */
export const boughtOrderSql = `SELECT reference FROM (
    SELECT id, reference FROM entries INDEXED BY entries_bought
    WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = ? ORDER BY id DESC LIMIT 20)
  ORDER BY id LIMIT 1`;

const bringingIn: Readonly<Record<LookedUp, Operation>> = {
  gift_card: 'gift_card_order',
  esim: 'esim_order',
  esim_topup: 'esim_topup',
};

/** Whether the lookup path of a kind is known to be right: it has found an order of ours at least once. */
export class SqliteLookupProofs implements LookupProofs {
  readonly #database: Sqlite;
  readonly #bought;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#bought = database.prepare<[Operation], string>(boughtOrderSql).pluck();
  }

  async proven(): Promise<readonly LookupProof[]> {
    const find = selectMeta(this.#database).pluck();
    return lookedUpKinds.flatMap((kind) => {
      const path = find.get(nameOf(kind));
      return path === undefined ? [] : [{ kind, path }];
    });
  }

  async prove({ kind, path }: LookupProof): Promise<void> {
    inTransaction(this.#database, () => {
      this.#database
        .prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
        .run(nameOf(kind), path);
    });
  }

  async boughtReference(kind: LookedUp): Promise<string | null> {
    return this.#bought.get(bringingIn[kind]) ?? null;
  }
}
