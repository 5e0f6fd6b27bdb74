import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { CheckStatus } from '../admin/health-server.ts';
import type { Config } from '../config/config.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { messageOf } from '../core/message-text.ts';
import { codeOf } from '../core/order-sync-error.ts';
import { namespaceFingerprint, type ReferenceNamespace } from '../core/order/reference.ts';
import type { OutboxProgress } from '../core/outbox-progress.ts';
import { writeFileAtomically } from '../ops/files.ts';
import { Loop } from '../ops/loop.ts';
import type { Store } from '../store/store.ts';

const about =
  'The last numbers of the outbox. By this file the worker notices that a database is an older copy. Never restore this file from a backup.';

const count = z.int().min(0);
const schema = z.object({
  database_id: z.string().min(1).max(64),
  attempt: count,
  entry: count,
  decision: count,
});

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
  read: () => {
    try {
      const { database_id: databaseId, ...counts } = schema.parse(
        JSON.parse(readFileSync(path, 'utf8')),
      );
      return { kind: 'read', progress: { databaseId, ...counts } };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return { kind: 'missing' };
      const isOurs = !(error instanceof z.ZodError || error instanceof SyntaxError);
      return {
        kind: 'unreadable',
        message: isOurs ? messageOf(error) : 'the content is not what the worker wrote',
      };
    }
  },
  write: async ({ databaseId, attempt, entry, decision }, writtenAt) => {
    const content = {
      about,
      database_id: databaseId,
      attempt,
      entry,
      decision,
      written_at: writtenAt,
    };
    await writeFileAtomically(path, `${JSON.stringify(content, null, 2)}\n`);
  },
});

/**
 * The progress file of an installation. Two that share a reference secret on purpose, such as a
 * sandbox and a production worker, have files of their own: the name depends on the instance, the
 * prefix and the upstream.
 */
export function progressFilePath(
  { reference, wholesale }: Config,
  namespace: ReferenceNamespace,
): string {
  const identity = createHash('sha256').update(
    `${namespaceFingerprint(namespace)}\n${wholesale.upstream}`,
  );
  const name = `${basename(reference.secretFile)}.${identity.digest('hex').slice(0, 12)}.progress`;
  return join(reference.progressFolder, name);
}

const everyMs = 1000;
const reminderMs = 3_600_000;

export interface KeeperDeps {
  readonly store: Pick<Store, 'progress'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often the file is written at most. Default: 1 s. */
  readonly progressEveryMs?: number;
}

/**
 * Keeps the progress file up to date. It is written after the commits that it counts, never before,
 * so it is never ahead of the database. Nothing waits for it: when it cannot be written, a warning
 * is in the log and in health, and orders are bought as before.
 */
export class ProgressKeeper {
  readonly #file: ProgressPort;
  readonly #deps: KeeperDeps;
  readonly #loop: Loop;
  #writing: Promise<void> = Promise.resolve();
  #written = '';
  /** When the log last said that the file cannot be written; null while it can. */
  #warnedMs: number | null = null;

  constructor(file: ProgressPort, deps: KeeperDeps) {
    this.#file = file;
    this.#deps = deps;
    const round = async (): Promise<number> => {
      await this.write();
      return deps.progressEveryMs ?? everyMs;
    };
    this.#loop = new Loop({ clock: deps.clock, round, endsWithRound: true });
  }

  read(): ProgressReading {
    return this.#file.read();
  }

  health(): CheckStatus {
    return this.#warnedMs === null ? 'pass' : 'warn';
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Writes the file if the outbox has come further since the last time. Never rejects. */
  write(): Promise<void> {
    // One at a time: all of them use the same draft.
    this.#writing = this.#writing.then(() => this.#writeNow());
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    const { store, clock, logger } = this.#deps;
    try {
      const { replaced: _, ...progress } = await store.progress();
      const text = JSON.stringify(progress);
      if (text === this.#written) return;
      await this.#file.write(progress, isoTime(clock.wallMs()));
      this.#written = text;
      if (this.#warnedMs !== null)
        logger.info({ file: this.#file.path }, 'the progress file can be written again');
      this.#warnedMs = null;
    } catch (error) {
      const steadyMs = clock.steadyMs();
      if (this.#warnedMs !== null && steadyMs - this.#warnedMs < reminderMs) return;
      this.#warnedMs = steadyMs;
      const advice = 'Make the folder of this file writable, or set reference.progress_folder';
      const problem =
        'the progress file cannot be written: the worker could miss that a database is an older copy';
      logger.warn({ file: this.#file.path, error: messageOf(error) }, `${problem}. ${advice}`);
    }
  }
}
