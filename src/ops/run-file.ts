import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './atomic-file.ts';

const runFileSchema = z.object({
  pid: z.int(),
  started_at: z.string(),
  version: z.string(),
  /** `host:port`, as it really listens. */
  admin_address: z.string(),
  /** What a command must carry to be taken by this run. Absent: it takes none. */
  control_token: z.string().optional(),
});

/** What a running worker tells the command line about itself. A hint only: the lock says who runs, not this file. */
export type RunFile = z.infer<typeof runFileSchema>;

const nameIn = (dataDir: string): string => join(dataDir, 'run.json');

/** Written whole or not at all, for the worker's user alone. Replaces the file of a worker that was killed. */
export async function writeRunFile(dataDir: string, run: RunFile): Promise<void> {
  await writeFileAtomically(nameIn(dataDir), `${JSON.stringify(run, null, 2)}\n`);
}

/** The file of the last start, or null. It may outlive its worker: ask the address before believing it. */
export function readRunFile(dataDir: string): RunFile | null {
  try {
    const parsed = runFileSchema.safeParse(JSON.parse(readFileSync(nameIn(dataDir), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Removes the file of this process; that of a successor stays. */
export function removeRunFile(dataDir: string, pid: number): void {
  if (readRunFile(dataDir)?.pid === pid) rmSync(nameIn(dataDir), { force: true });
}
