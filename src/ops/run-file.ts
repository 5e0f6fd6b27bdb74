import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './files.ts';

const runFileSchema = z.object({
  pid: z.int(),
  started_at: z.string(),
  version: z.string(),
  /** `host:port`, with the port that the system assigned. */
  admin_address: z.string(),
  /** Commands must send this token. Absent: the worker accepts no commands. */
  control_token: z.string().optional(),
});

/**
 * How the command line finds a running worker. A hint only: whether a worker runs, its database
 * lock decides.
 */
type RunFile = z.infer<typeof runFileSchema>;

const nameIn = (dataDir: string): string => join(dataDir, 'run.json');

/** Replaces the file of a worker that was killed. Only the worker's user may read it. */
export async function writeRunFile(dataDir: string, run: RunFile): Promise<void> {
  await writeFileAtomically(nameIn(dataDir), `${JSON.stringify(run, null, 2)}\n`);
}

/**
 * The file of the last start, or null. Its worker may have been killed since: check that it
 * answers.
 */
export function readRunFile(dataDir: string): RunFile | null {
  try {
    const parsed = runFileSchema.safeParse(JSON.parse(readFileSync(nameIn(dataDir), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Removes the file if it is that of this process, and not of a later worker. */
export function removeRunFile(dataDir: string, pid: number): void {
  if (readRunFile(dataDir)?.pid === pid) rmSync(nameIn(dataDir), { force: true });
}
