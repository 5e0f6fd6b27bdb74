import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSubmission } from '../support/submission.ts';

describe('a 429 that the budget does not explain', () => {
  it('makes the key back off and then throttles it, also after a restart', {
    timeout: 60_000,
  }, async () => {
    const floorMs = 3000;
    const worker = await startSubmission({
      sandbox: {
        limits: { enabled: false },
        faults: [
          {
            fault: { fault: 'rate_limited', retry_after_s: floorMs / 1000 },
            match: { operation: 'gift_card_order' },
            at: [1],
          },
        ],
      },
      limits: { windowMs: 2000, requests: 6, orders: 4, transitMs: 100 },
      retryTimeScale: 0,
      concurrency: 4,
    });
    try {
      await worker.accept([{}]);
      const rateLimited = performance.now();
      await worker.logged('gift_card_order waiting');
      await worker.accept([{}, {}, {}]);
      await worker.restart();
      await worker.settled();
      // As the worker started them: how long each was on its way is the machine's affair.
      const database = new SqliteDatabase(worker.databasePath, { readonly: true });
      onTestFinished(() => void database.close());
      const times = database
        .prepare<[], number>(
          "SELECT opened_at_ms FROM attempts WHERE purpose = 'submit' ORDER BY id",
        )
        .pluck()
        .all();
      expect(times).toHaveLength(5);
      const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
      expect(waits[0]).toBeGreaterThanOrEqual(floorMs - 50);
      // Nine tenths of four in two seconds: one in 555 ms, where four at once would be within the
      // budget.
      for (const wait of waits.slice(1)) expect(wait).toBeGreaterThanOrEqual(545);
      expect(performance.now() - rateLimited).toBeGreaterThan(floorMs);
    } finally {
      await worker.close();
    }
  });
});
