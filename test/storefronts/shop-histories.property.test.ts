import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { historySteps, playHistory } from './shop-history.ts';
import { writeSkuMap } from './shop-settings.ts';

// More by hand: HISTORIES=100000, with TMPDIR on a disk in memory.
const histories = Number(process.env['HISTORIES'] ?? 60);

describe('a history of an order of a shop', () => {
  it(`buys nothing that is not paid at the claim, nothing twice, and flags what it refuses: ${histories} histories`, {
    timeout: 7_200_000,
  }, async () => {
    const skuMap = writeSkuMap();
    const property = fc.asyncProperty(historySteps, async (steps) => {
      expect(await playHistory(steps, skuMap)).toEqual([]);
    });
    await fc.assert(property, { numRuns: histories });
  });
});
