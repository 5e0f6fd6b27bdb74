import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { noticeOlderCopy } from '../../app/older-copy.ts';
import { openOutbox } from '../../app/open-outbox.ts';
import type { Config, LoadedConfig } from '../../config/config.ts';
import { ConfigInvalidError } from '../../config/config-issue.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { SteadyClock } from '../../ops/system-clock.ts';
import { upstreamOf } from '../../store/sqlite/inspect.ts';
import { configFileOf, exampleFile } from '../../config/layers.ts';
import { checkSkuMaps, issueAt, refuseOtherUpstream } from '../checked-config.ts';
import { addConfigOptions, configFrom, type ConfigOptions, sourcesOf } from '../config-options.ts';
import { loggerFor } from '../command-logger.ts';
import type { CliContext } from '../context.ts';
import { checkAddress, keyFindings, makeFolder } from '../doctor-checks.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

const lookedUpFirst =
  'orders in this database, and orders of the next 7 days, are looked up before they are sent';

export function addInit(program: Command, context: CliContext): void {
  const command = program
    .command('init')
    .option('--example', 'only write an example config, if there is none')
    .option(
      '--after-loss',
      'the outbox was lost or restored: look each order up before it is sent',
    );
  addConfigOptions(command).action(
    async (options: ConfigOptions & { afterLoss?: boolean; example?: boolean }) => {
      if (options.example === true) return writeExample(configFileOf(sourcesOf(options)), context);
      const loaded = await configFrom(options);
      const { config } = loaded;
      const hadDatabase = existsSync(config.databasePath);
      checkSkuMaps(loaded);
      const { environment, upstream } = config.wholesale;
      if (hadDatabase) refuseOtherUpstream(loaded);
      const isBound =
        hadDatabase && upstreamOf(config.databasePath, upstream).upstream === upstream;
      for (const folder of foldersOf(config)) report(context, makeFolder(folder), folder);

      const hadSecret = existsSync(config.reference.secretFile);
      const operator = options.afterLoss === true ? cliActor() : null;
      const olderCopy = await makeOutbox(config, context, operator);
      report(context, !hadSecret, config.reference.secretFile);
      report(context, !hadDatabase, config.databasePath);
      if (olderCopy !== null) context.stderr.write(`${olderCopy}\n`);
      if (operator !== null || olderCopy !== null) context.stdout.write(`${lookedUpFirst}\n`);
      if (!hadSecret) {
        context.stderr.write(
          `Keep a copy of ${config.reference.secretFile} outside this machine: with it, orders that are redelivered after a lost disk are not bought twice.\n`,
        );
      }
      if (environment === 'production' && !isBound) await requireApi(loaded, context);
    },
  );
}

/** Asks the API before a database has orders of it: until then the address may be corrected. */
async function requireApi(loaded: LoadedConfig, context: CliContext): Promise<void> {
  const { config, file } = loaded;
  const keys = config.wholesale.keys.slice(0, 1).map(({ name }) => name);
  const asked = await sendCommand(
    config,
    { action: 'check_api', keys, withinMs: 10_000 },
    'api',
    context,
  );
  for (const { status, message, next } of keyFindings(asked)) {
    const problem = `leads to no API that accepts orders: ${message}; ${next}`;
    if (next === checkAddress)
      throw new ConfigInvalidError(file, [issueAt(loaded, 'wholesale.base_url', problem)]);
    if (status !== 'pass') context.stderr.write(`warning: ${message}; ${next}\n`);
  }
}

/** @throws OrderSyncError NOT_ALLOWED when the file is there */
function writeExample(file: string, context: CliContext): void {
  if (existsSync(file))
    throw new OrderSyncError('NOT_ALLOWED', `${file} is there already`, {
      hint: 'name another file with --config',
    });
  const folder = dirname(resolve(file));
  mkdirSync(folder, { recursive: true });
  // An editor looks for the schema from the file that names it.
  const text = readFileSync(exampleFile, 'utf8').replace(/(?<=\$schema=)\S+/, (schema) =>
    relative(folder, resolve(dirname(exampleFile), schema)),
  );
  writeFileSync(file, text, { flag: 'wx' });
  report(context, true, file);
  context.stdout.write('Change the values marked "yours", then run `order-sync check-config`\n');
}

/** Returns why the database that is there is an older copy; null if it is none. */
export async function makeOutbox(
  config: Config,
  context: CliContext,
  operator: string | null,
): Promise<string | null> {
  const clock = new SteadyClock(context.clock);
  const logger = loggerFor(config, context.stderr, 'silent');
  const opened = openOutbox(config, 'if-missing');
  try {
    await opened.store.continueTime(clock);
    return (await noticeOlderCopy({ config, clock, logger }, opened, operator)).olderCopy;
  } finally {
    await opened.store.close();
  }
}

function report(context: CliContext, made: boolean, path: string): void {
  context.stdout.write(`${made ? 'made ' : 'found'} ${path}\n`);
}

function foldersOf(config: Config): string[] {
  const ofFiles = config.intake.folders.flatMap(({ inbox, work, archive, rejected }) => [
    inbox,
    work,
    archive,
    rejected,
  ]);
  const { progressFolder } = config.reference;
  return [...new Set([config.dataDir, ...ofFiles, config.results.folder, progressFolder])];
}
