export const upkeepTasks = ['backup', 'check'] as const;
export type UpkeepTask = (typeof upkeepTasks)[number];

/** How a task of the upkeep ended the last time. */
export interface UpkeepResult {
  readonly atMs: number;
  /** `failed`: it could not be done; `damaged`: the check found damage. */
  readonly outcome: 'done' | 'failed' | 'damaged';
  /** When it was done last, in ms; null: never. */
  readonly doneAtMs: number | null;
  /** A stable name of what went wrong; null: nothing. */
  readonly code: string | null;
}

/** The results of the upkeep, for the next start. */
export interface UpkeepResults {
  last(task: UpkeepTask): Promise<UpkeepResult | null>;
  record(task: UpkeepTask, result: UpkeepResult): Promise<void>;
}
