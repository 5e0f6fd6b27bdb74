import { z } from 'zod';
import { inTransaction, type Sqlite } from './database.ts';
import { readMeta, writeMeta } from './meta.ts';

export const upkeepTasks = ['backup', 'check'] as const;
export type UpkeepTask = (typeof upkeepTasks)[number];

const resultSchema = z.object({
  atMs: z.number(),
  /** `failed`: it could not be done; `damaged`: the check found damage. */
  outcome: z.enum(['done', 'failed', 'damaged']),
  /** When it was done last, in ms; null: never. */
  doneAtMs: z.number().nullable(),
  /** A stable name of what went wrong; null: nothing. */
  code: z.string().nullable(),
});

/** How a task of the upkeep ended the last time. */
export type UpkeepResult = Readonly<z.infer<typeof resultSchema>>;

/** The results of the upkeep, for the next start. A backup has those of before it was made. */
export class UpkeepResults {
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
