import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { canTransition, entryStates } from '../../src/core/entry/states.ts';
import { madeFrom, pageText } from './generated-page.ts';
import { projectRoot } from './shell-commands.ts';

const source = 'src/core/entry/states.ts';

/** The comment beside each state. */
const meanings = new Map(
  [...readFileSync(join(projectRoot, source), 'utf8').matchAll(/^ {2}'(\w+)', \/\/ (.+)$/gm)].map(
    ([, state, meaning]) => [state, meaning],
  ),
);

const rows = entryStates.map((from) => {
  const next = entryStates.filter((to) => canTransition(from, to)).map((to) => `\`${to}\``);
  const becomes = next.length === 0 ? '' : `. May become ${next.join(', ')}`;
  return `- \`${from}\`: ${meanings.get(from)}${becomes}`;
});

it('every state has a meaning', () => {
  expect([...meanings.keys()]).toEqual(entryStates);
});

it('the page of the states shows the transitions that the store allows', () => {
  const text = `# States of an entry

${madeFrom(source)} The store asserts this list on every write. An entry begins as \`pending\`.

${rows.join('\n')}
`;
  expect(pageText('entry-states.md', text)).toBe(text);
});
