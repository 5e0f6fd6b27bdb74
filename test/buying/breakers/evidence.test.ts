import { describe, expect, it } from 'vitest';
import { decisionTable } from '../../../src/buying/decision/decision-table.ts';
import { outcomeRowFrom } from '../../../src/core/answers/outcome.ts';
import {
  evidenceReasons,
  evidenceRule,
  evidenceRules,
  neverLeftRows,
  unansweredRows,
} from '../../../src/buying/breakers/evidence.ts';

describe('the rules of evidence', () => {
  it.each(evidenceReasons)(
    '%s pauses a family only after more than its product, and is tried at least every four hours',
    (reason) => {
      const { entries, familyEntries, firstMs, maxMs } = evidenceRules[reason];
      expect(familyEntries ?? Number.POSITIVE_INFINITY).toBeGreaterThan(entries);
      expect(firstMs).toBeLessThanOrEqual(maxMs);
      expect(maxMs).toBeLessThanOrEqual(4 * 3_600_000);
    },
  );

  it('have no rule for a denial, an operator, or a word that every object knows', () => {
    for (const reason of [
      'api_disabled',
      'manual',
      'connector_unproven',
      'constructor',
      '__proto__',
      '',
    ])
      expect(evidenceRule(reason)).toBeNull();
  });

  it('call the API silent only where its own words are missing', () => {
    for (const row of [...neverLeftRows, ...unansweredRows])
      expect(['unknown', 'again']).toContain(decisionTable[row].clean.verdict);
    for (const row of [
      'accepted',
      'rate_limited',
      'server_error',
      'unreadable_success',
      'cut_answer',
      'shutdown',
      'crashed',
    ])
      expect(unansweredRows).not.toContain(outcomeRowFrom(row));
  });
});
