import { describe, expect, it } from 'vitest';
import { ended, VirtualWorker } from '../support/virtual-worker.ts';

const products = (count: number) => Array.from({ length: count }, (_, index) => `card-${index}`);
const hangs = { kind: 'failed', outcome: ended('deadline') } as const;
const notYet = () =>
  ({
    ...ended('accepted', 200),
    answer: {
      orderNumber: null,
      reference: null,
      status: 'processing',
      statusClass: 'pending',
      cost: null,
      currency: null,
      units: [],
    },
  }) as const;

/** A worker with so many accepted orders that are due for a poll, and a proven connector. */
async function withPlaced(orders: number, concurrency: number): Promise<VirtualWorker> {
  const worker = await VirtualWorker.start({ concurrency, maxUnknownOutcomes: 20 });
  await worker.accept(['first']);
  await worker.until(() => worker.sent() === 1, 5000);
  await worker.pass(1000);
  const { submit } = worker.api;
  worker.api.submit = () => ({ end: notYet(), tookMs: 50 });
  await worker.accept(products(orders));
  await worker.until(() => worker.sent() === orders + 1, 20_000);
  worker.api.submit = submit;
  return worker;
}

describe('polls that hang', () => {
  it.each([9, 3])(
    'have a third of %i calls while there is something to send',
    async (concurrency) => {
      const worker = await withPlaced(12, concurrency);
      const { submit } = worker.api;
      worker.api.submit = (product) => ({ ...submit(product), tookMs: 1000 });
      worker.api.lookUp = () => ({ end: hangs, tookMs: 10_000 });
      await worker.accept(Array.from({ length: 100 }, () => 'card'));
      let most = 0;
      await worker.until(() => {
        if (worker.counts().pending === 0) return true;
        most = Math.max(most, worker.underWay('lookup'));
        return false;
      }, 300_000);
      expect(most).toBe(concurrency / 3);
      expect(worker.counts().pending).toBe(0);
    },
  );

  it('have all calls while there is nothing to send', async () => {
    const worker = await withPlaced(20, 9);
    worker.api.lookUp = () => ({ end: hangs, tookMs: 30_000 });
    await worker.until(() => worker.underWay('lookup') === 9, 20_000);
    expect(worker.underWay('lookup')).toBe(9);
  });

  it('starve no order where only one call is made at a time', async () => {
    const worker = await withPlaced(4, 1);
    worker.api.lookUp = () => ({ end: hangs, tookMs: 30_000 });
    await worker.pass(10_000);
    await worker.accept(products(3));
    expect(await worker.until(() => worker.counts().fulfilled === 4, 300_000)).toBeLessThan(
      120_000,
    );
  });
});

describe('orders that take long', () => {
  it('leave a third of the calls to the lookups as soon as one is due', async () => {
    const worker = await withPlaced(12, 9);
    const { submit } = worker.api;
    worker.api.submit = (product) => ({ ...submit(product), tookMs: 20_000 });
    worker.api.lookUp = () => ({ end: hangs, tookMs: 20_000 });
    await worker.accept(products(100));
    await worker.until(() => worker.underWay('submit') === 9, 10_000);
    // The polls are due after some seconds; the first orders end after twenty.
    await worker.pass(30_000);
    expect({ lookups: worker.underWay('lookup'), sends: worker.underWay('submit') }).toEqual({
      lookups: 3,
      sends: 6,
    });
  });
});
