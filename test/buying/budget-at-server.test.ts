import { describe, expect, it } from 'vitest';
import { startSubmission, type Submission } from '../support/submission.ts';

// Long enough that the round trip, which every slot pays for once a window, stays far below one
// percent.
const windowMs = 10_000;
const ceiling = 20;

async function underLimits(
  jitterMs: [number, number],
  use: (worker: Submission) => Promise<void>,
): Promise<void> {
  const worker = await startSubmission({
    sandbox: {
      limits: { enabled: true, window_ms: windowMs, orders: ceiling, requests: 60 },
      latency: { before_ms: jitterMs, after_ms: jitterMs },
    },
    limits: { windowMs, orders: ceiling, requests: 60, transitMs: 1000 },
    concurrency: 20,
    // As many calls may be under way as one window allows: what is measured is the budget.
    maxUnknownOutcomes: 40,
  });
  try {
    await use(worker);
  } finally {
    await worker.close();
  }
}

// Both wait most of the time, so they wait together.
describe.concurrent('the budget, as the server counts it in a sliding window', () => {
  // Repeated when a machine that is busy with other things made the round trips long: the count of
  // 429s is hard each time.
  it(
    'is never exceeded under jitter, and used to at least 99 % of the ceiling',
    { timeout: 60_000, retry: 2 },
    () =>
      underLimits([0, 30], async (worker) => {
        await worker.accept(Array.from({ length: 61 }, () => ({})));
        await worker.settled();
        const [key] = worker.sandbox.ledger().keys;
        const arrivals = (key?.orders_at ?? []).toSorted((a, b) => a - b);
        expect(arrivals).toHaveLength(61);
        expect(key?.limited).toBe(0);
        expect(key?.max_orders_in_window).toBe(ceiling);
        // 20 at once, and then 20 in every window: the 61st can arrive three windows after the first
        // at the earliest.
        const used = (3 * windowMs) / ((arrivals[60] ?? 0) - (arrivals[0] ?? 0));
        expect(used).toBeGreaterThanOrEqual(0.99);
        expect(used).toBeLessThanOrEqual(1);
      }),
  );

  it('is remembered by a worker that is restarted within a window', () =>
    underLimits([0, 30], async (worker) => {
      await worker.accept(Array.from({ length: 30 }, () => ({})));
      const { sandbox } = worker;
      while (sandbox.ledger().orders.length < ceiling)
        await new Promise((resolve) => void setTimeout(resolve, 5));
      await worker.restart();
      await worker.settled();
      const [key] = sandbox.ledger().keys;
      expect(key).toMatchObject({ limited: 0, max_orders_in_window: ceiling });
      expect(sandbox.ledger().orders).toHaveLength(30);
    }));
});
