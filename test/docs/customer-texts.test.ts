import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scopes, type ScopeName } from '../../src/results/customer/template-variables.ts';

const page = resolve(import.meta.dirname, '../../docs/customer-texts.md');
const marked = /<!-- variables -->\n[\s\S]*<!-- \/variables -->/;

const headings: Readonly<Record<ScopeName, string>> = {
  order: 'Everywhere',
  lines: 'Within `{{#lines}}`, and in the file of a unit',
  gift_cards: 'Within `{{#gift_cards}}`, and in `gift_card.*`',
  esims: 'Within `{{#esims}}`, and in `esim.*`',
  top_ups: 'Within `{{#top_ups}}`',
};
const uses = {
  value: '',
  count: ' (number)',
  link: ' (`href` in HTML)',
  picture: ' (`src` in HTML, condition in text)',
  condition: ' (condition)',
  list: ' (list)',
};

/** A list for each section, with its variables and lists. */
function renderScopes(): string {
  const names: readonly ScopeName[] = ['order', 'lines', 'gift_cards', 'esims', 'top_ups'];
  return names
    .map((name) => {
      const rows = Object.entries(scopes[name]).map(([key, [use, means]]) => `- \`${key}\`${uses[use]}: ${means}`);
      return [`**${headings[name]}**`, '', ...rows].join('\n');
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
