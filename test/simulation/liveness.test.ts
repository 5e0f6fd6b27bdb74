import { describe, expect, it } from 'vitest';
import { ApiLedger } from './api-ledger.ts';
import { ClockJumps } from './clock-jumps.ts';
import { Liveness } from './liveness.ts';
import {
  forEver,
  plainAccount,
  plainLine,
  plainPlan,
  plainProduct,
  type RunPlan,
} from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { noTroubles } from './troubles.ts';
import { WireWatch } from './wire-watch.ts';

const hourMs = 3_600_000;
const giftCardOrder = {
  account: 'own',
  operation: 'gift_card_order',
  family: 'gift_card',
  quantity: 1,
  currency: 'USD',
  iccid: null,
  cost: 473,
  body: '',
  state: 'sold',
  completeAtMs: 0,
} as const;

/** A liveness check whose clock is set by hand, and what the API sold. */
class Watched {
  nowMs = 0;
  readonly liveness: Liveness;
  readonly #api = new ApiLedger(new SeededRandom(1));
  readonly #clock = (): number => this.nowMs;

  constructor(plan: RunPlan) {
    this.liveness = new Liveness(plan, this.#clock, new ClockJumps(this.#clock, 1000));
    this.liveness.workerUp();
  }

  sell(product: string, atMs: number, reference = `${product} ${atMs}`): void {
    this.#api.add({ ...giftCardOrder, product, reference, atMs });
  }

  /** An order of the healthy product comes at 2 h. What is said about it at 20 h. */
  violations(boughtAtMs: number): readonly string[] {
    this.nowMs = 2 * hourMs;
    this.liveness.acknowledged(plainLine, 'the order');
    this.sell('card', boughtAtMs, 'the order');
    this.nowMs = 20 * hourMs;
    const ignored = (): undefined => undefined;
    const wire = new WireWatch({
      nowMs: this.#clock,
      violate: ignored,
      beforeLeaving: ignored,
      trace: ignored,
    });
    const found: string[] = [];
    this.liveness.check(
      this.#api,
      wire,
      (sentence) => found.push(sentence),
      () => false,
    );
    return found.filter((sentence) => sentence.includes('the order'));
  }
}

/**
 * Products of one family of which each sells wrong goods from some time on, and an order of a
 * healthy one.
 */
interface Case {
  readonly wrongProducts: number;
  /** When each of them sells wrong goods, in hours. */
  readonly wrongAt: readonly number[];
  /** Whether they sold the ordered goods before. */
  readonly wereWell: boolean;
  /** Whether the healthy product was bought before. */
  readonly isSound: boolean;
  /** The order comes at 2 h. */
  readonly boughtAt: number;
}

/** What is said about the order of the healthy product. */
function violationsOf({
  wrongProducts,
  wrongAt,
  wereWell,
  isSound,
  boughtAt,
}: Case): readonly string[] {
  const wrong = Array.from({ length: wrongProducts }, (_, index) => `sick${index}`);
  const trouble = { ...forEver, fromMs: hourMs, kind: 'shows_other_product' } as const;
  const plan: RunPlan = {
    ...plainPlan,
    account: {
      ...plainAccount,
      products: new Map(['card', ...wrong].map((name) => [name, plainProduct])),
    },
    troubles: { ...noTroubles, products: new Map(wrong.map((name) => [name, trouble])) },
  };
  const watched = new Watched(plan);
  if (isSound) watched.sell('card', 1000);
  if (wereWell) for (const product of wrong) watched.sell(product, 1000);
  for (const hours of wrongAt) for (const product of wrong) watched.sell(product, hours * hourMs);
  return watched.violations(boughtAt * hourMs);
}

const usual: Case = {
  wrongProducts: 5,
  wrongAt: [1.5],
  wereWell: false,
  isSound: false,
  boughtAt: 6,
};

describe('how late a healthy order may be bought while other products of its family sell wrong goods', () => {
  it.each<[string, Partial<Case>]>([
    ['of five products, it waits for the trial of the family', {}],
    ['it waits for the trial after the last one that failed', { wrongAt: [1.5, 4], boughtAt: 8 }],
    [
      'five that were bought before delay what was bought before, too',
      { wereWell: true, isSound: true },
    ],
  ])('in time: %s', (_what, changes) => {
    expect(violationsOf({ ...usual, ...changes })).toEqual([]);
  });

  it.each<[string, Partial<Case>]>([
    ['a trial is due after four hours', { boughtAt: 7 }],
    ['one product is too few', { wrongProducts: 1, boughtAt: 3 }],
    [
      'a due trial goes to what was bought before',
      { wereWell: true, isSound: true, wrongAt: [1.5, 4], boughtAt: 8 },
    ],
    [
      'what fails only later delays nothing that was bought until then',
      { wrongAt: [12], boughtAt: 3 },
    ],
  ])('too late: %s', (_what, changes) => {
    expect(violationsOf({ ...usual, ...changes })).toHaveLength(1);
  });
});

const refusal = {
  ...forEver,
  status: 402,
  code: 'insufficient_balance',
  message: 'The balance does not cover it.',
};

/**
 * Products that the balance does not cover until 8 h, each with two orders at 1 h, and an order of
 * another one at 2 h.
 */
interface DearCase {
  readonly dearProducts: number;
  /** Whether the healthy product, and the dear ones, were bought before. */
  readonly isSound: boolean;
  readonly wereBought: boolean;
  readonly currency: 'USD' | 'EUR';
  /** In hours. */
  readonly lookupsHangUntil: number;
  readonly boughtAt: number;
}

function violationsOfDear(dearCase: DearCase): readonly string[] {
  const { dearProducts, isSound, wereBought, currency, lookupsHangUntil, boughtAt } = dearCase;
  const dear = Array.from({ length: dearProducts }, (_, index) => `dear${index}`);
  const product = {
    ...plainProduct,
    refusals: [{ ...refusal, fromMs: hourMs / 2, untilMs: 8 * hourMs }],
  };
  const plan: RunPlan = {
    ...plainPlan,
    settings: { ...plainPlan.settings, maxUnknownOutcomes: 8 },
    account: {
      ...plainAccount,
      products: new Map([['card', plainProduct], ...dear.map((name) => [name, product] as const)]),
    },
    troubles: {
      ...noTroubles,
      lookups:
        lookupsHangUntil === 0
          ? []
          : [{ kind: 'hangs', family: 'gift_card', fromMs: 0, untilMs: lookupsHangUntil * hourMs }],
    },
  };
  const watched = new Watched(plan);
  if (isSound) watched.sell('card', 1000);
  if (wereBought) for (const name of dear) watched.sell(name, 1000);
  watched.nowMs = hourMs;
  for (const name of dear)
    for (const copy of [1, 2])
      watched.liveness.acknowledged({ ...plainLine, variant: name, currency }, `${name} ${copy}`);
  return watched.violations(boughtAt * hourMs);
}

const usualDear: DearCase = {
  dearProducts: 5,
  isSound: true,
  wereBought: true,
  currency: 'USD',
  lookupsHangUntil: 0,
  boughtAt: 8.2,
};
const unconfirmed: DearCase = {
  ...usualDear,
  dearProducts: 4,
  isSound: false,
  lookupsHangUntil: 6,
  boughtAt: 6.2,
};

describe('how late a healthy order may be bought while the balance does not cover other products', () => {
  it.each<[string, DearCase]>([
    ['with five of them, it waits until the balance covers them', usualDear],
    [
      'five that were never bought delay what was never bought',
      { ...usualDear, isSound: false, wereBought: false },
    ],
    ['refusals that no lookup confirms delay what was never bought', unconfirmed],
  ])('in time: %s', (_what, dearCase) => {
    expect(violationsOfDear(dearCase)).toEqual([]);
  });

  it.each<[string, DearCase]>([
    ['four are too few', { ...usualDear, dearProducts: 4 }],
    ['they are charged to another balance', { ...usualDear, currency: 'EUR' }],
    ['what was never bought says nothing against what was', { ...usualDear, wereBought: false }],
    ['the balance covers them again', { ...usualDear, boughtAt: 9 }],
    ['what was bought before has the rest of the limit', { ...unconfirmed, isSound: true }],
    ['lookups work again', { ...unconfirmed, boughtAt: 7.5 }],
    ['refusals of one product do not fill the share', { ...unconfirmed, dearProducts: 1 }],
  ])('too late: %s', (_what, dearCase) => {
    expect(violationsOfDear(dearCase)).toHaveLength(1);
  });
});

/**
 * Products whose calls are dropped from 1 h on, each with two orders then, and an order of a
 * healthy one at 2 h.
 */
interface UnknownCase {
  readonly products: number;
  /** Whether each was bought before. */
  readonly wereWell: boolean;
  readonly canLookUp: boolean;
  /**
   * Whether the worker was started again at 1.5 h, and whether the healthy product was delivered
   * before.
   */
  readonly isRestarted: boolean;
  readonly isDelivered: boolean;
}

/** What is said about an order of the healthy product, which is bought at 6 h. */
function violationsOfUnknown(unknownCase: UnknownCase): readonly string[] {
  const { products, wereWell, canLookUp, isRestarted, isDelivered } = unknownCase;
  const sick = Array.from({ length: products }, (_, index) => `sick${index}`);
  const trouble = { ...forEver, fromMs: hourMs, kind: 'dropped' } as const;
  const plan: RunPlan = {
    ...plainPlan,
    settings: { ...plainPlan.settings, maxUnknownOutcomes: 8, lookup: canLookUp },
    account: {
      ...plainAccount,
      products: new Map(['card', ...sick].map((name) => [name, plainProduct])),
    },
    troubles: { ...noTroubles, products: new Map(sick.map((name) => [name, trouble])) },
  };
  const watched = new Watched(plan);
  const { liveness } = watched;
  watched.sell('card', 1000);
  if (isDelivered) liveness.fulfilled('gift_card_order', 'card');
  if (wereWell) for (const name of sick) watched.sell(name, 1000);
  watched.nowMs = hourMs;
  for (const name of sick)
    for (const copy of [1, 2])
      liveness.acknowledged({ ...plainLine, variant: name }, `${name} ${copy}`);
  watched.nowMs = 1.5 * hourMs;
  if (isRestarted) {
    liveness.workerDown();
    liveness.workerUp();
  }
  return watched.violations(6 * hourMs);
}

const usualUnknown: UnknownCase = {
  products: 2,
  wereWell: true,
  canLookUp: false,
  isRestarted: false,
  isDelivered: true,
};

describe('how late a healthy order may be bought while unknown outcomes of other products are not cleared', () => {
  it.each<[string, Partial<UnknownCase>]>([
    ['what was bought before it failed fills the rest of the limit', {}],
    [
      'after a restart nobody knows what was never delivered',
      { wereWell: false, isRestarted: true, isDelivered: false },
    ],
  ])('in time: %s', (_what, changes) => {
    expect(violationsOfUnknown({ ...usualUnknown, ...changes })).toEqual([]);
  });

  it.each<[string, Partial<UnknownCase>]>([
    ['what was never bought fills its own share only', { wereWell: false }],
    ['one product leaves too few', { products: 1 }],
    ['lookups clear them', { canLookUp: true }],
    ['after a restart the worker knows what was delivered', { wereWell: false, isRestarted: true }],
  ])('too late: %s', (_what, changes) => {
    expect(violationsOfUnknown({ ...usualUnknown, ...changes })).toHaveLength(1);
  });
});
