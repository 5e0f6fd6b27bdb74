import { expect, it } from 'vitest';
import type { OrderAnswer } from '../../../src/core/answers/order-answer.ts';
import { spendSection } from '../../../src/buying/spending/settings.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { delivered, ended, VirtualWorker } from '../../support/virtual-worker.ts';

const hourMs = 3_600_000;
const products = { cheap: 100, usual: 473, dear: 2500 } as const;
const isProduct = (name: string): name is keyof typeof products => name in products;

interface Sale {
  readonly atMs: number;
  readonly cents: number;
  readonly answer: OrderAnswer;
}

/**
 * An API that loses answers before and after it has sold, refuses, and limits the rate; calls take
 * up to a minute. What is sold counts from the end of its call, at the latest.
 */
function unreliableApi(worker: VirtualWorker, random: SeededRandom) {
  const sales = new Map<string, Sale>();
  let isFaulty = false;
  worker.api.submit = (product, reference = '') => {
    const known = sales.get(reference);
    const tookMs = random.pick(50, 50, 2000, 60_000);
    const fate = isFaulty ? random.next() : 1;
    if (known === undefined && fate < 0.1) return { end: ended('deadline'), tookMs };
    if (known === undefined && fate < 0.15) return { end: ended('out_of_stock', 409), tookMs };
    if (fate < 0.2) return { end: ended('rate_limited', 429), tookMs };
    const { answer } = delivered();
    if (answer === null || !isProduct(product)) throw new Error('a known product is delivered');
    const cents = products[product];
    const sold = { ...answer, cost: (cents / 100).toFixed(2), currency: 'USD' };
    const sale = known ?? { atMs: worker.machine.steadyMs(), cents, answer: sold };
    sales.set(reference, sale);
    if (fate < 0.35) return { end: ended('dropped'), tookMs };
    // The call was doubled on its way, and this answers its second copy.
    if (fate < 0.4) return { end: ended('rate_limited', 429), tookMs };
    return { end: { ...delivered(), answer: sale.answer }, tookMs };
  };
  worker.api.lookUp = (reference = '') => {
    const sale = sales.get(reference);
    const tookMs = random.pick(50, 5000);
    if (isFaulty && random.chance(0.2))
      return { end: { kind: 'failed', outcome: ended('deadline') }, tookMs };
    const end =
      sale === undefined
        ? ({ kind: 'absent' } as const)
        : ({ kind: 'found', answer: sale.answer } as const);
    return { end, tookMs };
  };
  return { sales, beginFaults: () => void (isFaulty = true) };
}

it.each(Array.from({ length: Number(process.env['SPEND_RUNS'] ?? 12) }, (_, seed) => seed + 1))(
  'nothing above a limit is spent in any hour or day, and what is under it is bought: seed %i',
  async (seed) => {
    const random = new SeededRandom(seed);
    const perHour = random.int(3000, 9000);
    const perDay = random.int(9000, 20_000);
    const spending = spendSection.parse({
      limits: [
        { amount: `${(perHour / 100).toFixed(2)} USD`, per: 'hour' },
        { amount: `${(perDay / 100).toFixed(2)} USD`, per: 'day' },
      ],
    });
    const worker = await VirtualWorker.start({ spending, maxIdleDelayMs: 30_000 });
    const { sales, beginFaults } = unreliableApi(worker, random);
    // The price of each product is known before the limits matter.
    for (const product of Object.keys(products)) {
      await worker.accept([product]);
      worker.dispatcher.notify();
      const count = sales.size + 1;
      await worker.until(() => worker.counts().fulfilled === count, 300_000);
    }
    beginFaults();
    for (let batch = 0; batch < 6; batch += 1) {
      await worker.accept(
        Array.from({ length: 25 }, () => random.pick('cheap', 'usual', 'usual', 'dear')),
      );
      worker.dispatcher.notify();
      await worker.pass(random.int(1, 8) * hourMs, 10_000);
    }
    const sold = [...sales.values()];
    const within = (endMs: number, windowMs: number): number =>
      sold
        .filter(({ atMs }) => atMs <= endMs && atMs > endMs - windowMs)
        .reduce((sum, { cents }) => sum + cents, 0);
    const most = (windowMs: number): number =>
      Math.max(...sold.map(({ atMs }) => within(atMs, windowMs)));
    expect(most(hourMs)).toBeLessThanOrEqual(perHour);
    expect(most(24 * hourMs)).toBeLessThanOrEqual(perDay);
    // There was always more to buy than a day allows.
    expect(most(24 * hourMs)).toBeGreaterThan(perDay - 2500);
    // Most of what is released is bought, and is not held again and again.
    const released = worker
      .logged('orders that were held by a spending limit can be bought now')
      .reduce((sum, entry) => sum + Number(entry['released']), 0);
    expect(released).toBeLessThanOrEqual(4 * sold.length);
    const booked = worker.outbox.rows<{ sum: number }>(
      "SELECT sum(millionths) / 10000 AS sum FROM charges WHERE currency = 'USD'",
    );
    const fulfilled = worker.outbox.rows<{ reference: string }>(
      "SELECT reference FROM outbox WHERE state = 'fulfilled'",
    );
    const told = fulfilled.reduce(
      (sum, entry) => sum + (sales.get(entry.reference)?.cents ?? 0),
      0,
    );
    expect(booked).toEqual([{ sum: told }]);
  },
);
