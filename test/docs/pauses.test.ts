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
  accepted: 'an accepted order',
  verdict: 'another verdict about an order',
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
  return count === 1 ? '1 entry' : `${count} entries in a row`;
}

/** The evidence of reasons that no outcome alone gives. */
const otherEvidence: Partial<Record<EvidenceReason, string>> = {
  unread_fields: 'orders with fields of units that the mapping does not read',
  product_denied: 'a second 401 or 403, with another product accepted in between',
};

function evidenceOf(reason: EvidenceReason): string {
  const names = evidenceRules[reason].rows.map((row) => `\`${row}\``).join(', ');
  if (reason === 'product_refused')
    return `${names}, each confirmed by a lookup, of orders that name no eSIM`;
  if (names !== '') return names;
  return otherEvidence[reason] ?? 'lookups prove that an order did not arrive';
}

function evidenceRow(reason: EvidenceReason): string {
  const rule = evidenceRules[reason];
  const family =
    rule.familyEntries === null ? '' : `; family, after ${rule.familyEntries} of two products`;
  const scope = `${rule.scope}, after ${entries(rule.entries)}${family}`;
  return `- \`${reason}\` (${scope}): ${evidenceOf(reason)}. Cleared by ${clearedBy[rule.clearedBy]}; ends by ${endsBy[rule.endsBy]} ${delays(rule)}`;
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
    : [`- \`${row}\` (${scope}): ends by a probe ${delays(delaysOf(row))}`];
};

const render = (): string => `# What pauses a scope

${madeFrom('src/buying/breakers/evidence.ts')} [How sending is decided](../how-sending-is-decided.md) explains the words.

Calls that end in these ways pause a scope. Something that clears the evidence starts the count anew.

${evidenceReasons.map(evidenceRow).join('\n')}

Denials of the API pause at once:

${outcomeRows.flatMap(denialRow).join('\n')}

Further reasons:

- \`connector_unproven\` (family): until its first delivered order or \`queue resume\`, two orders are open
- \`key_of_other_account\` (key): a new key does not know an order of another one. It only looks up its own orders, until its value changes, it knows the order, or \`queue resume\`
  makes its account count
- \`older_copy\` (account): ends by itself, see [Restore](../operating.md#restore)
- \`price_rose\` (product): a unit costs more than before by over \`spend.max_rise_percent\`; ends by \`queue resume\`
- \`manual\` (any scope): ends by \`queue resume\`
`;

it('the page of pauses shows the rules that the worker runs on', () => {
  const text = render();
  expect(pageText('pauses.md', text)).toBe(text);
});
