import type { OrderRules } from '../../src/core/order-request.ts';
import { withScarceStock } from './draw-scarcity.ts';
import type { OrderBatch, RunPlan } from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';

/**
 * The outbox is gone, and with it what it knew of refusals, deadlines and people; nobody tells the new one. What is left
 * to promise is that no reference buys twice, as far as the API answers a known reference before anything else.
 */
export function withLostDisk(random: SeededRandom, plan: RunPlan): RunPlan {
  const batches = plan.batches.map((batch) => ({
    ...batch,
    lines: batch.lines.map((line) => ({ ...line, notAfterMs: null, rules: {} })),
  }));
  return {
    ...plan,
    readings: { ...plan.readings, replay: 'first' },
    batches,
    acts: [],
    lostDiskAtMs: random.int(1000, plan.faultsOffMs + 60_000),
  };
}

const rulesThatMove: readonly OrderRules[] = [
  { fallback_currency: 'EUR' },
  { fallback_currency: 'USD' },
  { split: true },
  { partial: true },
  { split: true, partial: true },
  { split: true, fallback_currency: 'EUR' },
  { partial: true, fallback_currency: 'EUR' },
];

/**
 * The outbox is gone, and the new one is made as `init --after-loss` makes it. Deadlines, rules, people and every reading
 * of the API stay: what may stand under another reference, and what came in time, has to be looked up.
 */
export function withLossLookedUp(random: SeededRandom, plan: RunPlan): RunPlan {
  const lostDiskAtMs = random.int(Math.floor(plan.faultsOffMs / 6), plan.faultsOffMs + 60_000);
  const batches = plan.batches.map((batch): OrderBatch => {
    const lines = batch.lines.map((line) => {
      const rules = rulesThatMove[random.int(0, rulesThatMove.length - 1)] ?? {};
      const quantity = random.pick(1, 2, 4, 5);
      if (!random.chance(0.6) || line.operation === 'esim_cancel') return line;
      return line.operation === 'gift_card_order' ? { ...line, rules, quantity } : { ...line, rules };
    });
    return { ...batch, lines };
  });
  // Money and stock come back around the loss: what was refused before it, and bought in another way, would be sold now.
  const backAtMs = lostDiskAtMs + random.pick(-20_000, 60_000);
  const poor = random.chance(0.5);
  const [USD, EUR] = [random.int(0, 4000), random.int(4000, 20_000)];
  const market = poor ? { ...plan.market, balances: { USD, EUR }, depositAtMs: backAtMs } : plan.market;
  const lost: RunPlan = { ...plan, batches, market, lostDiskAtMs, looksFirst: true };
  return random.chance(0.4) ? withScarceStock(random, lost) : lost;
}
