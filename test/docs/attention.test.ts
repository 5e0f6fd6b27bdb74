import { expect, it } from 'vitest';
import {
  attentionReasons,
  holdsUp,
  whatToDo,
  type AttentionReason,
} from '../../src/core/operator/attention.ts';
import { madeFrom, pageText } from './generated-page.ts';

const isReason = (name: string): name is AttentionReason => name in attentionReasons;

/** Reasons that hold up the same and ask for the same are one row. */
function rows(): string[] {
  const names = new Map<string, string[]>();
  for (const reason of Object.keys(attentionReasons).filter(isReason)) {
    const held = attentionReasons[reason].holdsUp === null ? 'the scope' : holdsUp(reason, null);
    const facts = `${held} | ${whatToDo(reason)} |`;
    names.set(facts, [...(names.get(facts) ?? []), `\`${reason}\``]);
  }
  return [...names].map(([facts, reasons]) => `| ${reasons.join(', ')} | ${facts}`);
}

it('the page of reasons says what to do about each, as the program does', () => {
  const text = `# Reasons in the attention list

${madeFrom('src/core/operator/attention.ts')} [Review](../review.md) says how an operator decides.

| reason | holds up | what to do |
|---|---|---|
${rows().join('\n')}
`;
  expect(pageText('attention.md', text)).toBe(text);
});

it('each advice is a sentence, and begins with a word', () => {
  for (const reason of Object.keys(attentionReasons).filter(isReason))
    expect(whatToDo(reason)).toMatch(/^[A-Z][a-z]+ .*\.$/);
});
