import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { OrderSyncError, type OrderSyncErrorCode } from '../../core/order-sync-error.ts';
import type { backUpDatabase, restoreDatabase } from './backup.ts';
import type { inspectDatabase } from './inspect.ts';

interface Jobs {
  backup: typeof backUpDatabase;
  restore: typeof restoreDatabase;
  check: typeof inspectDatabase;
}

export type UpkeepOrder = {
  [Job in keyof Jobs]: { readonly job: Job; readonly values: Parameters<Jobs[Job]> };
}[keyof Jobs];

export type UpkeepAnswer<Result> =
  | { readonly result: Result }
  | { readonly failed: { readonly code?: OrderSyncErrorCode; readonly message: string; readonly hint?: string } };

/**
 * Does one job in a process of its own: this one continues meanwhile.
 * @param signal ends that process at once; what it has not finished is removed by the next backup
 */
export async function runUpkeep<Job extends keyof Jobs>(
  job: Job,
  values: Parameters<Jobs[Job]>,
  signal: AbortSignal,
): Promise<ReturnType<Jobs[Job]>> {
  const { promise, resolve, reject } = Promise.withResolvers<UpkeepAnswer<ReturnType<Jobs[Job]>>>();
  const child = fork(programOf(), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  });
  child.once('message', (answer: UpkeepAnswer<ReturnType<Jobs[Job]>>) => resolve(answer));
  child.once('error', reject);
  child.once('exit', (code, killedBy) =>
    reject(new Error(`the process of the upkeep ended without an answer (${killedBy ?? `exit code ${code}`})`)),
  );
  try {
    // The worker comes first. Where the system does not allow that, both have the same priority.
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  } catch {
    // Only slower.
  }
  child.send({ job, values }, (error) => {
    if (error !== null) reject(error);
  });
  const answer = await promise;
  if (!('failed' in answer)) return answer.result;
  const { code, message, ...options } = answer.failed;
  throw code === undefined ? new Error(message) : new OrderSyncError(code, message, options);
}

/** In the bundle it is a file of its own, beside that of the program. */
function programOf(): string {
  const source = join(import.meta.dirname, 'upkeep-process.ts');
  return existsSync(source) ? source : join(import.meta.dirname, '../../upkeep-process.js');
}
