import { constants, setPriority } from 'node:os';
import { answerOneJob } from '../ops/own-process.ts';
import { backUpDatabase, restoreDatabase } from '../store/sqlite/backup.ts';
import { inspectDatabase } from '../store/sqlite/inspect.ts';

const jobs = { backup: backUpDatabase, restore: restoreDatabase, check: inspectDatabase };
export type UpkeepJobs = typeof jobs;

try {
  // The worker comes first. Where the system does not allow that, both have the same priority.
  setPriority(constants.priority.PRIORITY_LOW);
} catch {
  // Only slower.
}
answerOneJob(jobs);
