import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HistoryOutbox, skusOfHistories } from './history-outbox.ts';
import { historySteps, playHistory } from './shop-history.ts';
import { writeSkuMap } from './shop-settings.ts';

// More by hand: HISTORIES=100000, with TMPDIR on a disk in memory.
const histories = Number(process.env['HISTORIES'] ?? 300);

describe('a history of an order of a shop', () => {
  it(`buys nothing that is not paid at the claim, nothing twice, and flags what it refuses: ${histories} histories`, {
    timeout: 7_200_000,
  }, async () => {
    const skuMap = writeSkuMap(skusOfHistories);
    let place = await HistoryOutbox.open(skuMap);
    const property = fc.asyncProperty(historySteps, async (steps) => {
      const problems = await playHistory(steps, place);
      if (problems.length > 0 || !place.canGoOn()) {
        await place.close();
        place = await HistoryOutbox.open(skuMap);
      }
      expect(problems).toEqual([]);
    });
    try {
      await fc.assert(property, { numRuns: histories });
    } finally {
      await place.close();
    }
  });
});
