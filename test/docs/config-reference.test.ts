import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configKeys, type SchemaNode } from '../../src/config/schema-tree.ts';

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

  it('leaves no key without a word on what it does', () => {
    expect(
      configKeys()
        .filter(({ node }) => (node.description ?? '') === '')
        .map(({ path }) => path),
    ).toEqual([]);
  });
});
