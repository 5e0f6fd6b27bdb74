import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { attentionReasons, holdsUp, whatToDo, type AttentionReason } from '../../src/core/operator/attention.ts';

const page = resolve(import.meta.dirname, '../../docs/review.md');
const begin = '<!-- attention: begin -->';
const end = '<!-- attention: end -->';

const isReason = (name: string): name is AttentionReason => name in attentionReasons;

function row(reason: AttentionReason): string {
  const held = attentionReasons[reason].holdsUp === null ? 'the scope' : holdsUp(reason, null);
  return `| \`${reason}\` | ${held} | ${whatToDo(reason)} |`;
}

it('docs/review.md says what to do about each reason, as the program does', () => {
  const reasons = Object.keys(attentionReasons).filter(isReason).map(row);
  const table = ['| reason | holds up | what to do |', '|---|---|---|', ...reasons].join('\n');
  const text = readFileSync(page, 'utf8');
  const [before, rest = ''] = text.split(begin);
  const [, after] = rest.split(end);
  const expected = `${before}${begin}\n${table}\n${end}${after}`;
  if (process.env['UPDATE_DOCS']) writeFileSync(page, expected);
  expect(readFileSync(page, 'utf8')).toBe(expected);
});
