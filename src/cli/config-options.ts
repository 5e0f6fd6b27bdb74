import { type Command, InvalidArgumentError } from 'commander';
import type { LoadedConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';

/** What every command that reads the configuration takes. */
export interface ConfigOptions {
  readonly config?: string;
  readonly set: Readonly<Record<string, string>>;
}

export function addConfigOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the config file (default: $ORDER_SYNC_CONFIG, or config/order-sync.yaml)')
    .option('--set <key=value>', 'one value that is stronger than file and environment; may be repeated', collect, {});
}

export function configFrom(options: ConfigOptions): LoadedConfig {
  return loadConfig({ file: options.config, flags: options.set });
}

function collect(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('It must be key=value, for example log.level=debug.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
