import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scopes, type ScopeName } from '../../src/results/customer/template-variables.ts';

const page = resolve(import.meta.dirname, '../../docs/customer-texts.md');
const marked = /<!-- variables -->\n[\s\S]*<!-- \/variables -->/;

const headings: Readonly<Record<ScopeName, string>> = {
  order: 'Everywhere',
  line: 'Within `{{#lines}}`, and in the file of a unit',
  gift_card: 'Within `{{#gift_cards}}`, and in `gift_card.*`',
  esim: 'Within `{{#esims}}`, and in `esim.*`',
  top_up: 'Within `{{#top_ups}}`',
};
const uses = {
  value: 'value',
  count: 'number',
  link: '`href` in HTML, value in text',
  picture: '`src` in HTML, condition in text',
  condition: 'condition only',
};

/** A table for each section, with its variables and lists. */
function renderScopes(): string {
  const names: readonly ScopeName[] = ['order', 'line', 'gift_card', 'esim', 'top_up'];
  return names
    .map((name) => {
      const { variables, lists } = scopes[name];
      const rows = Object.entries(variables).map(([key, { use, means }]) => `| \`${key}\` | ${uses[use]} | ${means} |`);
      const listRows = Object.keys(lists).map((key) => `| \`${key}\` | list | the ${key.replaceAll('_', ' ')} |`);
      return [`### ${headings[name]}`, '', '| name | use | means |', '|---|---|---|', ...rows, ...listRows].join('\n');
    })
    .join('\n\n');
}

describe('docs/customer-texts.md', () => {
  it('has every variable of the templates', () => {
    const expected = `<!-- variables -->\n${renderScopes()}\n<!-- /variables -->`;
    if (process.env['UPDATE_DOCS'] === '1') {
      writeFileSync(
        page,
        readFileSync(page, 'utf8').replace(marked, () => expected),
      );
    }
    expect(marked.exec(readFileSync(page, 'utf8'))?.[0]).toBe(expected);
  });
});
