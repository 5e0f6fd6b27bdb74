import { join } from 'node:path';
import { ownProcess } from '../ops/own-process.ts';
import type { UpkeepJobs } from './upkeep-process.ts';

/** SQLite reads the whole database in one call. What its process has not finished is removed by the next backup. */
export const runUpkeep = ownProcess<UpkeepJobs>(join(import.meta.dirname, 'upkeep-process.ts'));
