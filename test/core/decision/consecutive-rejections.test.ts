import { describe, expect, it } from 'vitest';
import {
  malformedRequestRows,
  isRejectedConsecutively,
  verdictRows,
  type RecentVerdict,
} from '../../../src/core/decision/consecutive-rejections.ts';

const nowMs = 10_000_000;
const five: readonly RecentVerdict[] = [1, 2, 3, 4, 5].map((entryId) => ({
  entryId,
  row: 'invalid_request',
  atMs: nowMs - entryId * 60_000,
}));
const changed = (changes: Partial<RecentVerdict>): readonly RecentVerdict[] =>
  five.map((call, index) => (index === 2 ? { ...call, ...changes } : call));

describe('rejections because of how a request is written', () => {
  it('pause a family when five different orders in a row get them', () => {
    expect(isRejectedConsecutively(five, nowMs)).toBe(true);
    expect(isRejectedConsecutively(changed({ row: 'unlisted_code' }), nowMs)).toBe(true);
  });

  it.each<[string, readonly RecentVerdict[]]>([
    ['there are fewer', five.slice(0, 4)],
    ['one was understood', changed({ row: 'accepted' })],
    ['one was refused for what it asked', changed({ row: 'out_of_stock' })],
    ['one order met two of them', changed({ entryId: 1 })],
    ['they are spread over days', changed({ atMs: nowMs - 3_600_001 })],
  ])('pause nothing when %s', (_why, calls) => {
    expect(isRejectedConsecutively(calls, nowMs)).toBe(false);
  });

  it('are verdicts about an order, and a denied key or account is not', () => {
    for (const row of malformedRequestRows) expect(verdictRows).toContain(row);
    for (const row of ['invalid_key', 'rate_limited', 'dropped', 'api_disabled', 'crashed'] as const)
      expect(verdictRows).not.toContain(row);
  });
});
