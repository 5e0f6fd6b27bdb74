import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configKeys, isLive, type SchemaNode } from '../../src/config/schema-tree.ts';

const page = resolve(import.meta.dirname, '../../docs/config.md');
const marked = /<!-- keys -->\n[\s\S]*<!-- \/keys -->/;

function typeOf(node: SchemaNode): string {
  if (node.secret !== undefined) return 'secret';
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  const name: Record<string, string> = { integer: 'whole number', string: 'text', array: 'list', object: 'section' };
  const type = name[node.type ?? ''] ?? node.type ?? 'anything';
  if (node.minimum === undefined || node.maximum === undefined) return type;
  return `${type}, ${node.minimum} to ${node.maximum}`;
}

function defaultOf(node: SchemaNode, required: boolean): string {
  if (required) return 'required';
  if (node.secret === 'required') return 'required, or its `_file`';
  if (node.default === undefined || node.properties !== undefined) return '';
  return `\`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``;
}

/** The table of all keys, as the schema has them. */
function renderKeys(): string {
  const rows = configKeys().map(
    ({ path, node, required }) =>
      `| \`${path}\` | ${typeOf(node)} | ${defaultOf(node, required)} | ${node.description ?? ''} |`,
  );
  return ['| key | value | default | what it does |', '|---|---|---|---|', ...rows].join('\n');
}

const markedLive = /<!-- live -->\n[\s\S]*<!-- \/live -->/;

/** What a reload changes: whole sections where all of their keys do, and single keys otherwise. */
function renderLive(): string {
  const all = configKeys().map(({ path }) => path);
  const lives = (path: string): boolean => isLive(path.split('.').flatMap(segments));
  const wholly = all.filter((path) => all.every((below) => below === path || !isWithin(below, path) || lives(below)));
  const shown = wholly.filter((path) => lives(path) && !wholly.some((above) => isWithin(path, above) && lives(above)));
  return shown.map((path) => `- \`${path}\``).join('\n');
}
const segments = (part: string): (string | number)[] => (part.endsWith('[]') ? [part.slice(0, -2), 0] : [part]);
const isWithin = (path: string, above: string): boolean =>
  path.startsWith(`${above}.`) || path.startsWith(`${above}[]`);

describe('docs/config.md', () => {
  it('has every key as the schema has it', () => {
    const expected = `<!-- keys -->\n${renderKeys()}\n<!-- /keys -->`;
    if (process.env['UPDATE_DOCS'] === '1') {
      writeFileSync(
        page,
        readFileSync(page, 'utf8').replace(marked, () => expected),
      );
    }
    expect(marked.exec(readFileSync(page, 'utf8'))?.[0]).toBe(expected);
  });

  it('lists what a reload changes, as the schema marks it', () => {
    const expected = `<!-- live -->\n${renderLive()}\n<!-- /live -->`;
    if (process.env['UPDATE_DOCS'] === '1') {
      writeFileSync(
        page,
        readFileSync(page, 'utf8').replace(markedLive, () => expected),
      );
    }
    expect(markedLive.exec(readFileSync(page, 'utf8'))?.[0]).toBe(expected);
  });

  it('leaves no key without a word on what it does', () => {
    expect(
      configKeys()
        .filter(({ node }) => (node.description ?? '') === '')
        .map(({ path }) => path),
    ).toEqual([]);
  });
});
