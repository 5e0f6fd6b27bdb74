import { describe, expect, it } from 'vitest';
import {
  formRefusals,
  isRefusedInARow,
  tellingRows,
  type JudgedCall,
} from '../../../src/core/decision/consecutive-rejections.ts';

const nowMs = 10_000_000;
const five: readonly JudgedCall[] = [1, 2, 3, 4, 5].map((entryId) => ({
  entryId,
  row: 'invalid_request',
  atMs: nowMs - entryId * 60_000,
}));
const changed = (changes: Partial<JudgedCall>): readonly JudgedCall[] =>
  five.map((call, index) => (index === 2 ? { ...call, ...changes } : call));

describe('refusals of the form of a request', () => {
  it('stop a family when five different orders in a row meet them', () => {
    expect(isRefusedInARow(five, nowMs)).toBe(true);
    expect(isRefusedInARow(changed({ row: 'unlisted_code' }), nowMs)).toBe(true);
  });

  it.each<[string, readonly JudgedCall[]]>([
    ['there are fewer', five.slice(0, 4)],
    ['one was understood', changed({ row: 'accepted' })],
    ['one was refused for what it asked', changed({ row: 'out_of_stock' })],
    ['one order met two of them', changed({ entryId: 1 })],
    ['they are spread over days', changed({ atMs: nowMs - 3_600_001 })],
  ])('stop nothing when %s', (_why, calls) => {
    expect(isRefusedInARow(calls, nowMs)).toBe(false);
  });

  it('are counted among the ends that tell what the API thinks of a request, and shut doors are not', () => {
    for (const row of formRefusals) expect(tellingRows).toContain(row);
    for (const row of ['invalid_key', 'rate_limited', 'dropped', 'api_disabled', 'crashed'] as const)
      expect(tellingRows).not.toContain(row);
  });
});
