import { expect, it } from 'vitest';
import { invariants } from '../simulation/invariants.ts';
import { mutants } from '../simulation/mutants.ts';
import { madeFrom, pageText } from './generated-page.ts';

it('the page of invariants has every one, and counts the planted bugs by module', () => {
  const rows = Object.entries(invariants).map(([name, sentence]) => `- **${name}** ${sentence}`);
  const counts = Map.groupBy(mutants, ({ file }) => file.slice(0, file.indexOf('/')));
  const planted = [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, those]) => `\`${folder}\` ${those.length}`);
  const text = `# What the simulation checks

${madeFrom('test/simulation/invariants.ts')} [How the promises are proven](../reliability.md) explains it.

${rows.join('\n')}

${mutants.length} bugs are planted: ${planted.join(', ')}.
`;
  expect(pageText('invariants.md', text)).toBe(text);
});
