import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { LoadedConfig } from '../config/config.ts';
import { type ConfigSources, databaseName, givenDataDir } from '../config/layers.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { openReader, type OutboxReader } from '../store/read/outbox-reader.ts';

/** The options of every command that reads the configuration; `json` where it prints an answer. */
export interface ConfigOptions {
  readonly config?: string;
  readonly set?: Readonly<Record<string, string>>;
  readonly json?: boolean;
}

/** @param file the default config file of a command that does not use the production worker's */
export function addConfigOptions(command: Command, file?: string): Command {
  const defaultFile = ' (default: $ORDER_SYNC_CONFIG, or config/order-sync.yaml)';
  return command
    .option('-c, --config <file>', `the config file${file === undefined ? defaultFile : ''}`, file)
    .option(
      '--set <key=value>',
      'one value, which overrides file and environment; can be repeated',
      collect,
    );
}

/** Adds `--json` and the options of the configuration: those of a command that prints an answer. */
export function addAnswerOptions(command: Command): Command {
  return addConfigOptions(command.option('--json', 'print JSON'));
}

/** The options of a command that decides. */
export function addReason(command: Command): Command {
  return addAnswerOptions(
    command.requiredOption(
      '--reason <text>',
      'the reason, for the audit log; at least 3 characters',
    ),
  );
}

export interface BulkForm extends ConfigOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** The options of a command that decides on one thing, or on many that a filter finds. */
export function addBulk(command: Command, isConfirmedByNumber = false): Command {
  const { short, yes } = isConfirmedByNumber
    ? { short: '--confirm', yes: command }
    : { short: '--yes', yes: command.option('--yes', 'of many: do it') };
  return addAnswerOptions(
    yes
      .option(
        '--reason <text>',
        'the reason, for the audit log; at least 3 characters (required to act)',
      )
      .option(
        '--dry-run',
        `with a filter: only show how many match (so does leaving out ${short})`,
      ),
  );
}

/**
 * The reason of what is done; null where it is only shown: many are done with `--yes`.
 * @throws OrderSyncError USAGE
 */
export function reasonToAct({ reason, dryRun, yes }: BulkForm, isOne: boolean): string | null {
  if (dryRun === true || (!isOne && yes !== true)) return null;
  if (reason !== undefined) return reason;
  throw new OrderSyncError('USAGE', 'Give the reason, for the audit log: --reason "…"', {
    hint: isOne ? 'at least 3 characters' : 'or look first, without --yes',
  });
}

/** Where the configuration is, as these options say. */
export function sourcesOf({ config: file, set: flags = {} }: ConfigOptions): ConfigSources {
  return { file, flags };
}

// Building the schema takes longer than many a command that does not need it.
export async function configFrom(options: ConfigOptions, secrets = true): Promise<LoadedConfig> {
  const { loadConfig } = await import('../config/load.ts');
  return loadConfig({ ...sourcesOf(options), secrets });
}

/**
 * The configuration without its secrets, for a command that only looks: its user may not be allowed
 * to read them.
 */
export const configWithoutSecrets = (options: ConfigOptions): Promise<LoadedConfig> =>
  configFrom(options, false);

/** The folder of the outbox, by which a running worker is found, too. */
export async function dataDirOf(options: ConfigOptions): Promise<string> {
  return givenDataDir(sourcesOf(options)) ?? (await configWithoutSecrets(options)).config.dataDir;
}

export async function databasePathOf(options: ConfigOptions): Promise<string> {
  return join(await dataDirOf(options), databaseName);
}

/**
 * Opens the outbox of a configuration for reading, while a worker runs or not, and closes it again.
 */
export async function withReader<T>(
  options: ConfigOptions,
  read: (reader: OutboxReader) => T,
): Promise<T> {
  return readOutbox(await databasePathOf(options), read);
}

export function readOutbox<T>(path: string, read: (reader: OutboxReader) => T): T {
  const reader = openReader(path);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}

function collect(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1)
    throw new InvalidArgumentError('It must be key=value, for example log.level=debug.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
