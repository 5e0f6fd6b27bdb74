import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { controlPath, reloadPath, versionHeader } from '../admin/control-protocol.ts';
import type { Config } from '../config/config.ts';
import type { ReloadReport } from '../config/reload-plan.ts';
import { databaseName } from '../config/layers.ts';
import {
  isCalling,
  type CommandResult,
  type ExplainCommand,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import { codeOf, hasCode, OrderSyncError } from '../core/order-sync-error.ts';
import { programVersion } from '../ops/program-version.ts';
import { readRunFile } from '../ops/run-file.ts';
import { systemRandom } from '../ops/system-clock.ts';
import type { CliContext } from './context.ts';
import { isErrorCode } from './errors.ts';

/** The worker commits within a few ms; a disk that takes longer than this is failing. */
const answerWithinMs = 20_000;
/** For commands that call a shop or the API. */
const callsWithinMs = 290_000;
/** A starting worker holds the outbox before it listens, and a stopping one after. */
const lockRetries = { tries: 20, everyMs: 250 };

/** Who acts, for the audit log: the user of this machine. */
export function cliActor(): string {
  try {
    return `cli:${userInfo().username}`.slice(0, 100);
  } catch {
    // In a container the user may have no name.
    return 'cli:unknown';
  }
}

/** A running worker is found by the folder of its outbox. */
type WorkerPlace = Pick<Config, 'dataDir'>;

type SentCommand = Exclude<OperatorCommand, ExplainCommand>;

/**
 * Has a command performed: by the running worker, which is the only writer of its outbox, or, when
 * the lock proves that no worker runs, by this process.
 * @param kind of the result that the command has
 * @throws OrderSyncError when the command is refused; UNREACHABLE when a worker holds the outbox
 * and does not answer
 */
export async function sendCommand<Kind extends CommandResult['kind']>(
  config: Config,
  command: SentCommand,
  kind: Kind,
  context: CliContext,
): Promise<OfKind<Kind>> {
  const result = await performAnywhere(config, command, context);
  if (isOfKind(result, kind)) return result;
  throw new OrderSyncError('INVARIANT', 'The worker answered another command');
}

type OfKind<Kind> = Extract<CommandResult, { kind: Kind }>;

const isOfKind = <Kind>(result: CommandResult, kind: Kind): result is OfKind<Kind> =>
  result.kind === kind;

async function performAnywhere(
  config: Config,
  command: SentCommand,
  { clock, stderr }: CliContext,
): Promise<CommandResult> {
  for (let tries = 1; ; tries += 1) {
    const answered = await askWorker(config, command);
    if (answered !== null) return answered;
    try {
      // Loaded only here: most commands find a running worker and need neither the store nor the
      // API client.
      const { performWithoutWorker } = await import('../app/commands.ts');
      const { loggerFor } = await import('./command-logger.ts');
      const logger = loggerFor(config, stderr, 'silent');
      const deps = {
        config,
        logger,
        clock,
        random: systemRandom,
        version: programVersion,
        pid: process.pid,
      };
      return await performWithoutWorker(deps, command, (reason) => stderr.write(`${reason}\n`));
    } catch (error) {
      if (!hasCode(error, 'DATABASE_LOCKED')) throw error;
      if (tries < lockRetries.tries) {
        await clock.sleep(lockRetries.everyMs);
        continue;
      }
      throw new OrderSyncError(
        'UNREACHABLE',
        'A worker holds the outbox, but does not take commands',
        {
          hint: 'is this worker starting, stopping, or run by another user? data_dir/run.json has its address and token',
          cause: error,
        },
      );
    }
  }
}

/** The answer of the running worker; null when no worker took the command, so nothing was done. */
export async function askWorker(
  where: WorkerPlace,
  command: OperatorCommand,
): Promise<CommandResult | null> {
  return await post(
    where,
    controlPath,
    command,
    isCalling(command) ? callsWithinMs : answerWithinMs,
  );
}

/**
 * Where no worker answers, a database that none of this version can open is the reason.
 * @throws OrderSyncError DATABASE_FOREIGN, DATABASE_NEWER
 */
export async function requireOwnDatabase({ dataDir }: WorkerPlace): Promise<void> {
  const path = join(dataDir, databaseName);
  if (!existsSync(path)) return;
  const { openReadOnly } = await import('../store/sqlite/database.ts');
  openReadOnly(path).close();
}

/**
 * Has the running worker read its configuration again: its own file, variables and flags, not those
 * of the caller.
 * @throws OrderSyncError CONFIG_INVALID when the worker refuses it; UNREACHABLE when no worker
 * takes commands
 */
export async function reloadWorker(where: WorkerPlace): Promise<ReloadReport> {
  const report = await post<ReloadReport>(where, reloadPath, {}, answerWithinMs);
  if (report !== null) return report;
  await requireOwnDatabase(where);
  throw new OrderSyncError('UNREACHABLE', 'No worker of this configuration takes commands', {
    hint: 'is the worker running, with this data_dir and as this user? If not, no reload is needed: a worker reads its configuration at the start',
  });
}

/** A worker that listens on every address of the machine is asked over loopback. */
export function loopbackAddress(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

type Answer<T> =
  | { result: T; error?: never }
  | { error: { code: string; message: string; hint?: string | null } };

/**
 * Posts to the worker of this configuration. Null when no worker took it: the run file is only a
 * hint, it may have outlived its worker and lead to any other program.
 * @throws OrderSyncError when the worker refuses; UNREACHABLE when it took the command and its
 * answer is missing
 */
async function post<T>(
  { dataDir }: WorkerPlace,
  path: string,
  content: unknown,
  withinMs: number,
): Promise<T | null> {
  const run = readRunFile(dataDir);
  if (run?.control_token === undefined) return null;
  let answered: Answer<T>;
  try {
    const answer = await fetch(`http://${loopbackAddress(run.admin_address)}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${run.control_token}`,
        'content-type': 'application/json',
        [versionHeader]: programVersion,
      },
      body: JSON.stringify(content),
      signal: AbortSignal.timeout(withinMs),
      redirect: 'manual',
    });
    // Without a version, the answer is not from the worker that wrote the run file.
    if (answer.headers.get(versionHeader) === null) return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the worker takes commands of its own version only
    answered = (await answer.json()) as Answer<T>;
  } catch (cause) {
    if (isConnectionRefused(cause)) return null;
    throw new OrderSyncError(
      'UNREACHABLE',
      `The worker at ${run.admin_address} did not answer completely`,
      {
        hint: 'the command was perhaps performed: check with `order-sync orders show` before you try again',
        cause,
      },
    );
  }
  if (answered.error === undefined) return answered.result;
  const { code, message, hint } = answered.error;
  throw new OrderSyncError(isErrorCode(code) ? code : 'INVARIANT', message, {
    hint: hint ?? undefined,
  });
}

/** Then nobody took the command. */
function isConnectionRefused(error: unknown): boolean {
  return error instanceof Error && codeOf(error.cause) === 'ECONNREFUSED';
}
