import { z } from 'zod';
import type { UpkeepResult, UpkeepResults, UpkeepTask } from '../upkeep-results.ts';
import { inTransaction, type Sqlite } from './database.ts';
import { readMeta, writeMeta } from './meta.ts';

const resultSchema = z.object({
  atMs: z.number(),
  outcome: z.enum(['done', 'failed', 'damaged']),
  doneAtMs: z.number().nullable(),
  code: z.string().nullable(),
});

/** The results of the upkeep, in the database itself. A backup has those of before it was made. */
export class SqliteUpkeepResults implements UpkeepResults {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  async last(task: UpkeepTask): Promise<UpkeepResult | null> {
    const text = readMeta(this.#database, `upkeep_${task}`);
    return text === undefined ? null : resultSchema.parse(JSON.parse(text));
  }

  async record(task: UpkeepTask, result: UpkeepResult): Promise<void> {
    inTransaction(this.#database, () => writeMeta(this.#database, `upkeep_${task}`, JSON.stringify(result)));
  }
}
