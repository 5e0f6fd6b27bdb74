import { describe, expect, it } from 'vitest';
import { ended, VirtualWorker } from '../support/virtual-worker.ts';

const sick = 'variant:sick';
const minute = 60_000;

/**
 * A worker with a product whose orders all fail with 500 and never arrive. All other products are
 * delivered.
 */
async function withSickProduct(trusts = true): Promise<VirtualWorker> {
  const worker = await VirtualWorker.start({ trusts });
  const { submit } = worker.api;
  worker.api.submit = (product) =>
    product === 'sick' ? { end: ended('server_error', 500), tookMs: 50 } : submit(product);
  return worker;
}

const sickLines = Array.from({ length: 6 }, () => 'sick');

describe('a product whose orders end without a clear answer and never arrive', () => {
  it('has one unknown outcome at most, and holds up nothing else', async () => {
    const worker = await withSickProduct();
    await worker.accept([
      ...sickLines,
      ...Array.from({ length: 50 }, (_, index) => `card-${index}`),
    ]);
    await worker.until(() => worker.counts().fulfilled === 50, minute);
    const { unknown, sending, pending } = worker.counts();
    expect({ open: unknown + sending, pending }).toEqual({ open: 1, pending: 5 });
  });

  it('is paused after three proven absences, and what is absent waits with its outcome known', async () => {
    const worker = await withSickProduct();
    await worker.accept(sickLines);
    await worker.until(() => worker.logged('scope paused').length > 0, 60 * minute, 1000);
    expect(await worker.pauses()).toMatchObject([{ scope: sick, reason: 'order_absent' }]);
    const { waiting, unknown } = worker.counts();
    expect(waiting).toBeGreaterThanOrEqual(3);
    expect(unknown).toBeLessThanOrEqual(1);
    const sent = worker.sent('sick');
    await worker.pass(4 * minute, 1000);
    expect(worker.sent('sick')).toBe(sent);
  });

  it('is tried by one order at a time, later each time, and a success ends the pause and buys each line once', async () => {
    const worker = await withSickProduct();
    const { submit } = worker.api;
    await worker.accept(sickLines);
    await worker.until(() => worker.logged('scope paused').length > 0, 60 * minute, 1000);
    const before = worker.sent('sick');
    await worker.until(() => worker.sent('sick') > before, 60 * minute, 1000);
    await worker.pass(4 * minute, 1000);
    expect(worker.sent('sick')).toBe(before + 1);
    expect((await worker.pauses())[0]?.probes).toBe(1);
    worker.api.submit = (product) =>
      product === 'sick' ? { end: ended('out_of_stock', 422), tookMs: 50 } : submit(product);
    await worker.until(() => worker.logged('scope resumed').length > 0, 60 * minute, 1000);
    expect(await worker.pauses()).toEqual([]);
  });

  it('is never believed to be absent while no lookup has ever found an order', async () => {
    const worker = await withSickProduct(false);
    await worker.accept(sickLines);
    await worker.pass(60 * minute, 5000);
    expect(worker.counts()).toMatchObject({ unknown: 1, pending: 5, waiting: 0 });
    expect(await worker.pauses()).toEqual([]);
  });
});

describe('an order that arrives after it was proven absent', () => {
  it('is not bought again: the same reference brings the first answer', async () => {
    const worker = await withSickProduct();
    await worker.accept(['sick']);
    await worker.until(() => worker.counts().waiting === 1, 60 * minute, 1000);
    const [first] = await references(worker);
    worker.api.submit = () => ({ end: ended('out_of_stock', 422), tookMs: 50 });
    await worker.until(() => worker.counts().waiting === 0, 60 * minute, 1000);
    expect(new Set(await references(worker))).toEqual(new Set([first]));
  });
});

/** The references under which the one line was sent. */
async function references(worker: VirtualWorker): Promise<readonly string[]> {
  const { document } = worker.outbox.store.read.resultDocument(1);
  return document.lines.flatMap(({ entries }) => entries.map(({ reference }) => reference));
}
