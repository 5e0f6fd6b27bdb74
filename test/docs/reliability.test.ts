import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { invariants } from '../simulation/invariants.ts';
import { mutants } from '../simulation/mutants.ts';

const page = resolve(import.meta.dirname, '../../docs/reliability.md');

/**
 * The text between two comments of the page; with UPDATE_DOCS=1 it is the generated one from then
 * on.
 */
function shown(name: string, generated: string): string | undefined {
  const marked = new RegExp(`<!-- ${name} -->\\n([\\s\\S]*)\\n<!-- /${name} -->`);
  const text = readFileSync(page, 'utf8');
  const part = `<!-- ${name} -->\n${generated}\n<!-- /${name} -->`;
  if (process.env['UPDATE_DOCS'] === '1')
    writeFileSync(
      page,
      text.replace(marked, () => part),
    );
  return marked.exec(readFileSync(page, 'utf8'))?.[1];
}

it('docs/reliability.md has every invariant of the simulation', () => {
  const rows = Object.entries(invariants).map(([name, sentence]) => `- **${name}** ${sentence}`);
  const expected = rows.join('\n');
  expect(shown('invariants', expected)).toBe(expected);
});

it('docs/reliability.md counts the planted bugs by the module that they are planted in', () => {
  const counts = Map.groupBy(mutants, ({ file }) => file.slice(0, file.indexOf('/')));
  const rows = [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, those]) => `\`${folder}\` ${those.length}`);
  const expected = `${mutants.length} bugs are planted: ${rows.join(', ')}.`;
  expect(shown('planted bugs', expected)).toBe(expected);
});
