import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { loadConfig, type ConfigSources } from '../../src/config/load.ts';

/** The least that a configuration must say. */
export const minimal = `instance: acme
wholesale:
  base_url: https://api.example.com/v1
  keys:
    - name: main
      value_file: key
`;

/** A folder of its own with the given files, in which `key` holds an API key. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries({ key: 'sk-main\n', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  return folder;
}

/** Loads a configuration of this text, with no environment but the given one. */
export function load(text: string, sources: ConfigSources = {}) {
  const cwd = folderWith({ 'c.yaml': text });
  return { cwd, ...loadConfig({ file: 'c.yaml', environment: {}, cwd, ...sources }) };
}

/** The lines of the failure that such a configuration leads to. */
export function mistakesOf(text: string, sources: ConfigSources = {}): string[] {
  try {
    load(text, sources);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID') {
      return error.message.split('\n').map((line) => line.trim());
    }
    throw error;
  }
  return [];
}
