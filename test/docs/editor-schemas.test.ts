import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSkuMap } from '../../src/storefronts/sku-file.ts';
import { runHere } from '../cli/installation.ts';
import { editorSchemas } from '../support/editor-schemas.ts';
import { YamlLanguageServer } from '../support/yaml-language-server.ts';
import { examplesIn, projectRoot } from './shell-commands.ts';

const schemas = join(projectRoot, 'config/schema');
/** One that is installed elsewhere names the schema of the installed package. */
const read = (path: string): string =>
  readFileSync(join(projectRoot, path), 'utf8').replace(
    /(?<=\$schema=)\/opt\/order-sync\/lib\/node_modules\/order-sync/,
    projectRoot,
  );
/** Every file that is an example of a configuration or of a format. */
const examples = globSync(['config/*.yaml', 'config/formats/*.yaml', 'deploy/*/*.yaml'], {
  cwd: projectRoot,
}).filter((path) => /^(instance|columns):/m.test(read(path)));
const mistyped = 'mistyped: 1\n';
const isMarked = (text: string): string[] => [
  `${text.split('\n').length}: Property mistyped is not allowed.`,
];
/** A key that is off follows a `#` without a space. */
const everythingOn = (text: string): string => text.replace(/^( *)#(?=[a-z_-])/gm, '$1');

describe('a schema for editors', () => {
  it.each(Object.entries(editorSchemas()))('%s is that of the program', (name, generated) => {
    if (process.env['UPDATE_DOCS'] === '1') {
      mkdirSync(schemas, { recursive: true });
      writeFileSync(join(schemas, name), generated);
    }
    expect(readFileSync(join(schemas, name), 'utf8')).toBe(generated);
  });
});

describe('the language server for YAML', () => {
  let server: YamlLanguageServer;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'order-sync-editor-'));
    server = await YamlLanguageServer.start();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it.each(examples)('marks a mistyped key in %s, and nothing else', async (path) => {
    const text = read(path);
    const mistakes = await server.mistakesIn(join(projectRoot, path), text + mistyped);
    expect(mistakes).toEqual(isMarked(text));
  });

  it('is shown all of these examples', () => {
    expect(examples.length).toBeGreaterThanOrEqual(9);
  });

  it('marks a mistyped key within a section, where every key of the example is on', async () => {
    const path = 'config/order-sync.example.yaml';
    const text = everythingOn(read(path));
    const lines = text.replace('min_free_bytes:', 'min_free_byte:');
    const line = lines.split('\n').findIndex((one) => one.includes('min_free_byte:')) + 1;
    expect(await server.mistakesIn(join(projectRoot, path), lines)).toEqual([
      `${line}: Property min_free_byte is not allowed.`,
    ]);
  });

  it('marks a mistyped key in the file that `init --example` writes', async () => {
    const file = join(folder, 'a/b/order-sync.yaml');
    expect((await runHere(['init', '--example', '--config', file])).code).toBe(0);
    const text = readFileSync(file, 'utf8');
    expect(await server.mistakesIn(file, text + mistyped)).toEqual(isMarked(text));
  });

  it('marks a mistyped key in the examples of the documentation, of an installed package', async () => {
    const installed = join(folder, 'node_modules/order-sync/config/schema');
    mkdirSync(installed, { recursive: true });
    for (const [name, schema] of Object.entries(editorSchemas()))
      writeFileSync(join(installed, name), schema);
    const shown = ['docs/config.md', 'docs/storefronts.md']
      .flatMap((page) => examplesIn(page, 'yaml'))
      .filter((text) => text.includes('$schema='));
    expect(shown).toHaveLength(2);
    for (const text of shown) {
      const file = join(folder, 'config/example.yaml');
      expect(await server.mistakesIn(file, text + mistyped)).toEqual(isMarked(text));
    }
  });

  it('marks a mistyped key of a SKU, as the program does', async () => {
    const text = 'skus:\n  STEAM-20: { type: gift_card_order, variant: v, quantty: 3 }\n';
    const schema = join(schemas, 'sku-map.schema.json');
    const first = `# yaml-language-server: $schema=${schema}\n`;
    const [mistake] = await server.mistakesIn(join(folder, 'skus.yaml'), first + text);
    expect(mistake).toBe('3: Property quantty is not allowed.');
    expect(() => readSkuMap(text, 'yaml')).toThrow('quantty');
  });

  it('finds the schema that each example names beside it in the repository and in the package', () => {
    const named = examples.map((path) => {
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)/.exec(read(path)) ?? [];
      return dirname(resolve(projectRoot, dirname(path), schema));
    });
    expect(new Set(named)).toEqual(new Set([schemas]));
  });
});
