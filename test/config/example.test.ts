import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configKeys } from '../../src/config/schema-tree.ts';
import { readYaml } from '../../src/config/yaml-file.ts';
import { folderWith } from './config-file.ts';

const root = resolve(import.meta.dirname, '../..');
const written = readFileSync(join(root, 'config/order-sync.example.yaml'), 'utf8');
/** Its address is one that no configuration may keep. */
const example = written.replace('https://wholesale.example.com', 'https://api.example.com');
/** A key that is off follows a `#` without a space. Prose has a space there. */
const everythingOn = example.replace(/^( *)#(?=[a-z_-])/gm, '$1');

/** Every key in a document, with `[]` for the entries of a list. */
function writtenKeys(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((child) => writtenKeys(child, `${prefix}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    return [path, ...writtenKeys(child, path)];
  });
}

describe('the example configuration', () => {
  it('is refused as long as it has the address of the example', () => {
    const cwd = folderWith({
      'example.yaml': written.replace('/run/secrets/wholesale_key', 'key'),
    });
    const load = () => loadConfig({ file: 'example.yaml', cwd, environment: {} });
    expect(load).toThrow(
      'wholesale.base_url is the address in the example: write the address of your API',
    );
  });

  it('is valid for production once its key file exists', () => {
    const cwd = folderWith({
      'example.yaml': example.replace('/run/secrets/wholesale_key', 'key'),
    });
    const { config, warnings } = loadConfig({ file: 'example.yaml', cwd, environment: {} });
    expect(config.wholesale.environment).toBe('production');
    expect(warnings).toEqual([]);
  });

  it('has exactly the keys of the schema', () => {
    const file = readYaml('example', everythingOn);
    const known = configKeys().map(({ path }) => path);
    expect(writtenKeys(file.tree).toSorted()).toEqual(known.toSorted());
  });

  it('shows the defaults, except of keys that are marked as yours', () => {
    const least = folderWith({
      'c.yaml':
        'instance: my-shop\nwholesale: { base_url: "https://api.example.com", keys: [{name: main, value: file:key}] }',
      'example.yaml': example.replace('/run/secrets/wholesale_key', 'key'),
    });
    const load = (file: string) => loadConfig({ file, cwd: least, environment: {} }).config;
    expect(load('example.yaml')).toEqual({
      ...load('c.yaml'),
      wholesale: { ...load('c.yaml').wholesale, wire: {} },
    });
  });
});

describe('the configuration of the demo', () => {
  it('is valid and belongs to the sandbox', () => {
    const { config } = loadConfig({ file: 'config/sandbox.yaml', cwd: root, environment: {} });
    expect(config.wholesale.upstream).toBe('sandbox');
    expect(
      parse(readFileSync(join(root, 'config/sandbox.yaml'), 'utf8')).wholesale.environment,
    ).toBe('sandbox');
  });
});
