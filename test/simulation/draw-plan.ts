import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { drawReadings, type ApiReadings } from './api-readings.ts';
import { crashPlaces, rareCrashPlaces, storeCallsOfTheLoop } from './port-names.ts';
import { withIntake } from './draw-intake.ts';
import { withLossLookedUp, withLostDisk } from './draw-loss.ts';
import { withScarceStock } from './draw-scarcity.ts';
import { withOddities } from './draw-oddities.ts';
import { withSinks } from './draw-sinks.ts';
import { withSpendLimits } from './draw-spending.ts';
import { withTroubles } from './draw-troubles.ts';
import type { FaultProfile } from './call-faults.ts';
import type { OperatorActionPlan } from './sim-operator.ts';
import type { Denial, Product, Refusal, Span } from './sim-account.ts';
import {
  cancelLine,
  esimLine,
  forEver,
  plainLine,
  plainPlan,
  plainProduct,
  topupLine,
  type CrashPlan,
  type DiskErrorPlan,
  type Replacement,
  type OrderBatch,
  type RunPlan,
} from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { usualSettings, type WorkerSettings } from './sim-worker.ts';
import { wallStartMs } from './virtual-time.ts';

function drawSettings(random: SeededRandom, lookup: boolean): WorkerSettings {
  // With small limits a few orders reach the limit; with the real ones it takes hundreds.
  const limits = random.pick(
    { requests: 60, orders: 20 },
    { requests: 12, orders: 4 },
    { requests: 6, orders: 2 },
    { requests: 4, orders: 1 },
  );
  return {
    ...usualSettings,
    limits: { ...usualSettings.limits, ...limits },
    keys: random.chance(0.25)
      ? { main: 'sim-key-main-secret', spare: 'sim-key-spare-secret' }
      : usualSettings.keys,
    concurrency: random.pick(1, 2, 4, 8),
    maxUnknownOutcomes: random.pick(1, 2, 5),
    graceMs: random.pick(0, 500, 6500),
    maxIdleDelayMs: random.chance(0.05) ? 1000 : 60_000,
    referenceExpiryMs: random.chance(0.1) ? 900_000 : 86_400_000,
    lookup,
  };
}

const giftCardRefusals: readonly Refusal[] = [
  { status: 404, code: 'invalid_variant', message: 'Not in the catalogue.' },
  { status: 409, code: 'out_of_stock', message: 'Fewer are available.' },
  { status: 422, code: 'limit_exceeded', message: 'At most 3 per order.' },
  { status: 422, code: 'not_api_sellable', message: 'Website only.' },
  { status: 422, code: 'order_refused', message: 'The order could not be placed.' },
  { status: 422, code: 'currency_unavailable', message: 'No price.' },
];
const planRefusals: readonly Refusal[] = [
  { status: 404, code: 'invalid_plan', message: 'No such plan.' },
  { status: 422, code: 'invalid_plan', message: 'The plan went off sale.' },
  { status: 404, code: 'not_found', message: 'No such destination.' },
  { status: 422, code: 'topup_not_allowed', message: 'Not one of its plans.' },
  { status: 422, code: 'order_refused', message: 'The order could not be placed.' },
];

/** The answer to the second order when the first one has used up the balance. */
const spent: Refusal = {
  status: 402,
  code: 'insufficient_balance',
  message: 'The balance is too low.',
};

function drawAfterSale(
  random: SeededRandom,
  refusal: () => Refusal,
  faultsOffMs: number,
): Product['afterSale'] {
  // Balances and stock recover after the faults; other refusals can stay for ever.
  if (random.chance(0.3)) return { ...spent, untilMs: faultsOffMs };
  return { ...refusal(), untilMs: random.chance(0.5) ? Number.POSITIVE_INFINITY : faultsOffMs };
}

function drawProduct(
  random: SeededRandom,
  refusals: readonly Refusal[],
  faultsOffMs: number,
  trap: boolean,
): Product {
  const refusal = (): Refusal =>
    refusals[random.int(0, refusals.length - 1)] ?? {
      status: 422,
      code: 'order_refused',
      message: '',
    };
  const spans: (() => Span)[] = [
    () => forEver,
    () => ({ fromMs: random.int(0, 60_000), untilMs: Number.POSITIVE_INFINITY }),
    () => ({ fromMs: 0, untilMs: random.int(0, faultsOffMs) }),
  ];
  const span = spans[random.int(0, spans.length - 1)] ?? (() => forEver);
  return {
    priceCents: random.int(1, 5000),
    ...(refusals === giftCardRefusals && random.chance(0.25) ? { limit: random.int(1, 4) } : {}),
    refusals: random.chance(trap ? 0 : 0.2) ? [{ ...refusal(), ...span() }] : [],
    afterSale: random.chance(trap ? 0.9 : 0.45)
      ? drawAfterSale(random, refusal, faultsOffMs)
      : null,
  };
}

function drawDenials(
  random: SeededRandom,
  authorizations: readonly string[],
  faultsOffMs: number,
): Denial[] {
  const denials: Denial[] = [];
  while (random.chance(0.25)) {
    const kinds: readonly (Refusal & { readonly authorization: string | null })[] = [
      { status: 503, code: 'api_disabled', message: 'Maintenance.', authorization: null },
      { status: 403, code: 'account_not_allowed', message: 'Blocked.', authorization: null },
      {
        status: 401,
        code: 'invalid_key',
        message: 'Revoked.',
        authorization: random.pick('', ...authorizations) || null,
      },
      { status: 403, code: 'ip_not_allowed', message: 'Not from here.', authorization: null },
    ];
    const denial = kinds[random.int(0, kinds.length - 1)];
    const fromMs = random.int(0, faultsOffMs);
    if (denial !== undefined)
      denials.push({
        ...denial,
        fromMs,
        untilMs: Math.min(faultsOffMs, fromMs + random.int(1000, 400_000)),
      });
  }
  return denials;
}

function drawLine(
  random: SeededRandom,
  order: number,
  lineId: number,
  oldEsims: readonly string[],
  trap: boolean,
): AcceptableLine {
  const base = {
    ...plainLine,
    orderId: `o${order}`,
    lineId: String(lineId),
    currency: random.pick('USD', 'USD', 'EUR'),
    notAfterMs: random.chance(0.12) ? wallStartMs + random.int(1000, 900_000) : null,
    rules: {
      ...(random.chance(0.4) ? { split: true } : {}),
      ...(random.chance(trap ? 0.7 : 0.3) ? { fallback_currency: random.pick('USD', 'EUR') } : {}),
    },
  };
  const kind = random.next();
  const product = random.int(1, 3);
  if (kind < 0.42) return { ...base, variant: `card${product}`, quantity: random.pick(1, 1, 2, 5) };
  if (kind < 0.75)
    return { ...base, ...esimLine, plan: `plan${product}`, quantity: random.pick(1, 1, 1, 3) };
  const iccid = oldEsims[random.int(0, oldEsims.length - 1)] ?? '8944000000000000001';
  if (kind < 0.87) return { ...base, ...topupLine, plan: `plan${product}`, iccid };
  return { ...base, ...cancelLine, iccid };
}

function drawCrashes(random: SeededRandom): CrashPlan[] {
  const crashes: CrashPlan[] = [];
  if (random.chance(0.25)) return crashes;
  while (crashes.length < 6 && random.chance(crashes.length === 0 ? 1 : 0.55)) {
    crashes.push({
      // Some crashes come during normal work, some during the recovery from the crash before.
      afterPorts: random.chance(0.4) ? random.int(1, 30) : random.int(1, 250),
      kind: random.pick('kill', 'kill', 'power'),
      downMs: random.pick(1, 500, 5000, 90_000),
    });
  }
  return crashes;
}

/** @param aims chooses the errors that wait for a certain call, because some calls are rare */
function drawDiskErrors(random: SeededRandom, aims: SeededRandom): DiskErrorPlan[] {
  const errors: DiskErrorPlan[] = [];
  while (random.chance(errors.length === 0 ? 0.15 : 0.4)) {
    const atCommit = random.chance(0.4);
    const drawn: DiskErrorPlan = {
      afterCalls: random.chance(0.4) ? random.int(1, 60) : random.int(1, 600),
      where: atCommit ? 'commit' : 'statement',
      code: atCommit
        ? random.pick('SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_WRITE')
        : random.pick('SQLITE_FULL', 'SQLITE_BUSY', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_READ'),
      skip: random.pick(0, 1, 2, 4),
      times: random.pick(1, 1, 1, 3),
    };
    const atCall = aims.chance(0.2) ? aims.pick(...storeCallsOfTheLoop) : null;
    errors.push(atCall === null ? drawn : { ...drawn, skip: 0, atCall });
  }
  return errors;
}

function drawOperatorActions(
  random: SeededRandom,
  keys: readonly string[],
  faultsOffMs: number,
): OperatorActionPlan[] {
  const operatorActions: OperatorActionPlan[] = [];
  const most = random.chance(0.3) ? random.int(1, 8) : 0;
  for (let count = 0; count < most; count += 1) {
    const key = keys[random.int(0, keys.length - 1)] ?? '';
    operatorActions.push({
      atMs: random.int(0, faultsOffMs + 240_000),
      action: random.pick(
        'hold',
        'hold',
        'release',
        'cancel',
        'retry',
        'resolve',
        'resolve',
        'reorder',
        'reorder',
        'pause',
        'resume',
      ),
      pick: random.next(),
      scope: random.pick(
        'account',
        `key:${key}`,
        'family:gift_card',
        'family:esim',
        'balance:USD',
        'balance:EUR',
      ),
    });
  }
  return operatorActions;
}

/**
 * An operator who resolves every review at once, perhaps too early. Lookups are off, so there are
 * reviews.
 */
function withEagerOperator(random: SeededRandom, plan: RunPlan): RunPlan {
  const everyMs = random.int(2000, 10_000);
  const count = Math.floor((plan.faultsOffMs + 120_000) / everyMs);
  const operatorActions = Array.from({ length: count }, (_, index): OperatorActionPlan => {
    return { atMs: (index + 1) * everyMs, action: 'resolve', pick: random.next() * 0.9, scope: '' };
  });
  return {
    ...plan,
    settings: { ...plan.settings, lookup: false },
    readings: { ...plan.readings, lookup: false },
    faultProfile: random.pick('unknown_outcomes', 'late'),
    faultShare: 0.9,
    operatorActions: [...plan.operatorActions, ...operatorActions],
  };
}

/** Cancels whose answers are lost, and every answer that the next try can get. */
function withUnknownCancels(random: SeededRandom, plan: RunPlan): RunPlan {
  const oldEsims = ['1', '2', '3', '4'].map((digit) => `894400000000000000${digit}`);
  const batches = oldEsims.map((iccid, index): OrderBatch => {
    const line = { ...plainLine, ...cancelLine, orderId: `c${index + 1}`, iccid };
    return { atMs: random.int(0, 10_000), lines: [line], againAtMs: [] };
  });
  return {
    ...plan,
    oldEsims,
    batches,
    replacements: [],
    faultProfile: random.pick('mixed', 'unknown_outcomes', 'unknown_outcomes'),
    faultShare: random.pick(0.7, 0.95),
  };
}

/**
 * Calls that are processed long after their repetition was refused. Lookups in between find
 * nothing.
 */
function withLateCalls(random: SeededRandom, plan: RunPlan): RunPlan {
  // The first order proves that lookups work.
  const batches = plan.batches.map((batch, index) => ({
    ...batch,
    atMs: index * random.int(10_000, 40_000),
  }));
  return {
    ...plan,
    batches,
    faultProfile: 'late',
    faultShare: random.pick(0.3, 0.6),
    faultsOffMs: 300_000,
  };
}

/**
 * Orders that end soon after their first call, by a deadline or by the operator, while the second
 * copies of calls are denied.
 */
function withEarlyEnds(random: SeededRandom, plan: RunPlan): RunPlan {
  const batches = plan.batches.map((batch) => {
    const endMs = wallStartMs + batch.atMs + random.int(2000, 40_000);
    const lines = batch.lines.map((line) => ({
      ...line,
      notAfterMs: random.chance(0.4) ? endMs : null,
    }));
    return { ...batch, lines };
  });
  const operatorActions = batches.flatMap(({ atMs }) =>
    Array.from({ length: 4 }, () => ({
      atMs: atMs + random.int(500, 60_000),
      action: 'cancel' as const,
      pick: random.next() * 0.9,
      scope: '',
    })),
  );
  return { ...plan, batches, operatorActions };
}

/** Calls that a gateway sends twice, while the first copy can use up a balance or the stock. */
function withRepeatedCalls(random: SeededRandom, given: RunPlan): RunPlan {
  // The first order proves that lookups work.
  const batches = given.batches.map((batch, index) => ({
    ...batch,
    atMs: index * random.int(10_000, 40_000),
  }));
  const spread = { ...given, batches };
  const plan = random.chance(0.5) ? withEarlyEnds(random, spread) : spread;
  const products = new Map(
    [...plan.account.products].map(([name, product]) => {
      const units = random.pick(1, 2, 4, 8);
      const stock =
        name.startsWith('card') && random.chance(0.7) ? { stock: { units, untilMs: 600_000 } } : {};
      return [name, { ...product, refusals: [], ...stock }] as const;
    }),
  );
  const balances = {
    USD: random.int(500, 6000),
    EUR: random.pick(random.int(500, 6000), 100_000_000),
  };
  return {
    ...plan,
    readings: { ...plan.readings, replay: 'after_checks', lookupLagMs: random.pick(0, 2000) },
    account: { ...plan.account, products, balances, depositAtMs: 600_000 },
    faultProfile: 'repeated',
    faultShare: random.pick(0.5, 1),
    faultsOffMs: 600_000,
  };
}

/**
 * The answer to the first call of an order is lost, and the second call is refused because of the
 * first. Meanwhile a cache repeats that the order is not found.
 */
function withCachedLookups(random: SeededRandom, plan: RunPlan): RunPlan {
  const faultsOffMs = 600_000;
  const products = new Map(
    [...plan.account.products.keys()].map((name) => {
      const refusals = name.startsWith('card') ? giftCardRefusals : planRefusals;
      return [name, drawProduct(random, refusals, faultsOffMs, true)] as const;
    }),
  );
  const first = [plainLine, { ...plainLine, ...esimLine, lineId: '2' }].map((line) => ({
    ...line,
    orderId: 'v1',
  }));
  return {
    ...plan,
    // The first orders prove that lookups work, when they are looked up for their units.
    batches: [
      { atMs: 0, lines: first, againAtMs: [] },
      ...plan.batches.map((batch) => ({ ...batch, atMs: 60_000 + batch.atMs })),
    ],
    settings: { ...plan.settings, lookup: true },
    readings: {
      ...plan.readings,
      replay: 'after_checks',
      lookup: true,
      lookupLagMs: random.pick(12_000, 25_000),
      laterShare: 1,
      laterMs: 3000,
      neverShare: 0,
    },
    account: {
      ...plan.account,
      products: new Map([...products, ['card', plainProduct], ['plan', plainProduct]]),
      balances: { USD: 100_000_000, EUR: 100_000_000 },
      denials: [],
    },
    operatorActions: [],
    crashes: plan.crashes.slice(0, 1),
    faultProfile: 'cached',
    faultShare: 1,
    falseNotFoundShare: 0,
    faultsOffMs,
  };
}

/**
 * Somebody else uses the keys: most calls get a 429 that the own budget does not explain, for more
 * than a window.
 */
function withKeysOfOthers(random: SeededRandom, plan: RunPlan): RunPlan {
  const fromMs = random.int(0, 20_000);
  const keysOfOthers = { fromMs, untilMs: fromMs + random.int(100_000, 250_000) };
  const faultsOffMs = Math.max(plan.faultsOffMs, keysOfOthers.untilMs);
  return { ...plan, keysOfOthers, faultsOffMs, faultShare: Math.max(plan.faultShare, 0.1) };
}

/** Some runs aim at rare situations. */
function withSpecialCase(random: SeededRandom, plan: RunPlan): RunPlan {
  const draw = random.next();
  if (draw < 0.06) return withEagerOperator(random, plan);
  if (draw < 0.12) return withLostDisk(random, plan);
  if (draw < 0.16) return withUnknownCancels(random, plan);
  if (draw < 0.2) return withLateCalls(random, plan);
  if (draw < 0.26) return withRepeatedCalls(random, plan);
  if (draw >= 0.26 && draw < 0.32) return withCachedLookups(random, plan);
  return draw >= 0.32 && draw < 0.36 ? withKeysOfOthers(random, plan) : plan;
}

/** Some runs lose the outbox and look everything up, some have little stock. */
function withLossOrScarcity(random: SeededRandom, plan: RunPlan): RunPlan {
  const draw = random.next();
  if (draw < 0.1 && plan.lostDiskAtMs === null) return withLossLookedUp(random, plan);
  return draw >= 0.1 && draw < 0.25 && plan.lostDiskAtMs === null
    ? withScarceStock(random, plan)
    : plan;
}

/** A crash at a chosen port call, also a rare one. */
function withAimedCrash(random: SeededRandom, plan: RunPlan): RunPlan {
  if (!random.chance(0.25)) return plan;
  const places = random.chance(0.5) ? rareCrashPlaces : crashPlaces;
  const atPlace = places[random.int(0, places.length - 1)] ?? '';
  const aimed: CrashPlan = {
    afterPorts: 0,
    atPlace,
    kind: random.pick('kill', 'power'),
    downMs: random.pick(1, 5000),
  };
  return { ...plan, crashes: random.chance(0.5) ? [aimed] : [...plan.crashes, aimed] };
}

/** The second key can be one of another account. */
function withOtherAccount(random: SeededRandom, plan: RunPlan): RunPlan {
  const foreign = plan.account.authorizations[1];
  if (foreign === undefined || plan.lostDiskAtMs !== null || !random.chance(0.4)) return plan;
  return { ...plan, account: { ...plan.account, foreign } };
}

/** Both balances run empty, and one of them stays so: every order is bought from the other one. */
function withOneDeposit(random: SeededRandom, plan: RunPlan): RunPlan {
  const hasPrice = (refusal: Pick<Refusal, 'code'> | null): boolean =>
    refusal?.code !== 'currency_unavailable';
  const products = [...plan.account.products].map(([name, product]): [string, Product] => {
    const afterSale = hasPrice(product.afterSale) ? product.afterSale : null;
    return [name, { ...product, afterSale, refusals: product.refusals.filter(hasPrice) }];
  });
  const batches = plan.batches.map((batch) => ({
    ...batch,
    lines: batch.lines.map((line) => {
      const rules = { ...line.rules, fallback_currency: line.currency === 'USD' ? 'EUR' : 'USD' };
      return line.currency === null ? line : { ...line, rules };
    }),
  }));
  return {
    ...plan,
    batches,
    replacements: plan.replacements.filter(({ operation }) => operation === 'esim_cancel'),
    // A balance without a price is not asked again.
    faultProfile: 'repeated',
    account: {
      ...plan.account,
      products: new Map(products),
      balances: { USD: random.int(0, 3000), EUR: random.int(0, 3000) },
      depositAtMs: plan.faultsOffMs + random.pick(0, 900_000),
      depositTo: random.pick('USD', 'EUR'),
    },
  };
}

/**
 * The machine loses power during a call that may buy, and is off for longer than the API remembers
 * the reference. No lookup tells what became of it.
 */
function withLongOff(random: SeededRandom, plan: RunPlan): RunPlan {
  const off: CrashPlan = {
    afterPorts: random.int(0, 60),
    atPlace: 'http.spend >',
    kind: 'power',
    downMs: random.int(1_000_000, 3_000_000),
  };
  return {
    ...plan,
    settings: { ...plan.settings, lookup: false, referenceExpiryMs: 900_000 },
    readings: { ...plan.readings, lookup: false },
    operatorActions: [],
    crashes: [off],
    diskErrors: [],
    wallJumps: [],
  };
}

/** Draws the run of a seed. */
export function drawPlan(seed: number): RunPlan {
  const random = new SeededRandom(seed);
  const profile: FaultProfile = random.pick('mixed', 'mixed', 'mixed', 'unknown_outcomes', 'trap');
  const trap = profile === 'trap';
  const readings: ApiReadings = {
    ...drawReadings(random),
    ...(trap ? { replay: 'after_checks' } : {}),
  };
  const settings = drawSettings(random, readings.lookup);
  const faultsOffMs = random.pick(30_000, 120_000, 300_000);
  const authorizations = Object.values(settings.keys).map((value) => `Bearer ${value}`);
  const oldEsims = Array.from(
    { length: random.int(0, 4) },
    (_, index) => `894400000000000000${index + 1}`,
  );
  const products = new Map<string, Product>();
  for (let index = 1; index <= 3; index += 1) {
    products.set(`card${index}`, drawProduct(random, giftCardRefusals, faultsOffMs, trap));
    products.set(`plan${index}`, drawProduct(random, planRefusals, faultsOffMs, trap));
  }
  const batches: OrderBatch[] = [];
  const replacements: Replacement[] = [];
  const orders = random.chance(0.03) ? random.int(20, 50) : random.int(1, 6);
  for (let order = 1; order <= orders; order += 1) {
    const lines = Array.from({ length: random.pick(1, 1, 1, 2, 3) }, (_, index) =>
      drawLine(random, order, index + 1, oldEsims, trap),
    );
    const atMs = random.int(0, Math.floor(faultsOffMs / 3));
    const againAtMs = random.chance(0.2) ? [atMs + random.int(1, faultsOffMs)] : [];
    batches.push({ atMs, lines, againAtMs });
    if (lines.some((line) => line.operation === 'esim_order') && random.chance(0.6)) {
      const operation = random.pick('esim_cancel', 'esim_cancel', 'esim_topup');
      replacements.push({ orderId: `o${order}`, afterMs: random.int(0, 5000), operation });
      if (random.chance(0.2))
        replacements.push({
          orderId: `o${order}`,
          afterMs: random.int(0, 5000),
          operation: 'esim_cancel',
        });
    }
  }
  const scarce = random.chance(0.2);
  const later = random.fork();
  const plan: RunPlan = {
    ...plainPlan,
    name: `seed ${seed}`,
    seed,
    settings,
    readings,
    account: {
      products,
      balances: scarce
        ? { USD: random.int(0, 8000), EUR: random.int(0, 8000) }
        : { USD: 100_000_000, EUR: 100_000_000 },
      depositAtMs: faultsOffMs,
      denials: drawDenials(random, authorizations, faultsOffMs),
      authorizations,
      unchecked: new Map(
        oldEsims
          .filter(() => random.chance(0.3))
          .map((iccid) => [iccid, { fromMs: 0, untilMs: random.int(0, faultsOffMs) }]),
      ),
    },
    oldEsims,
    batches,
    replacements,
    crashes: drawCrashes(random),
    stops: random.chance(0.2)
      ? [{ atMs: random.int(0, faultsOffMs), downMs: random.int(1, 30_000) }]
      : [],
    wallJumps: random.chance(0.15)
      ? [
          {
            atMs: random.int(0, faultsOffMs),
            deltaMs: random.pick(3_600_000, -3_600_000, 30_000, -30_000),
          },
        ]
      : [],
    namesBoots: random.chance(0.9),
    faultShare:
      profile === 'unknown_outcomes'
        ? random.pick(0.7, 0.95)
        : profile === 'trap'
          ? 1
          : random.pick(0, 0.1, 0.3, 0.3, 0.6),
    faultProfile: profile,
    falseNotFoundShare: new SeededRandom(seed ^ 0x3c6ef372).pick(0, 0, 0.1, 0.4),
    faultsOffMs,
    resultsFail: random.chance(0.1),
    // These runs take longer, and differ only inside SQLite.
    ownFiles: seed % 8 === 0,
    diskFull: random.chance(0.1)
      ? { fromMs: random.int(0, faultsOffMs), untilMs: faultsOffMs }
      : { fromMs: 0, untilMs: 0 },
    diskErrors: drawDiskErrors(later, new SeededRandom(seed ^ 0x2545f491)),
    operatorActions: drawOperatorActions(later, Object.keys(settings.keys), faultsOffMs),
  };
  const special = withAimedCrash(later, withSpecialCase(later, plan));
  // With a random source of its own, so that the other runs stay the same.
  const scarcer = withLossOrScarcity(new SeededRandom(seed ^ 0x1b873593), special);
  const ofTroubles = new SeededRandom(seed ^ 0x68bc21eb);
  const isTroubled = ofTroubles.chance(0.2) && scarcer.lostDiskAtMs === null;
  const troubled = isTroubled ? withTroubles(ofTroubles, scarcer) : scarcer;
  const taken = withIntake(new SeededRandom(seed ^ 0x6c62272e), troubled);
  const ofDeposits = new SeededRandom(seed ^ 0x7f4a7c15);
  const isOneFilled =
    ofDeposits.chance(0.08) &&
    taken.lostDiskAtMs === null &&
    taken.intake === null &&
    taken.troubles.products.size === 0;
  const filled = isOneFilled ? withOneDeposit(ofDeposits, taken) : taken;
  const ofPower = new SeededRandom(seed ^ 0x2c1b3c6d);
  const isOff =
    ofPower.chance(0.03) &&
    taken.lostDiskAtMs === null &&
    taken.intake === null &&
    taken.troubles.products.size === 0;
  const dark = isOff ? withLongOff(ofPower, filled) : filled;
  const odd = withOddities(new SeededRandom(seed ^ 0x165667b1), dark);
  const sunk = withSinks(new SeededRandom(seed ^ 0x2127599b), odd);
  const foreign = withForeignEsims(new SeededRandom(seed ^ 0x3243f6a8), sunk);
  const other = withOtherAccount(new SeededRandom(seed ^ 0x5bd1e995), foreign);
  const limited = withSpendLimits(new SeededRandom(seed ^ 0x9e3779b9), other);
  const refundShown = new SeededRandom(seed ^ 0x7ed55d16).chance(0.5);
  return { ...limited, readings: { ...limited.readings, refundShown } };
}

/** Another source tries to cancel or top up eSIMs that were delivered to a shop. */
function withForeignEsims(random: SeededRandom, plan: RunPlan): RunPlan {
  // An outbox that was lost does not know any more who bought an eSIM.
  if (plan.lostDiskAtMs !== null) return plan;
  const foreign = plan.replacements
    .filter(() => random.chance(0.5))
    .map(
      ({ orderId }): Replacement => ({
        orderId,
        afterMs: random.int(0, 60_000),
        operation: random.pick('esim_cancel', 'esim_cancel', 'esim_topup'),
        isForeign: true,
      }),
    );
  return { ...plan, replacements: [...plan.replacements, ...foreign] };
}
