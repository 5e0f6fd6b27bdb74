import { join } from 'node:path';
import { ownProcess } from '../ops/own-process.ts';
import type { UpkeepJobs } from './upkeep-process.ts';

/**
 * SQLite reads the whole database in one call. The next backup removes what this process has not
 * finished.
 */
export const runUpkeep = ownProcess<UpkeepJobs>(join(import.meta.dirname, 'upkeep-process.ts'));
