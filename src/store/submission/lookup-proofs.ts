import { lookedUpKinds, type LookedUp, type Operation } from '../../core/order/operation.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import { readMeta, writeMeta } from '../sqlite/meta.ts';
import type { LookupProof, LookupProofs } from './submission.ts';

const nameOf = (kind: LookedUp): string => `lookup_proven:${kind}`;

/**
 * An order that was surely bought: `outcome_row` says that the API accepted it. An order that only a person resolved may
 * be missing at the API, and so may one of years ago, or the very last one, which a lookup may not show yet. This query
 * runs on every turn of the loop and costs nothing, by the index that it names.
 */
export const boughtOrderSql = `SELECT reference FROM (
    SELECT id, reference FROM entries INDEXED BY entries_bought
    WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = ? ORDER BY id DESC LIMIT 20)
  ORDER BY id LIMIT 1`;

const operationOf: Readonly<Record<LookedUp, Operation>> = {
  gift_card: 'gift_card_order',
  esim: 'esim_order',
  esim_topup: 'esim_topup',
};

/** Which lookup paths are proven: they have found an order of ours at least once. */
export class SqliteLookupProofs implements LookupProofs {
  readonly #database: Sqlite;
  readonly #selectBought;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#selectBought = database.prepare<[Operation], string>(boughtOrderSql).pluck();
  }

  async proven(): Promise<readonly LookupProof[]> {
    return lookedUpKinds.flatMap((kind) => {
      const path = readMeta(this.#database, nameOf(kind));
      return path === undefined ? [] : [{ kind, path }];
    });
  }

  async prove({ kind, path }: LookupProof): Promise<void> {
    inTransaction(this.#database, () => writeMeta(this.#database, nameOf(kind), path));
  }

  async boughtReference(kind: LookedUp): Promise<string | null> {
    return this.#selectBought.get(operationOf[kind]) ?? null;
  }
}
