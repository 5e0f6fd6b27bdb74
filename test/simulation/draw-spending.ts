import { spendSection } from '../../src/buying/spending/settings.ts';
import { moneyText } from './api-answers.ts';
import {
  esimLine,
  plainLine,
  plainProduct,
  type CrashPlan,
  type OrderBatch,
  type RunPlan,
} from './run-plan.ts';
import { costOfLine } from './held-by-limits.ts';
import type { Product } from './sim-account.ts';
import type { SeededRandom } from './seeded-random.ts';

function drawBatches(random: SeededRandom): OrderBatch[] {
  const kinds = [
    { variant: 'card1' },
    { variant: 'card2' },
    { ...esimLine, plan: 'plan1', days: 1 },
    { ...esimLine, plan: 'plan1', days: 30 },
  ];
  return Array.from({ length: random.int(8, 20) }, (_, index): OrderBatch => {
    const kind = kinds[index < kinds.length ? index : random.int(0, kinds.length - 1)];
    const line = {
      ...plainLine,
      ...kind,
      orderId: `o${index + 1}`,
      // The first of each kind teach what it costs.
      quantity: index < kinds.length ? 1 : random.pick(1, 1, 2),
      currency: random.pick('USD', 'USD', 'USD', 'EUR'),
    };
    const atMs = index < kinds.length ? 0 : random.int(20_000, 600_000);
    return { atMs, lines: [line], againAtMs: [] };
  });
}

/** The call is on its way: its order may be bought. */
const killAfterSending = (random: SeededRandom): CrashPlan => ({
  // Most orders of a limited run are sent between these calls.
  afterPorts: random.int(100, 700),
  atPlace: 'http.spend >',
  kind: random.pick('kill', 'power'),
  downMs: random.pick(1, 5000),
});

/** More is ordered than the limits on spending let through at once; some prices rise. */
export function withSpendLimits(random: SeededRandom, plan: RunPlan): RunPlan {
  const isOther =
    plan.faultProfile === 'cached' ||
    plan.lostDiskAtMs !== null ||
    plan.intake !== null ||
    plan.troubles.products.size > 0;
  if (!random.chance(0.12) || isOther) return plan;
  const product = (): Product => ({ ...plainProduct, priceCents: random.int(10, 2000) });
  const products = new Map(['card1', 'card2', 'plan1'].map((name) => [name, product()]));
  const rising = random.pick('card1', 'plan1');
  if (random.chance(0.35))
    products.set(rising, {
      ...product(),
      rise: { atMs: random.int(60_000, 600_000), percent: random.pick(10, 19, 50, 900) },
    });
  const batches = drawBatches(random);
  const costs = batches
    .flatMap(({ lines }) => lines)
    .filter(({ currency }) => currency === 'USD')
    .map((line) => costOfLine(line, products));
  const all = costs.reduce((sum, cost) => sum + cost, 0);
  const limit = (per: 'hour' | 'day', share: number) => ({
    amount: `${moneyText(Math.max(...costs, Math.ceil(all * share)))} USD`,
    per,
  });
  const limits = random.chance(0.85)
    ? [limit('hour', random.pick(0.1, 0.25, 0.5))]
    : [limit('hour', 0.5), limit('day', 0.7)];
  return {
    ...plan,
    settings: {
      ...plan.settings,
      concurrency: random.pick(2, 4, 8),
      // Longer than the faults: lookups that fail for so long are no reason for a review.
      placedDeadlineMs: 7_200_000,
      spending: spendSection.parse({ limits }),
    },
    readings: { ...withoutStrangeCosts(plan), costShown: true },
    account: {
      ...plan.account,
      products,
      balances: { USD: 1_000_000_000, EUR: 1_000_000_000 },
    },
    batches,
    replacements: [],
    reloads: [],
    crashes: random.chance(0.5) ? [...plan.crashes, killAfterSending(random)] : plan.crashes,
    faultShare: Math.min(plan.faultShare, 0.6),
    faultsOffMs: Math.max(plan.faultsOffMs, random.pick(300_000, 900_000, 4_500_000)),
  };
}

function withoutStrangeCosts({ readings }: RunPlan): RunPlan['readings'] {
  const { strangeCosts: _strangeCosts, ...others } = readings;
  return others;
}
