import { describe, expect, it } from 'vitest';
import { ApiLedger } from './api-ledger.ts';
import { ClockJumps } from './clock-jumps.ts';
import { Liveness } from './liveness.ts';
import { forEver, plainAccount, plainLine, plainPlan, plainProduct, type RunPlan } from './run-plan.ts';
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

/** Products of one family of which each sells wrong goods from some time on, and an order of a healthy one. */
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
function violationsOf({ wrongProducts, wrongAt, wereWell, isSound, boughtAt }: Case): readonly string[] {
  const wrong = Array.from({ length: wrongProducts }, (_, index) => `sick${index}`);
  const trouble = { ...forEver, fromMs: hourMs, kind: 'shows_other_product' } as const;
  const plan: RunPlan = {
    ...plainPlan,
    account: { ...plainAccount, products: new Map(['card', ...wrong].map((name) => [name, plainProduct])) },
    troubles: { ...noTroubles, products: new Map(wrong.map((name) => [name, trouble])) },
  };
  let nowMs = 0;
  const clock = (): number => nowMs;
  const ignored = (): undefined => undefined;
  const liveness = new Liveness(plan, clock, new ClockJumps(clock, 1000));
  const wire = new WireWatch({ nowMs: clock, violate: ignored, beforeLeaving: ignored, trace: ignored });
  const api = new ApiLedger(new SeededRandom(1));
  const sell = (product: string, atMs: number, reference = `${product} ${atMs}`): void =>
    void api.add({ ...giftCardOrder, product, reference, atMs });
  liveness.workerUp();
  if (isSound) sell('card', 1000);
  if (wereWell) for (const product of wrong) sell(product, 1000);
  for (const hours of wrongAt) for (const product of wrong) sell(product, hours * hourMs);
  nowMs = 2 * hourMs;
  liveness.acknowledged(plainLine, 'the order');
  sell('card', boughtAt * hourMs, 'the order');
  nowMs = 20 * hourMs;
  const found: string[] = [];
  liveness.check(
    api,
    wire,
    (sentence) => found.push(sentence),
    () => false,
  );
  return found;
}

const usual: Case = { wrongProducts: 5, wrongAt: [1.5], wereWell: false, isSound: false, boughtAt: 6 };

describe('how late a healthy order may be bought while other products of its family sell wrong goods', () => {
  it.each<[string, Partial<Case>]>([
    ['of five products, it waits for the trial of the family', {}],
    ['it waits for the trial after the last one that failed', { wrongAt: [1.5, 4], boughtAt: 8 }],
    ['five that were bought before delay what was bought before, too', { wereWell: true, isSound: true }],
  ])('in time: %s', (_what, changes) => {
    expect(violationsOf({ ...usual, ...changes })).toEqual([]);
  });

  it.each<[string, Partial<Case>]>([
    ['a trial is due after four hours', { boughtAt: 7 }],
    ['four products are too few', { wrongProducts: 4, boughtAt: 3 }],
    ['what was never bought delays nothing that was', { isSound: true, boughtAt: 3 }],
    ['a due trial goes to what was bought before', { wereWell: true, isSound: true, wrongAt: [1.5, 4], boughtAt: 8 }],
    ['what fails only later delays nothing that was bought until then', { wrongAt: [12], boughtAt: 3 }],
  ])('too late: %s', (_what, changes) => {
    expect(violationsOf({ ...usual, ...changes })).toHaveLength(1);
  });
});
