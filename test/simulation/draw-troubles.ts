import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ApiReadings } from './api-readings.ts';
import type { Product, Refusal, Span } from './sim-account.ts';
import {
  esimLine,
  plainLine,
  plainProduct,
  type OrderBatch,
  type Reload,
  type RunPlan,
  type WallJump,
} from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { OperatorActionPlan } from './sim-operator.ts';
import type { WorkerSettings } from './sim-worker.ts';
import type { LookupTrouble, Outage, ProductTrouble } from './troubles.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** After these, nobody knows whether the call bought something. */
const unsettling: ReadonlySet<string> = new Set([
  'server_error',
  'page_of_a_gateway',
  'silent',
  'dropped',
  'sold_with_server_error',
]);

/** What is wrong with a product: with its calls, or only with its orders. */
type Drawn =
  | { readonly trouble: ProductTrouble; readonly refusal: null }
  | { readonly trouble: null; readonly refusal: Refusal & Span };

/** The order of this product costs more than the balance, which covers all the others. */
const tooDear: Refusal = {
  status: 402,
  code: 'insufficient_balance',
  message: 'The balance does not cover the order.',
};
const unlisted: Refusal = { status: 422, code: 'some_new_code', message: 'Not like this.' };

function drawTrouble(random: SeededRandom, span: Span, isPlan: boolean): Drawn {
  const ofCalls = (
    kind: 'server_error' | 'page_of_a_gateway' | 'silent' | 'dropped' | 'sold_with_server_error',
  ): Drawn => ({
    trouble: { ...span, kind },
    refusal: null,
  });
  const completeAtMs = random.pick(Number.POSITIVE_INFINITY, span.untilMs + 1000);
  const processMs = random.int(5000, 20_000);
  return random.pick<() => Drawn>(
    () => ofCalls('server_error'),
    () => ofCalls('server_error'),
    () => ofCalls('page_of_a_gateway'),
    () => ofCalls('silent'),
    () => ofCalls('dropped'),
    () => ofCalls('sold_with_server_error'),
    () => ({ trouble: { ...span, kind: 'slow', processMs }, refusal: null }),
    () => ({ trouble: { ...span, kind: 'never_delivers', completeAtMs }, refusal: null }),
    () => ({ trouble: { ...span, kind: 'shows_other_product' }, refusal: null }),
    () => ({ trouble: { ...span, kind: 'answers_with_other_product' }, refusal: null }),
    () => ({ trouble: drawUnitTrouble(random, span, isPlan), refusal: null }),
    () => ({ trouble: drawUnitTrouble(random, span, isPlan), refusal: null }),
    () => ({ trouble: null, refusal: { ...span, ...tooDear } }),
    () => ({ trouble: null, refusal: { ...span, ...tooDear } }),
    () => ({ trouble: null, refusal: { ...span, ...unlisted } }),
  )();
}

/** Gift cards only: an ICCID tells by itself whether it is one. */
function drawUnitTrouble(random: SeededRandom, span: Span, isPlan: boolean): ProductTrouble {
  const afterMs = random.int(10_000, 120_000);
  const drawn = random.pick<ProductTrouble>(
    { ...span, kind: 'shows_placeholders', afterMs },
    { ...span, kind: 'shows_changing_units', afterMs },
    { ...span, kind: 'shows_more_units' },
    { ...span, kind: 'repeats_a_unit' },
    { ...span, kind: 'has_unread_field' },
  );
  return isPlan ? { ...span, kind: 'never_delivers', completeAtMs: span.untilMs } : drawn;
}

/** What two orders can share. */
const shared = ['shows_earlier_order', 'sells_a_code_twice', 'repeats_an_order_number'] as const;
/** From the start of a run to the end of its faults. */
const sharedUnits = (which: number, untilMs: number): Drawn => ({
  trouble: { kind: shared[which % shared.length] ?? shared[0], fromMs: 0, untilMs },
  refusal: null,
});

const unitForms: readonly Pick<ApiReadings, 'unitForm'>[] = [
  {},
  { unitForm: 'card' },
  { unitForm: 'link' },
  { unitForm: 'link' },
  { unitForm: 'card' },
];

/** Later an operator looks at what needs review, one entry after the other. */
const reviewsDecided = (fromMs: number): OperatorActionPlan[] =>
  Array.from({ length: 10 }, (_, index) => ({
    atMs: fromMs + 20_000 * (index + 1),
    action: index % 3 === 0 ? 'retry' : 'resolve',
    pick: ((index * 37) % 90) / 100,
    scope: '',
    only: 'needs_review',
  }));

/** Two orders show the same units, in place of an order that shows too many or repeats one. */
function withSharedUnits(drawn: Drawn): Drawn {
  const { trouble } = drawn;
  if (trouble?.kind === 'shows_more_units')
    return { trouble: { ...trouble, kind: 'shows_earlier_order' }, refusal: null };
  if (trouble?.kind === 'repeats_a_unit')
    return { trouble: { ...trouble, kind: 'sells_a_code_twice' }, refusal: null };
  return drawn;
}

const isAmbiguous = ({ trouble }: Drawn): boolean =>
  trouble !== null && unsettling.has(trouble.kind);

function drawOutages(random: SeededRandom, endMs: number): Outage[] {
  const outages: Outage[] = [];
  while (outages.length < 3 && random.chance(outages.length === 0 ? 0.35 : 0.3)) {
    const lengthMs = random.pick(5000, 40_000, 10 * minuteMs, hourMs);
    const fromMs = random.int(minuteMs, endMs);
    const kind = random.pick('refused', 'silent', 'page_of_a_gateway', 'server_error');
    outages.push({ kind, fromMs, untilMs: Math.min(endMs, fromMs + lengthMs) });
  }
  return outages;
}

function drawLookupTroubles(random: SeededRandom, endMs: number): LookupTrouble[] {
  if (!random.chance(0.4)) return [];
  const fromMs = random.int(0, Math.floor(endMs / 2));
  const span = {
    fromMs,
    untilMs: random.pick(endMs, fromMs + random.int(minuteMs, Math.floor(endMs / 2))),
  };
  const kind = random.pick('hangs', 'hangs', 'foreign_404');
  const families = random.pick<LookupTrouble['family'][]>(
    ['gift_card'],
    ['esim'],
    ['gift_card', 'esim'],
  );
  return families.map((family) => ({ ...span, kind, family }));
}

/** Corrections of the wall clock, forward and back, from 30 seconds to two weeks. */
export function drawWallJumps(random: SeededRandom, endMs: number): WallJump[] {
  const jumps: WallJump[] = [];
  while (jumps.length < 3 && random.chance(jumps.length === 0 ? 0.35 : 0.4)) {
    const lengthMs = random.pick(
      30_000,
      2 * minuteMs,
      20 * minuteMs,
      hourMs,
      5 * hourMs,
      dayMs,
      14 * dayMs,
    );
    jumps.push({ atMs: random.int(0, endMs), deltaMs: random.chance(0.5) ? lengthMs : -lengthMs });
  }
  return jumps;
}

function drawReloads(random: SeededRandom, settings: WorkerSettings, endMs: number): Reload[] {
  if (!random.chance(0.3)) return [];
  return Array.from({ length: random.int(1, 3) }, () => {
    const limits = random.pick(
      { requests: 60, orders: 20 },
      { requests: 12, orders: 4 },
      { requests: 30, orders: 8 },
    );
    return {
      atMs: random.int(minuteMs, endMs),
      limits,
      concurrency: random.pick(2, 4, 8),
      maxUnknownOutcomes: settings.maxUnknownOutcomes + random.pick(0, 0, 2),
    };
  }).toSorted((a, b) => a.atMs - b.atMs);
}

/**
 * Products in trouble beside healthy ones, in a world without other faults of the network: whatever
 * is sick, the healthy lines must be bought in time.
 */
export function withTroubles(random: SeededRandom, plan: RunPlan): RunPlan {
  const isLong = random.chance(0.04);
  const faultsOffMs = isLong ? 11 * hourMs : random.pick(30 * minuteMs, hourMs, 2 * hourMs);
  const products = new Map<string, Product>([
    ['card1', { ...plainProduct, priceCents: random.int(1, 5000) }],
    ['card2', { ...plainProduct, priceCents: random.int(1, 5000) }],
    ['plan1', { ...plainProduct, priceCents: random.int(1, 5000) }],
  ]);
  const troubles = new Map<string, ProductTrouble>();
  const batches: OrderBatch[] = [];
  let ordered = 0;
  const order = (atMs: number, lines: readonly Partial<AcceptableLine>[]): void => {
    ordered += 1;
    const orderId = `t${ordered}`;
    const all = lines.map((line, index) => ({
      ...plainLine,
      orderId,
      lineId: String(index + 1),
      ...line,
    }));
    batches.push({
      atMs,
      lines: all,
      againAtMs: random.chance(0.1) ? [random.int(atMs + 1, faultsOffMs)] : [],
    });
  };
  const ofProduct = (name: string): Partial<AcceptableLine> =>
    name.startsWith('card') || name.startsWith('sick')
      ? { variant: name }
      : { ...esimLine, plan: name };
  // The first orders prove that the connector fits, in most runs before anything is sick.
  if (random.chance(0.85)) order(0, [ofProduct('card1'), ofProduct('plan1')]);
  // Also all variants of one provider, which fail in one way at the same time.
  const isProvider = random.chance(0.15);
  const sick = isProvider ? random.int(3, 40) : random.int(1, 4);
  let common: Drawn | null = null;
  let ambiguous = 0;
  for (let index = 1; index <= sick; index += 1) {
    const name = isProvider || random.chance(0.7) ? `sick${index}` : `sickplan${index}`;
    const isPlan = name.startsWith('sickplan');
    const fromMs = random.pick(0, random.int(0, Math.floor(faultsOffMs / 2)));
    let drawn: Drawn =
      common ??
      drawTrouble(
        random,
        {
          fromMs,
          untilMs: random.pick(faultsOffMs, random.int(fromMs + 1, faultsOffMs)),
        },
        isPlan,
      );
    if (isProvider) common = drawn;
    if (plan.seed % 2 === 1) drawn = withSharedUnits(drawn);
    if (plan.seed % 8 === 1 && index === 1 && !isPlan)
      drawn = sharedUnits(Math.floor(plan.seed / 8), faultsOffMs);
    if (isAmbiguous(drawn) && !isProvider) ambiguous += 1;
    products.set(name, {
      ...plainProduct,
      refusals: drawn.refusal === null ? [] : [drawn.refusal],
    });
    if (drawn.trouble !== null) troubles.set(name, drawn.trouble);
    const lines = random.int(1, isProvider ? 4 : 8);
    for (let line = 0; line < lines; line += 1) {
      const atMs = random.int(20_000, Math.floor(faultsOffMs / 2));
      const rules = random.chance(0.15) ? { fallback_currency: 'EUR' } : {};
      const quantity = random.pick(1, 1, 2, 3);
      order(atMs, [
        { quantity, ...(isPlan ? { ...esimLine, plan: name } : { variant: name }), rules },
      ]);
    }
  }
  if (plan.seed % 2 === 1) {
    const { trouble } = sharedUnits(Math.floor(plan.seed / 2), faultsOffMs);
    products.set('shared', plainProduct);
    if (trouble !== null) troubles.set('shared', trouble);
    for (const atMs of [25_000, 90_000, 150_000])
      batches.push({
        atMs,
        lines: [{ ...plainLine, orderId: `s${atMs}`, variant: 'shared' }],
        againAtMs: [],
      });
  }
  const rounds = random.int(1, 3);
  for (let round = 0; round < rounds; round += 1) {
    const atMs = random.int(30_000, Math.floor(faultsOffMs * 0.8));
    const names = Array.from({ length: random.pick(1, 3, 10, 25) }, () =>
      random.pick('card1', 'card2', 'plan1'),
    );
    const currency = random.pick('USD', 'EUR');
    for (const name of names)
      order(atMs + random.int(0, 2000), [
        { ...ofProduct(name), currency, quantity: random.pick(1, 1, 2) },
      ]);
  }
  const settings: WorkerSettings = {
    ...plan.settings,
    limits: {
      ...plan.settings.limits,
      ...random.pick(
        { requests: 60, orders: 20 },
        { requests: 60, orders: 20 },
        { requests: 12, orders: 4 },
      ),
    },
    concurrency: random.pick(8, 8, 4, 2),
    maxUnknownOutcomes: random.chance(0.8) ? Math.max(8, 2 * ambiguous + 1) : random.pick(2, 5),
    maxIdleDelayMs: isLong ? 60_000 : plan.settings.maxIdleDelayMs,
    referenceExpiryMs: 7 * dayMs,
  };
  const outages = isLong
    ? [
        {
          kind: random.pick<Outage['kind']>(
            'refused',
            'silent',
            'page_of_a_gateway',
            'server_error',
          ),
          fromMs: 20 * minuteMs,
          untilMs: 10 * hourMs + 20 * minuteMs,
        },
      ]
    : drawOutages(random, faultsOffMs);
  const isCalm = random.chance(0.6);
  const stop = {
    atMs: random.int(0, faultsOffMs),
    downMs: random.pick(random.int(1, 30_000), random.int(15_000, 60_000)),
  };
  return {
    ...plan,
    settings,
    readings: {
      ...plan.readings,
      ...unitForms[Math.floor(plan.seed / 8) % unitForms.length],
      ...(plan.seed % 5 === 0 ? { strangeCosts: true } : {}),
      neverShare: 0,
      refundedShare: 0,
      failedShare: 0,
    },
    account: {
      ...plan.account,
      products,
      balances: { USD: 100_000_000, EUR: 100_000_000 },
      denials: random.chance(0.25) ? plan.account.denials : [],
      unchecked: new Map(),
    },
    oldEsims: [],
    batches,
    replacements: [],
    crashes: isCalm ? [] : plan.crashes,
    stops: isCalm ? [] : [stop],
    // Ten seconds after the stop no worker runs any more.
    wallJumps: [
      ...drawWallJumps(random, faultsOffMs),
      ...(isCalm ? [] : drawWallJumps(random, 0)),
    ].map((jump) => (jump.atMs === 0 && !isCalm ? { ...jump, atMs: stop.atMs + 10_000 } : jump)),
    faultShare: 0,
    keysOfOthers: { fromMs: 0, untilMs: 0 },
    falseNotFoundShare: 0,
    faultsOffMs,
    resultsFail: false,
    operatorActions: plan.seed % 2 === 1 ? reviewsDecided(faultsOffMs) : [],
    diskErrors: isCalm ? [] : plan.diskErrors,
    diskFull: { fromMs: 0, untilMs: 0 },
    troubles: {
      products: troubles,
      outages,
      lookups: drawLookupTroubles(random, faultsOffMs),
      catalogueIsLarge: random.chance(0.4),
    },
    reloads: drawReloads(random, settings, faultsOffMs),
  };
}
