import { existsSync, mkdirSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { readReferenceSecret } from '../../config/reference-secret.ts';
import { afterLossMs } from '../../core/decision/after-loss.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { openStore } from '../../store/sqlite-store.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { cliActor } from '../worker-client.ts';

const lookedUpFirst = 'orders that are here, and those that come in within 7 days, are looked up before they are sent';

export function addInit(program: Command, context: CliContext): void {
  const command = program
    .command('init')
    .description('make the folders, the reference secret and the database of a new installation; keeps existing ones')
    .option('--after-loss', 'the outbox was lost or restored: look up what may have been bought before sending it');
  addConfigOptions(command).action(async (options: ConfigOptions & { afterLoss?: boolean }) => {
    const { config } = configFrom(options);
    const hadDatabase = existsSync(config.databasePath);
    for (const folder of foldersOf(config)) report(context, makeFolder(folder), folder);

    const hadSecret = existsSync(config.reference.secretFile);
    // A database without its secret has bought under references that a new secret cannot repeat.
    const secret = readReferenceSecret(config.reference.secretFile, !hadDatabase);
    report(context, !hadSecret, config.reference.secretFile);

    const { instance, reference, wholesale, databasePath } = config;
    const store = openStore({
      path: databasePath,
      init: 'if-missing',
      namespace: { instance, prefix: reference.prefix, secret },
      upstream: wholesale.upstream,
      sinks: ['folder'],
    });
    try {
      if (options.afterLoss === true) {
        const nowMs = context.clock.wallMs();
        const reason = 'the outbox was lost, or this is an older copy of it';
        await store.operator.beginAfterLoss({ actor: cliActor(), reason, nowMs, untilMs: nowMs + afterLossMs });
      }
    } finally {
      await store.close();
    }
    report(context, !hadDatabase, databasePath);
    if (options.afterLoss === true) context.stdout.write(`${lookedUpFirst}\n`);
    if (!hadSecret) {
      context.stderr.write(
        `Keep a copy of ${config.reference.secretFile} outside this machine: with it, orders that are redelivered after a lost disk are not bought twice.\n`,
      );
    }
  });
}

function report(context: CliContext, made: boolean, path: string): void {
  context.stdout.write(`${made ? 'made ' : 'found'} ${path}\n`);
}

function foldersOf(config: Config): string[] {
  const { inbox, work, archive, rejected } = config.intake.folder;
  return [config.dataDir, inbox, work, archive, rejected, config.results.folder];
}

/** Returns whether it was made. Closed to other users: results hold codes that are as good as money. */
function makeFolder(path: string): boolean {
  try {
    return mkdirSync(path, { recursive: true, mode: 0o750 }) !== undefined;
  } catch (error) {
    throw new OrderSyncError('FOLDER_UNUSABLE', `The folder ${path} cannot be made`, {
      hint: 'make it yourself and give it to the user that runs order-sync, or change its path in the config',
      cause: error,
    });
  }
}
