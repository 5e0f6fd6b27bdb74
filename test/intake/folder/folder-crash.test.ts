import { afterEach, beforeEach, describe } from 'vitest';
import { CrashFile, diesAtEachCall } from './crash-file.ts';
import { FolderBench } from './folder-bench.ts';

let bench: FolderBench;
beforeEach(async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
});
afterEach(() => bench.close());

/** In one batch. With many lines, in several batches: folder-crash-batches.test.ts. */
describe('a file of which every line is taken in exactly once although the process died', () => {
  diesAtEachCall(new CrashFile(36), 7, () => bench);
});
