import { type Command, InvalidArgumentError } from 'commander';
import type { LoadedConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { readWire } from '../wholesale/connector/wire.ts';
import { readSandboxSection } from './sandbox-section.ts';

/** What every command that reads the configuration takes. */
export interface ConfigOptions {
  readonly config?: string;
  readonly set?: Readonly<Record<string, string>>;
}

/** @param file the config file of a command that does not look for that of a production worker */
export function addConfigOptions(command: Command, file?: string): Command {
  const lookedFor = ' (default: $ORDER_SYNC_CONFIG, or config/order-sync.yaml)';
  return command
    .option('-c, --config <file>', `the config file${file === undefined ? lookedFor : ''}`, file)
    .option('--set <key=value>', 'one value that is stronger than file and environment; may be repeated', collect);
}

export function configFrom(options: ConfigOptions): LoadedConfig {
  return loadConfig({ file: options.config, flags: options.set ?? {} });
}

/** The configuration, also in what only the rooms know that read it. Throws CONFIG_INVALID, as `check-config` does. */
export function checkedConfigFrom(options: ConfigOptions): LoadedConfig {
  const loaded = configFrom(options);
  readWire(loaded.config.wholesale.wire);
  if (loaded.config.sandbox !== undefined) readSandboxSection(loaded.config.sandbox, loaded.config.dataDir);
  return loaded;
}

function collect(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('It must be key=value, for example log.level=debug.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
