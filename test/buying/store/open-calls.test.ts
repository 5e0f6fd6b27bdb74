import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AcceptableLine } from '../../../src/core/order/order-request.ts';
import { close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

async function boxOf(...lines: Partial<AcceptableLine>[]): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(lines.map((each, index) => line({ orderId: `o${index}`, ...each })));
  return box;
}
const of = (variant: string, count: number, changes: Partial<AcceptableLine> = {}) =>
  Array.from({ length: count }, () => ({ variant, ...changes }));

/** Claims as long as something may start; returns the products. */
async function sent(
  box: Outbox,
  most: number,
  isProven: boolean,
  nowMs = 2000,
): Promise<readonly (string | null)[]> {
  const products: (string | null)[] = [];
  for (;;) {
    const known = { isFailing: () => false, isProven: () => isProven, manyFail: () => false };
    const claim = box.claim({ maxUnknownOutcomes: most, products: known, nowMs });
    const attempt = await stepsOf(box.store).openAttempt(claim);
    if (attempt === null) return products;
    products.push(attempt.entry.variant);
  }
}
const later = { ...nothing, dueAtMs: 99_000_000 };

describe('unknown outcomes and calls under way', () => {
  it('are counted together, and never more than allowed, also after a restart', async () => {
    const box = await boxOf(...['a', 'b', 'c', 'd', 'e', 'f'].flatMap((variant) => of(variant, 3)));
    await stepsOf(box.store).closeAttempt(close(await box.opened(), later));
    expect(await sent(box, 5, true)).toHaveLength(4);
    await box.reopen();
    expect(await sent(box, 5, true)).toEqual([]);
    expect(await sent(box, 6, true)).toHaveLength(1);
    // The limit was lowered meanwhile.
    expect(await sent(box, 2, true)).toEqual([]);
  });

  it('leave no place to a product with two unknown outcomes, and all others have theirs', async () => {
    const box = await boxOf(...of('sick', 5));
    for (let time = 0; time < 2; time += 1)
      await stepsOf(box.store).closeAttempt(close(await box.opened(), later));
    await box.accept([
      line({ orderId: 'w1', variant: 'well' }),
      line({ orderId: 'w2', variant: 'well' }),
    ]);
    expect(await sent(box, 8, true)).toEqual(['well', 'well']);
    expect(box.store.read.counts()).toMatchObject({ unknown: 2, sending: 2, pending: 3 });
  });

  it('of a product that was never bought is one, and of a proven one three quarters of all', async () => {
    const box = await boxOf(...of('new', 9));
    expect(await sent(box, 8, false)).toHaveLength(1);
    expect(await sent(box, 8, true)).toHaveLength(5);
  });

  it('leave a place as soon as one is known', async () => {
    const box = await boxOf(...of('a', 4));
    const first = await box.opened();
    expect(await sent(box, 3, true)).toHaveLength(1);
    await stepsOf(box.store).closeAttempt(close(first, fulfilled));
    expect(await sent(box, 3, true)).toHaveLength(1);
  });

  it('do not grow when an entry of unknown outcome is sent again', async () => {
    const box = await boxOf(...of('a', 3));
    await stepsOf(box.store).closeAttempt(
      close(await box.opened(), { ...nothing, nextStep: 'send' }),
    );
    expect(await sent(box, 1, true, 4000)).toEqual(['a']);
    expect(box.store.read.counts()).toMatchObject({ sending: 1, pending: 2 });
    expect(await sent(box, 3, true, 4000)).toEqual(['a']);
  });

  it('of one product never take every place, also where only two are allowed', async () => {
    const box = await boxOf(...of('a', 3), ...of('b', 1));
    expect(await sent(box, 2, true)).toEqual(['a', 'b']);
  });

  it('of one product delay a single order of another by one call, however large the backlog', async () => {
    const box = await boxOf(...of('a', 300), ...of('b', 1));
    const products = [];
    for (let time = 0; time < 2; time += 1) {
      const attempt = await box.opened();
      products.push(attempt.entry.variant);
      await stepsOf(box.store).closeAttempt(close(attempt, fulfilled));
    }
    expect(products).toContain('b');
  });
});
