import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import {
  attentionReasons,
  holdsUp,
  whatToDo,
  type AttentionReason,
} from '../../src/core/operator/attention.ts';

const page = resolve(import.meta.dirname, '../../docs/review.md');
const begin = '<!-- attention: begin -->';
const end = '<!-- attention: end -->';

const isReason = (name: string): name is AttentionReason => name in attentionReasons;

/** Reasons that hold up the same and ask for the same are one row. */
function rows(): string[] {
  const names = new Map<string, string[]>();
  for (const reason of Object.keys(attentionReasons).filter(isReason)) {
    const held = attentionReasons[reason].holdsUp === null ? 'the scope' : holdsUp(reason, null);
    const facts = `${held} | ${whatToDo(reason)}`;
    names.set(facts, [...(names.get(facts) ?? []), `\`${reason}\``]);
  }
  return [...names].map(([facts, reasons]) => `| ${reasons.join(', ')} | ${facts} |`);
}

it('docs/review.md says what to do about each reason, as the program does', () => {
  const table = ['| reason | holds up | what to do |', '|---|---|---|', ...rows()].join('\n');
  const text = readFileSync(page, 'utf8');
  const [before, rest = ''] = text.split(begin);
  const [, after] = rest.split(end);
  const expected = `${before}${begin}\n${table}\n${end}${after}`;
  if (process.env['UPDATE_DOCS']) writeFileSync(page, expected);
  expect(readFileSync(page, 'utf8')).toBe(expected);
});
