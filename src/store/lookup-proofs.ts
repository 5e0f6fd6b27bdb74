import { familyOf, operations, type Family } from '../core/operation.ts';
import { inTransaction, statementOf, type Sqlite } from './database.ts';

const families: readonly Family[] = ['gift_card', 'esim'];
const nameOf = (family: Family): string => `lookup_proven:${family}`;

const selectMeta = statementOf<[string], string>('SELECT value FROM meta WHERE name = ?');
const selectBought = statementOf<[string], string>(`
  SELECT reference FROM entries WHERE state = 'fulfilled' AND outcome_row = 'accepted'
    AND operation IN (SELECT value FROM json_each(?)) LIMIT 1`);

/** Whether the lookup path of a family is known to be right: it has found an order of ours at least once. */
export class LookupProofs {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  proven(): readonly Family[] {
    const find = selectMeta(this.#database).pluck();
    return families.filter((family) => find.get(nameOf(family)) !== undefined);
  }

  prove(family: Family): void {
    inTransaction(this.#database, () => {
      this.#database
        .prepare("INSERT INTO meta (name, value) VALUES (?, 'yes') ON CONFLICT DO NOTHING")
        .run(nameOf(family));
    });
  }

  boughtReference(family: Family): string | null {
    // A top-up is an order too, but whether a lookup shows it is a guess of its own.
    const placing = operations.filter((operation) => familyOf(operation) === family && operation.endsWith('_order'));
    // What only a person says was bought may be missing at the API for a good reason, and would prove nothing.
    const found = selectBought(this.#database).pluck().get(JSON.stringify(placing));
    return found ?? null;
  }
}
