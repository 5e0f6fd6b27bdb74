import { expect, it } from 'vitest';
import { decisionTable, type PauseKind } from '../../src/buying/decision/decision-table.ts';
import { outcomeRows, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import {
  evidenceReasons,
  evidenceRules,
  type ClearedBy,
  type EvidenceReason,
} from '../../src/buying/breakers/evidence.ts';
import { delaysOf } from '../../src/buying/breakers/pauses.ts';
import { madeFrom, pageText } from './generated-page.ts';

const clearedBy: Record<ClearedBy, string> = {
  accepted: 'an order of the scope that the API accepts',
  verdict: 'any other verdict of the API about an order of the scope',
  answer: 'any answer of the API itself',
};
const endsBy = { probe: 'a probe', trial: 'a trial order' };

function duration(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : `${ms / 60_000} min`;
}

const delays = ({ firstMs, maxMs }: { firstMs: number; maxMs: number }): string =>
  firstMs === maxMs
    ? `every ${duration(firstMs)}`
    : `after ${duration(firstMs)}, doubling up to ${duration(maxMs)}`;

function entries(count: number): string {
  return count === 1 ? '1 entry' : `${count} different entries in a row`;
}

/** The evidence of reasons that no outcome alone gives. */
const otherEvidence: Partial<Record<EvidenceReason, string>> = {
  unread_fields: 'accepted orders whose units have fields that the mapping does not read',
  product_denied: 'a second 401 or 403 for it, after another product was accepted since the first',
};

function evidenceOf(reason: EvidenceReason): string {
  const names = evidenceRules[reason].rows.map((row) => `\`${row}\``).join(', ');
  if (names !== '') return names;
  return otherEvidence[reason] ?? 'lookups prove that the order did not arrive';
}

function evidenceRow(reason: EvidenceReason): string {
  const rule = evidenceRules[reason];
  const family =
    rule.familyEntries === null ? '' : `; the family after ${rule.familyEntries} of two products`;
  const cells = [
    `\`${reason}\``,
    evidenceOf(reason),
    `${rule.scope}, after ${entries(rule.entries)}${family}`,
    clearedBy[rule.clearedBy],
    `${endsBy[rule.endsBy]} ${delays(rule)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The scope that an outcome denies at once; null for one that denies none. */
function denied(row: OutcomeRow): PauseKind | null {
  const kinds = new Set(Object.values(decisionTable[row]).map((cell) => cell.pause ?? null));
  expect(kinds.size, `${row} denies the same scope in every column`).toBe(1);
  return [...kinds][0] ?? null;
}

const denialRow = (row: OutcomeRow): string[] => {
  const scope = denied(row);
  return scope === null
    ? []
    : [`| \`${row}\` | ${scope}, at once | a probe ${delays(delaysOf(row))} |`];
};

const render = (): string => `# What pauses a scope

${madeFrom('src/buying/breakers/evidence.ts')} [How sending is decided](../how-sending-is-decided.md) explains the words.

| reason | evidence: calls that end as | scope that is paused | the run is over after | the pause ends by |
|---|---|---|---|---|
${evidenceReasons.map(evidenceRow).join('\n')}

The API denies:

| reason | scope that is paused | the pause ends by |
|---|---|---|
${outcomeRows.flatMap(denialRow).join('\n')}

| further reason | scope | ends |
|---|---|---|
| \`connector_unproven\` | a family | by its first delivered order, or \`queue resume family:<family>\`; until then two orders are open, those in review included |
| \`key_of_other_account\` | a key that was never used and does not know an order that another one bought; it only looks up what was sent with it | by another value, by itself when it knows the order, or \`queue resume key:<name>\`, from when on its account counts |
| \`older_copy\` | the account | by itself, see [Restore](../operating.md#restore) |
| \`manual\` | any | an operator resumes it |
`;

it('the page of pauses shows the rules that the worker runs on', () => {
  const text = render();
  expect(pageText('pauses.md', text)).toBe(text);
});
