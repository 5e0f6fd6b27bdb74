import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { OutboxProgress } from '../core/outbox-progress.ts';
import { namespaceFingerprint, type ReferenceNamespace } from '../core/order/reference.ts';
import { writeFileAtomically } from '../ops/files.ts';
import type { Config } from './config.ts';

const about =
  'How far the outbox has come. By this file the worker notices that a database is an older copy: never restore it from a backup.';

const count = z.int().min(0);
const schema = z.object({ database_id: z.string().min(1).max(64), attempt: count, entry: count, decision: count });

export type ProgressReading =
  | { readonly kind: 'read'; readonly progress: OutboxProgress }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Where the progress of an outbox is kept; the simulation keeps it in memory. */
export interface ProgressPort {
  /** Names the place in the log. */
  readonly path: string;
  /** Never throws: the only loss is this sign of an older copy. */
  read(): ProgressReading;
  /** Replaces the file in one step. Rejects with the error of the disk. */
  write(progress: OutboxProgress, writtenAt: string): Promise<void>;
}

export const progressFile = (path: string): ProgressPort => ({
  path,
  read: () => readProgressFile(path),
  write: (progress, writtenAt) => writeProgressFile(path, progress, writtenAt),
});

/**
 * The progress file of an installation. Two that share a reference secret on purpose, such as a sandbox and a production
 * worker, have files of their own: the name depends on the instance, the prefix and the upstream.
 */
export function progressFilePath({ reference, wholesale }: Config, namespace: ReferenceNamespace): string {
  const identity = createHash('sha256').update(`${namespaceFingerprint(namespace)}\n${wholesale.upstream}`);
  const name = `${basename(reference.secretFile)}.${identity.digest('hex').slice(0, 12)}.progress`;
  return join(reference.progressFolder, name);
}

function readProgressFile(path: string): ProgressReading {
  try {
    const { database_id: databaseId, ...counts } = schema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return { kind: 'read', progress: { databaseId, ...counts } };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      return { kind: 'unreadable', message: 'it is not what the worker wrote' };
    return { kind: 'unreadable', message: error instanceof Error ? error.message : String(error) };
  }
}

async function writeProgressFile(path: string, progress: OutboxProgress, writtenAt: string): Promise<void> {
  const { databaseId, attempt, entry, decision } = progress;
  const content = { about, database_id: databaseId, attempt, entry, decision, written_at: writtenAt };
  await writeFileAtomically(path, `${JSON.stringify(content, null, 2)}\n`);
}
