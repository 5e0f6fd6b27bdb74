import type { LoadedConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { readTemplates } from '../results/customer/read-templates.ts';
import { readWire } from '../wholesale/connector/wire.ts';
import { sourcesOf, type ConfigOptions } from './config-options.ts';
import { readSandboxSection } from './sandbox-section.ts';

/** The configuration, with the sections checked that only their own modules can read. Throws CONFIG_INVALID. */
export function checkedConfigFrom(options: ConfigOptions): LoadedConfig {
  const loaded = loadConfig(sourcesOf(options));
  readWire(loaded.config.wholesale.wire);
  if (loaded.config.results.customer !== null) readTemplates(loaded.config.results.customer.templates);
  if (loaded.config.sandbox !== undefined) readSandboxSection(loaded.config.sandbox, loaded.config.dataDir);
  return loaded;
}
