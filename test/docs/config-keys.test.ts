import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  configKeys,
  isLive,
  type ConfigKey,
  type SchemaNode,
} from '../../src/config/schema-tree.ts';
import { platformNames } from '../../src/storefronts/settings.ts';
import { madeFrom, pageText } from './generated-page.ts';
import { pages, projectRoot } from './shell-commands.ts';

const all = configKeys();

/** What a value may be; nothing for a text. */
function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join('/');
  if (node.minimum !== undefined && node.maximum !== undefined)
    return `${node.minimum}–${node.maximum}`;
  const name: Record<string, string> = {
    boolean: '`true`/`false`',
    integer: 'number',
    number: 'number',
    array: 'list',
  };
  return name[node.type ?? ''] ?? '';
}

function defaultOf({ node, required }: ConfigKey): string {
  if (required) return 'required';
  if (node.default === undefined || node.properties !== undefined || node.default === '') return '';
  if (Array.isArray(node.default) && node.default.length === 0) return '';
  return `default \`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``;
}

function secretOf({ node }: ConfigKey): string {
  if (node.secret === undefined) return '';
  return node.secret === 'required' ? 'required secret' : 'secret';
}

const segments = (part: string): (string | number)[] =>
  part.endsWith('[]') ? [part.slice(0, -2), 0] : [part];
const livesOn = (path: string): string => (isLive(path.split('.').flatMap(segments)) ? ' ↻' : '');

/** One line for a key: what it may be, its default, what it does. */
function lineOf(key: ConfigKey): string {
  const facts = [
    secretOf(key) || typeOf(key.node),
    key.node.secret === undefined ? defaultOf(key) : '',
  ];
  const shown = facts.filter((fact) => fact !== '').join(', ');
  return `${livesOn(key.path)}${shown === '' ? '' : ` (${shown})`}: ${key.node.description ?? ''}`;
}

const [first = '', ...others] = platformNames.map((name) => `intake.webhook.${name}[].`);

/**
 * Every key as the schema has it. Shops of all platforms have most keys in common: those stand
 * once, under `<shop>`.
 */
function renderKeys(): string {
  // A section that is always there has nothing to say beside its keys.
  const shown = all.filter(
    ({ node, required }) =>
      node.properties === undefined || (!required && node.default === undefined),
  );
  const lines = new Map(shown.map((key) => [key.path, lineOf(key)]));
  const isCommon = (key: string): boolean =>
    others.every((other) => lines.get(`${first}${key}`) === lines.get(`${other}${key}`));
  return [...lines]
    .flatMap(([path, line]) => {
      const own = [first, ...others].find((prefix) => path.startsWith(prefix));
      const key = own === undefined ? '' : path.slice(own.length);
      if (own === undefined || !isCommon(key)) return [`- \`${path}\`${line}`];
      return own === first ? [`- \`intake.webhook.<shop>[].${key}\`${line}`] : [];
    })
    .join('\n');
}

const render = (): string => `# Every config key

${madeFrom('src/config/schema.ts')} A value is a text, unless others are named. \`<shop>\` is ${platformNames.map((name) => `\`${name}\``).join(' or ')}. ↻: a reload changes it.
Addresses are https, except on this machine and for a sandbox. To replace a token or a secret, list the old and the new one, tokens under one name.

${renderKeys()}
`;

describe('the page of config keys', () => {
  it('has every key as the schema has it', () => {
    const text = render();
    expect(pageText('config-keys.md', text)).toBe(text);
  });

  it('is not contradicted by another page: every key that one names exists', () => {
    const known = all.map(({ path }) => path.replaceAll('[]', ''));
    const sections = [...new Set(known.map((path) => path.split('.')[0]))]
      .filter((name) => name !== 'sandbox')
      .join('|');
    const named = new RegExp(`\`((?:${sections})(?:\\.[a-z_]+(?:\\[\\])?)+)[:\`]`, 'g');
    const unknown = pages().flatMap((name) =>
      [...readFileSync(join(projectRoot, name), 'utf8').matchAll(named)]
        .map(([, key = '']) => key.replaceAll('[]', ''))
        .filter((key) => !known.includes(key) && !key.startsWith('wholesale.wire.'))
        .map((key) => `${name}: ${key}`),
    );
    expect(unknown).toEqual([]);
  });

  it('leaves no key without a word on what it does', () => {
    expect(
      all.filter(({ node }) => (node.description ?? '') === '').map(({ path }) => path),
    ).toEqual([]);
  });
});
