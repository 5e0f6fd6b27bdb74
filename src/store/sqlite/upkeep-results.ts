import { z } from 'zod';
import { readMeta, writeMeta } from './meta.ts';
import { OutboxSteps } from './outbox.ts';

export const upkeepTasks = ['backup', 'check'] as const;
export type UpkeepTask = (typeof upkeepTasks)[number];

const resultSchema = z.object({
  atMs: z.number(),
  /** `failed`: it could not be done; `damaged`: the check found damage. */
  outcome: z.enum(['done', 'failed', 'damaged']),
  doneAtMs: z.number().nullable(),
  /** A stable name of what went wrong; null: nothing. */
  code: z.string().nullable(),
});

/** How a task of the upkeep ended the last time. */
export type UpkeepResult = Readonly<z.infer<typeof resultSchema>>;

/** The results of the upkeep, for the next start. A backup has those of before it was made. */
export class UpkeepResults extends OutboxSteps {
  async last(task: UpkeepTask): Promise<UpkeepResult | null> {
    const text = readMeta(this.database, `upkeep_${task}`);
    return text === undefined ? null : resultSchema.parse(JSON.parse(text));
  }

  readonly record = this.step(({ database }, task: UpkeepTask, result: UpkeepResult) =>
    writeMeta(database, `upkeep_${task}`, JSON.stringify(result)),
  );
}
