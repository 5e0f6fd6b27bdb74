import { fork, type ForkOptions, type StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';
import { messageOf } from '../core/message-text.ts';
import { OrderSyncError, type OrderSyncErrorCode } from '../core/order-sync-error.ts';

type Jobs = Readonly<Record<string, (...values: never[]) => unknown>>;
type Failure = Pick<OrderSyncError, 'message' | 'hint'> & {
  readonly code: OrderSyncErrorCode | undefined;
};
type Answer<Result> = { readonly result: Result } | { readonly failed: Failure };

/**
 * Does each job in a process of its own: this one continues meanwhile. It rejects with the error of
 * that process.
 * @param program the source file of the program, which calls `answerOneJob`. In the bundle it is a
 * file beside the program
 * @returns takes values that are sent as JSON, as is the result, and a signal that ends that
 * process at once
 */
export function ownProcess<All extends Jobs>(program: string) {
  const bundled = join(import.meta.dirname, '..', `${basename(program, '.ts')}.js`);
  const stdio: StdioOptions = ['ignore', 'ignore', 'ignore', 'ipc'];
  return async <Job extends keyof All>(
    job: Job,
    values: Parameters<All[Job]>,
    signal?: AbortSignal,
  ) => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer<ReturnType<All[Job]>>>();
    const options: ForkOptions = {
      execArgv: ['--disable-sigusr1'],
      stdio,
      killSignal: 'SIGKILL',
      ...(signal && { signal }),
    };
    const child = fork(existsSync(program) ? program : bundled, [], options);
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code, killedBy) =>
      reject(new Error(`the process ended without an answer (${killedBy ?? `exit code ${code}`})`)),
    );
    child.send({ job, values }, (error) => error !== null && reject(error));
    const answer = await promise;
    if (!('failed' in answer)) return answer.result;
    const { code, message, hint } = answer.failed;
    throw code === undefined ? new Error(message) : new OrderSyncError(code, message, { hint });
  };
}

/** The other side: performs the one job of this process, and ends it. */
export function answerOneJob(jobs: Jobs): void {
  process.once('message', ({ job, values }: { job: string; values: never[] }) => {
    process.send?.(answerTo(jobs, job, values), () => process.disconnect());
  });
}

function answerTo(jobs: Jobs, job: string, values: never[]): Answer<unknown> {
  try {
    return { result: jobs[job]?.(...values) };
  } catch (error) {
    const { code, hint }: Partial<OrderSyncError> = error instanceof OrderSyncError ? error : {};
    return { failed: { message: messageOf(error), code, hint } };
  }
}
