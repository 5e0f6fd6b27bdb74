import type { OrderRules } from '../../src/core/order/order-request.ts';
import { withScarceStock } from './draw-scarcity.ts';
import { wallStartMs } from './virtual-time.ts';
import type { Product } from './sim-account.ts';
import { plainLine, plainProduct, type OrderBatch, type RunPlan } from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';

/**
 * The outbox is lost, and with it refusals, deadlines and actions of the operator; the new outbox
 * does not know that it follows a lost one. The one promise left is that no reference buys twice,
 * if the API looks for a known reference first.
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
    operatorActions: [],
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
 * The outbox is lost, and `init --after-loss` makes the new one. Deadlines, rules, the operator and
 * every reading of the API stay, so the worker must look up what may have been bought, and under
 * which reference.
 */
export function withLossLookedUp(random: SeededRandom, plan: RunPlan): RunPlan {
  const lostDiskAtMs = random.int(Math.floor(plan.faultsOffMs / 6), plan.faultsOffMs + 60_000);
  const batches = plan.batches.map((batch): OrderBatch => {
    const lines = batch.lines.map((drawn) => {
      const deadlineMs = random.int(Math.floor(lostDiskAtMs / 2), lostDiskAtMs + 300_000);
      const line = random.chance(0.3) ? { ...drawn, notAfterMs: wallStartMs + deadlineMs } : drawn;
      const rules = rulesThatMove[random.int(0, rulesThatMove.length - 1)] ?? {};
      const quantity = random.pick(1, 2, 4, 5);
      if (!random.chance(0.6) || line.operation === 'esim_cancel') return line;
      return line.operation === 'gift_card_order'
        ? { ...line, rules, quantity }
        : { ...line, rules };
    });
    return { ...batch, lines };
  });
  // Money and stock recover around the loss: an order that was refused before it would be sold now.
  const backAtMs = lostDiskAtMs + random.pick(-20_000, 60_000);
  const poor = random.chance(0.5);
  const [USD, EUR] = [random.int(0, 4000), random.int(4000, 20_000)];
  const money = poor ? { balances: { USD, EUR }, depositAtMs: backAtMs } : {};
  const products = new Map<string, Product>();
  for (const [name, product] of plan.account.products) {
    const limited = random.chance(0.4) && name.startsWith('card');
    products.set(name, limited ? { ...product, limit: random.int(1, 2) } : product);
  }
  const account = { ...plan.account, ...money, products };
  const lost: RunPlan = { ...plan, batches, account, lostDiskAtMs, looksUpFirst: true };
  const scarce = random.chance(0.35)
    ? withPartsBeforeLoss(random, lost)
    : random.chance(0.4)
      ? withScarceStock(random, lost)
      : lost;
  if (random.chance(0.15)) return withLateOrders(random, lost);
  return random.chance(0.4) ? withOlderCopy(random, scarce) : scarce;
}

/**
 * Orders that were bought, and whose deadline passed before the loss. Most lookups do not find them
 * at first: the absence of what could take their place says nothing about them.
 */
function withLateOrders(random: SeededRandom, plan: RunPlan): RunPlan {
  const lostDiskAtMs = Math.max(plan.lostDiskAtMs ?? 0, 200_000);
  const notAfterMs = wallStartMs + random.int(150_000, lostDiskAtMs);
  const late = ['l1', 'l2', 'l3'].map((orderId): OrderBatch => {
    const line = { ...plainLine, orderId, variant: 'whole', notAfterMs };
    return { atMs: random.int(0, 2000), lines: [line], againAtMs: [] };
  });
  // This order comes first, and proves that lookups work.
  const first = { ...plainLine, orderId: 'w1', variant: 'whole' };
  return {
    ...plan,
    settings: {
      ...plan.settings,
      lookup: true,
      maxUnknownOutcomes: 1,
      limits: { ...plan.settings.limits, requests: 12, orders: 4 },
    },
    readings: { ...plan.readings, lookup: true, lookupLagMs: 0 },
    lostDiskAtMs,
    account: {
      ...plan.account,
      products: new Map([['whole', plainProduct]]),
      balances: { USD: 1_000_000, EUR: 1_000_000 },
      denials: [],
    },
    batches: [{ atMs: 0, lines: [first], againAtMs: [] }, ...late],
    replacements: [],
    operatorActions: [],
    crashes: [],
    stops: [],
    faultShare: 0,
    falseNotFoundShare: 0.9,
  };
}

/**
 * In the place of the lost outbox comes a copy of it that was made before, and the worker must
 * notice that.
 */
function withOlderCopy(random: SeededRandom, plan: RunPlan): RunPlan {
  const copyAtMs = random.int(0, plan.lostDiskAtMs ?? 0);
  const older: RunPlan = { ...plan, copyAtMs, ownFiles: true, operatorActions: [] };
  return random.chance(0.5) ? withUnknownInCopy(random, older) : older;
}

/**
 * The copy has orders of unknown outcome. After it was made, their balance refuses them, and the
 * other one pays; after the loss the first one could pay again.
 */
function withUnknownInCopy(random: SeededRandom, plan: RunPlan): RunPlan {
  const copyAtMs = random.int(3000, 20_000);
  const lostDiskAtMs = copyAtMs + random.int(200_000, 300_000);
  const wanted = ['1', '2', '3', '4'].map((digit): OrderBatch => {
    const rules: OrderRules = { fallback_currency: 'EUR' };
    const line = { ...plainLine, orderId: `u${digit}`, variant: `unknown${digit}`, rules };
    return { atMs: random.int(0, 3000), lines: [line], againAtMs: [] };
  });
  // The first of these orders proves that lookups work. The others are sent just before the loss:
  // the copy does not know that.
  const whole = ['w1', 'w2', 'w3', 'w4', 'w5'].map((orderId, index): OrderBatch => {
    const line = { ...plainLine, orderId, variant: 'whole', currency: 'EUR' };
    return { atMs: index === 0 ? 0 : lostDiskAtMs - 3000, lines: [line], againAtMs: [] };
  });
  const names = ['whole', 'unknown1', 'unknown2', 'unknown3', 'unknown4'];
  return {
    ...plan,
    settings: {
      ...plan.settings,
      lookup: true,
      maxUnknownOutcomes: 5,
      concurrency: 4,
      limits: { ...plan.settings.limits, requests: 12, orders: 4 },
    },
    readings: { ...plan.readings, lookup: true, lookupLagMs: 0 },
    account: {
      ...plan.account,
      products: new Map([
        ...plan.account.products,
        ...names.map((name) => [name, plainProduct] as const),
      ]),
      balances: { USD: 0, EUR: 1_000_000 },
      depositAtMs: lostDiskAtMs - random.int(0, 5000),
      denials: [],
    },
    batches: [...whole, ...wanted],
    replacements: [],
    crashes: [],
    stops: [],
    copyAtMs,
    lostDiskAtMs,
    faultProfile: 'unknown_outcomes',
    faultShare: 0.9,
    faultsOffMs: 60_000,
  };
}

const rulesOfParts = [
  { partial: true },
  { partial: true },
  { split: true },
  { split: true },
  { split: true, partial: true },
] as const;

/**
 * Orders of which some parts are bought, rarely the first one. After the loss there is enough stock
 * for all of it.
 */
function withPartsBeforeLoss(random: SeededRandom, plan: RunPlan): RunPlan {
  const lostDiskAtMs = Math.max(plan.lostDiskAtMs ?? 0, 40_000);
  const products = new Map<string, Product>([...plan.account.products, ['whole', plainProduct]]);
  const wanted = ['1', '2', '3'].map((digit): OrderBatch => {
    const rules = random.pick<OrderRules>(...rulesOfParts);
    const stock = { units: random.int(1, 4), untilMs: lostDiskAtMs + 60_000 };
    const limit = rules.split === true && random.chance(0.8) ? { limit: random.int(1, 2) } : {};
    products.set(`card${digit}`, { ...plainProduct, stock, ...limit });
    const notAfterMs = random.chance(0.6)
      ? wallStartMs + random.int(lostDiskAtMs, lostDiskAtMs + 200_000)
      : null;
    const quantity = random.pick(3, 5, 8);
    const line = {
      ...plainLine,
      orderId: `p${digit}`,
      variant: `card${digit}`,
      quantity,
      rules,
      notAfterMs,
    };
    return { atMs: random.int(0, 2000), lines: [line], againAtMs: [] };
  });
  // This order proves that lookups work.
  const whole: OrderBatch = {
    atMs: 0,
    lines: [{ ...plainLine, orderId: 'w1', variant: 'whole' }],
    againAtMs: [],
  };
  return {
    ...plan,
    settings: { ...plan.settings, lookup: true },
    readings: { ...plan.readings, lookup: true },
    lostDiskAtMs,
    account: { ...plan.account, products },
    batches: [...plan.batches.slice(0, 1), whole, ...wanted],
    faultShare: random.pick(0, 0.1, 0.3),
    operatorActions: random.chance(0.7) ? [] : plan.operatorActions,
  };
}
