import { userInfo } from 'node:os';
import { z } from 'zod';
import { controlMark, controlPath, reloadPath } from '../admin/control-routes.ts';
import { performWithoutWorker } from '../app/work-without-worker.ts';
import type { Config } from '../config/config.ts';
import {
  commandResultSchema,
  isCalling,
  type CommandResult,
  type ExplainCommand,
  type OperatorCommand,
} from '../core/entry/operator-command.ts';
import { hasCode, OrderSyncError } from '../core/order-sync-error.ts';
import { createLogger } from '../ops/logger.ts';
import { systemRandom } from '../ops/system-clock.ts';
import { programVersion } from '../ops/program-version.ts';
import { readRunFile } from '../ops/run-file.ts';
import type { CliContext } from './context.ts';
import { isErrorCode } from './errors.ts';

/** The worker commits within a few ms; a disk that takes this long is ill. */
const answerWithinMs = 20_000;
/** Calls to others take as long as the others take. */
const callsWithinMs = 290_000;
/** A worker that starts holds the outbox before it listens, and one that stops holds it after. */
const patience = { tries: 20, everyMs: 250 };

/** Who acts, for the audit log: the user of this machine. */
export function cliActor(): string {
  try {
    return `cli:${userInfo().username}`.slice(0, 100);
  } catch {
    // A container may run as a user that has no name.
    return 'cli:unknown';
  }
}

/**
 * Has a command done: by the running worker, which is the only writer of its outbox, or, when the lock proves that no
 * worker runs, by this process.
 * @throws OrderSyncError what the step refuses; UNREACHABLE when a worker holds the outbox and does not answer
 */
export async function sendCommand(
  config: Config,
  command: Exclude<OperatorCommand, ExplainCommand>,
  context: CliContext,
): Promise<CommandResult> {
  for (let tries = 1; ; tries += 1) {
    const answered = await askWorker(config, command);
    if (answered !== null) return answered;
    try {
      return await performHere(config, command, context);
    } catch (error) {
      if (!hasCode(error, 'DATABASE_LOCKED')) throw error;
      if (tries < patience.tries) {
        await context.clock.sleep(patience.everyMs);
        continue;
      }
      throw new OrderSyncError('UNREACHABLE', 'A worker holds the outbox, but does not take commands', {
        hint: 'is it starting, stopping, or run by another user? its address and token are in data_dir/run.json',
        cause: error,
      });
    }
  }
}

async function performHere(
  config: Config,
  command: Exclude<OperatorCommand, ExplainCommand>,
  { clock, stderr }: CliContext,
): Promise<CommandResult> {
  const options = { level: 'silent', format: 'json', version: programVersion, instance: config.instance } as const;
  const logger = createLogger(options, stderr);
  const deps = { config, logger, clock, random: systemRandom, version: programVersion, pid: process.pid };
  return await performWithoutWorker(deps, command);
}

const errorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().nullish() }),
});
const answerSchema = z.object({ result: commandResultSchema });

/** What the running worker answers; null when none took the command, and so nothing was done. */
export async function askWorker(config: Config, command: OperatorCommand): Promise<CommandResult | null> {
  const withinMs = isCalling(command) ? callsWithinMs : answerWithinMs;
  const body = await post(config, controlPath, command, withinMs);
  return body === null ? null : answerSchema.parse(body).result;
}

/** A worker that listens on every address of the machine is asked over loopback. */
export function loopbackAddress(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

/**
 * Posts to the worker of this configuration. Null when none took it: the run file is only a hint, it may have outlived
 * its worker and lead to any other program.
 * @throws OrderSyncError what the worker refuses; UNREACHABLE when it may have been done, but was not answered
 */
async function post(config: Config, path: string, content: unknown, withinMs: number): Promise<unknown> {
  const run = readRunFile(config.dataDir);
  if (run?.control_token === undefined) return null;
  const url = `http://${loopbackAddress(run.admin_address)}${path}`;
  let answer: Response;
  let body: unknown;
  try {
    answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${run.control_token}`, 'content-type': 'application/json' },
      body: JSON.stringify(content),
      signal: AbortSignal.timeout(withinMs),
      redirect: 'manual',
    });
    // Without the mark, whoever answered is not the worker that wrote the run file.
    if (answer.headers.get(controlMark) === null) return null;
    body = await answer.json();
  } catch (cause) {
    if (isConnectionRefused(cause)) return null;
    throw new OrderSyncError('UNREACHABLE', `The worker at ${run.admin_address} did not answer in full`, {
      hint: 'it may have done it: look with `order-sync orders show` before you try again',
      cause,
    });
  }
  const failed = errorSchema.safeParse(body);
  if (failed.success) {
    const { code, message, hint } = failed.data.error;
    const knownCode = isErrorCode(code) ? code : 'INVARIANT';
    throw new OrderSyncError(knownCode, message, hint === null || hint === undefined ? {} : { hint });
  }
  return body;
}

const reloadSchema = z.object({
  result: z.object({
    applied: z.array(z.string()),
    need_restart: z.array(z.string()),
    warnings: z.array(z.string()),
  }),
});
export type ReloadAnswer = z.infer<typeof reloadSchema>['result'];

/**
 * Has the running worker read its own configuration again: its own file, variables and flags, not those of the caller.
 * @throws OrderSyncError CONFIG_INVALID when it is refused; UNREACHABLE when no worker takes commands
 */
export async function askForReload(config: Config): Promise<ReloadAnswer> {
  const body = await post(config, reloadPath, {}, answerWithinMs);
  if (body !== null) return reloadSchema.parse(body).result;
  throw new OrderSyncError('UNREACHABLE', 'No worker of this configuration takes commands', {
    hint: 'is it running, with this data_dir, as this user? A worker that starts reads its configuration anyway',
  });
}

/** The connection was refused, so nobody took the command. */
function isConnectionRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}
