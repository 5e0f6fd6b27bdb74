import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { OrderSyncError, type OrderSyncErrorCode } from '../../core/order-sync-error.ts';
import type { backUpDatabase, BackupSettings, RestoreSettings } from './backup.ts';
import type { inspectDatabase } from './inspect.ts';

export type UpkeepOrder =
  | ({ readonly task: 'backup'; readonly path: string } & BackupSettings)
  | { readonly task: 'restore'; readonly path: string; readonly from: RestoreSettings }
  | { readonly task: 'check'; readonly path: string; readonly isQuick: boolean };

type Backup = ReturnType<typeof backUpDatabase>;
type Inspection = ReturnType<typeof inspectDatabase>;

export type UpkeepAnswer =
  | { readonly kind: 'backup'; readonly backup: Backup }
  | { readonly kind: 'restore'; readonly replaced: string | null }
  | { readonly kind: 'check'; readonly inspection: Inspection }
  | {
      readonly kind: 'failed';
      readonly code: OrderSyncErrorCode | null;
      readonly message: string;
      readonly hint: string | null;
    };

/**
 * As `backUpDatabase`, in a process of its own: this one continues meanwhile.
 * @param signal ends that process at once; what it has not finished is removed by the next backup
 */
export async function backUpInProcess(path: string, settings: BackupSettings, signal: AbortSignal): Promise<Backup> {
  const answer = await run({ task: 'backup', path, ...settings }, signal);
  if (answer.kind === 'backup') return answer.backup;
  throw failure(answer);
}

/** As `restoreDatabase`, in a process of its own. */
export async function restoreInProcess(
  path: string,
  from: RestoreSettings,
  signal: AbortSignal,
): Promise<string | null> {
  const answer = await run({ task: 'restore', path, from }, signal);
  if (answer.kind === 'restore') return answer.replaced;
  throw failure(answer);
}

/** As `inspectDatabase`, in a process of its own. */
export async function inspectInProcess(path: string, isQuick: boolean, signal: AbortSignal): Promise<Inspection> {
  const answer = await run({ task: 'check', path, isQuick }, signal);
  if (answer.kind === 'check') return answer.inspection;
  throw failure(answer);
}

/** In the bundle it is a file of its own, beside that of the program. */
function programOf(): string {
  const source = join(import.meta.dirname, 'upkeep-process.ts');
  return existsSync(source) ? source : join(import.meta.dirname, '../../upkeep-process.js');
}

async function run(order: UpkeepOrder, signal: AbortSignal): Promise<UpkeepAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpkeepAnswer>();
  const child = fork(programOf(), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  });
  child.once('message', (answer: UpkeepAnswer) => resolve(answer));
  child.once('error', reject);
  child.once('exit', (code, killedBy) =>
    reject(new Error(`the process of the upkeep ended without an answer (${killedBy ?? `exit code ${code}`})`)),
  );
  if (child.pid !== undefined) lowerPriority(child.pid);
  child.send(order, (error) => {
    if (error !== null) reject(error);
  });
  return await promise;
}

/** The worker comes first. Where the system does not allow that, both have the same priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // Only slower.
  }
}

function failure(answer: UpkeepAnswer): Error {
  if (answer.kind !== 'failed') return new Error(`the process of the upkeep answered ${answer.kind}`);
  const { code, message, hint } = answer;
  if (code === null) return new Error(message);
  return new OrderSyncError(code, message, hint === null ? {} : { hint });
}
