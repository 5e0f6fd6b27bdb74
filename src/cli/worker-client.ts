import { userInfo } from 'node:os';
import { z } from 'zod';
import { controlMark, controlPath, reloadPath } from '../admin/control-routes.ts';
import { performCommand } from '../admin/perform-command.ts';
import { commandSettings } from '../app/commands.ts';
import { openOutbox } from '../app/open-outbox.ts';
import { performCallsWithoutWorker } from '../app/work-without-worker.ts';
import type { Config } from '../config/config.ts';
import {
  commandResultSchema,
  isCalling,
  type CallingCommand,
  type CommandResult,
  type OperatorCommand,
} from '../core/entry/operator-command.ts';
import { hasCode, OrderSyncError, type OrderSyncErrorCode } from '../core/order-sync-error.ts';
import { StorefrontIntake } from '../storefronts/storefront-intake.ts';
import { createLogger } from '../ops/logger.ts';
import { systemRandom } from '../ops/system-clock.ts';
import { programVersion } from '../ops/program-version.ts';
import { readRunFile, type RunFile } from '../ops/run-file.ts';
import type { Store } from '../store/store.ts';
import type { CliContext } from './context.ts';
import { isErrorCode } from './exit-codes.ts';
import { loopbackAddress } from './worker-address.ts';

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
 * Does what a person asked for: by the running worker, which is the only writer of its outbox, or, when the lock shows
 * that none runs, directly. The run file is a hint only: it may have outlived its worker, and lead to any program.
 * @throws OrderSyncError what the step refuses; UNREACHABLE when a worker holds the outbox and does not answer
 */
export async function sendCommand(
  config: Config,
  command: OperatorCommand,
  context: CliContext,
): Promise<CommandResult> {
  for (let tries = 1; ; tries += 1) {
    const run = readRunFile(config.dataDir);
    const answered = run?.control_token === undefined ? null : await askWorker(run, run.control_token, command);
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

async function performHere(config: Config, command: OperatorCommand, context: CliContext): Promise<CommandResult> {
  const store = openOutbox(config, 'never');
  try {
    if (isCalling(command)) return await callHere(config, command, store, context);
    return await performCommand(store, command, commandSettings(config), context.clock);
  } finally {
    await store.close();
  }
}

/** What is taken in is bought by the next worker: here it is only put on disk. */
async function callHere(
  config: Config,
  command: CallingCommand,
  store: Store,
  context: CliContext,
): Promise<CommandResult> {
  const { clock, stderr } = context;
  const options = { level: 'silent', format: 'json', version: programVersion, instance: config.instance } as const;
  const logger = createLogger(options, stderr);
  const shops = config.intake.webhook ?? { woocommerce: [], shopify: [] };
  const desk = new StorefrontIntake({ config: shops, store, clock, logger, onChanged: () => undefined });
  const deps = { config, logger, clock, random: systemRandom, version: programVersion, pid: process.pid };
  return await performCallsWithoutWorker(deps, store, desk, command);
}

const errorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().nullish() }),
});
const answerSchema = z.object({ result: commandResultSchema });

/** Null when no worker of this run file took the command, and so nothing was done. */
async function askWorker(run: RunFile, token: string, command: OperatorCommand): Promise<CommandResult | null> {
  const withinMs = isCalling(command) ? callsWithinMs : answerWithinMs;
  const body = await postToWorker(run, token, controlPath, command, withinMs);
  return body === null ? null : answerSchema.parse(body).result;
}

/**
 * What the worker of this run file answers; null when none took it, and so nothing was done.
 * @throws OrderSyncError what the worker refuses; UNREACHABLE when it may have been done, but was not answered
 */
async function postToWorker(
  run: RunFile,
  token: string,
  path: string,
  content: unknown,
  withinMs = answerWithinMs,
): Promise<unknown> {
  const url = `http://${loopbackAddress(run.admin_address)}${path}`;
  let answer: Response;
  let body: unknown;
  try {
    answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(content),
      signal: AbortSignal.timeout(withinMs),
      redirect: 'manual',
    });
    // Whoever this is, it is not the worker that wrote the file.
    if (answer.headers.get(controlMark) === null) return null;
    body = await answer.json();
  } catch (cause) {
    if (isRefused(cause)) return null;
    throw new OrderSyncError('UNREACHABLE', `The worker at ${run.admin_address} did not answer in full`, {
      hint: 'it may have done it: look with `order-sync orders show` before you try again',
      cause,
    });
  }
  const failed = errorSchema.safeParse(body);
  if (failed.success) {
    const { code, message, hint } = failed.data.error;
    throw new OrderSyncError(knownCode(code), message, hint === null || hint === undefined ? {} : { hint });
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
  const run = readRunFile(config.dataDir);
  const body = run?.control_token === undefined ? null : await postToWorker(run, run.control_token, reloadPath, {});
  if (body !== null) return reloadSchema.parse(body).result;
  throw new OrderSyncError('UNREACHABLE', 'No worker of this configuration takes commands', {
    hint: 'is it running, with this data_dir, as this user? A worker that starts reads its configuration anyway',
  });
}

const knownCode = (code: string): OrderSyncErrorCode => (isErrorCode(code) ? code : 'INVARIANT');

/** The connection was refused, so the command was surely not taken. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}
