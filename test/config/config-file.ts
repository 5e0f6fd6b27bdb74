import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ConfigSources } from '../../src/config/layers.ts';
import { loadConfig } from '../../src/config/load.ts';

/** The smallest valid configuration. */
export const minimal = `instance: acme
wholesale:
  base_url: https://api.example.com/v1
  keys:
    - name: main
      value: file:key
`;

/** A new folder with these files and with `key`, which holds an API key. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries({ key: 'sk-main\n', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  return folder;
}

/** Loads this text as the configuration, without the variables of this process. */
export function load(text: string, sources: ConfigSources = {}) {
  const cwd = folderWith({ 'c.yaml': text });
  return { cwd, ...loadConfig({ file: 'c.yaml', environment: {}, cwd, ...sources }) };
}

/** The lines of the error that this configuration leads to; none when it is valid. */
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
