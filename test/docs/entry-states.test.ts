import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { canTransition, entryStates, isFinal } from '../../src/core/entry/states.ts';

const page = resolve(import.meta.dirname, '../../docs/entry-states.md');
const source = resolve(import.meta.dirname, '../../src/core/entry/states.ts');

/** The comment beside each state. */
const meanings = new Map(
  [...readFileSync(source, 'utf8').matchAll(/^ {2}'(\w+)', \/\/ (.+)$/gm)].map(
    ([, state, meaning]) => [state, meaning],
  ),
);

function render(): string {
  const arrows = entryStates.flatMap((from) => [
    ...entryStates.filter((to) => canTransition(from, to)).map((to) => `  ${from} --> ${to}`),
    ...(isFinal(from) ? [`  ${from} --> [*]`] : []),
  ]);
  return `# The states of an entry

Generated from the transition table in \`src/core/entry/states.ts\`, which the store asserts on every write:
\`UPDATE_DOCS=1 npx vitest run test/docs\`.

\`\`\`mermaid
stateDiagram-v2
  [*] --> pending
${arrows.join('\n')}
\`\`\`

| state | means |
|---|---|
${entryStates.map((state) => `| \`${state}\` | ${meanings.get(state)} |`).join('\n')}
`;
}

it('every state has a meaning', () => {
  expect([...meanings.keys()]).toEqual(entryStates);
});

it('the page of the states shows the transitions that the store allows', () => {
  const text = render();
  if (process.env['UPDATE_DOCS']) writeFileSync(page, text);
  expect(readFileSync(page, 'utf8')).toBe(text);
});
