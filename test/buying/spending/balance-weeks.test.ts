import { expect, it } from 'vitest';
import { spendSection } from '../../../src/buying/spending/settings.ts';
import { stepsOf } from '../../support/steps.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { delivered, ended, VirtualWorker, type End } from '../../support/virtual-worker.ts';
import type { Outcome } from '../../../src/core/answers/outcome.ts';

const hourMs = 3_600_000;
const stepMs = 15 * 60_000;
const partsPerHour = hourMs / stepMs;

type Currency = 'USD' | 'EUR';

/** How many orders come in within an hour of a week, at most, and what one costs. */
interface Shape {
  readonly orders: (hour: number) => number;
  readonly cents: (hour: number) => number;
  readonly currencies: readonly Currency[];
  /** So many of 100 orders are delivered hours later, and their cost is shown only then. */
  readonly placed: number;
  /** So many cents the balance has at the begin. */
  readonly balance: number;
  /** The alert comes so many hours before the first refusal. */
  readonly leadHours: number;
}

const dayHour = (hour: number): number => hour % 24;
const isNight = (hour: number): boolean => dayHour(hour) < 7;
const usual = (hour: number): number => (isNight(hour) ? 0.1 : 1);
const isSaturday = (hour: number): boolean => hour >= 5 * 24 && dayHour(hour) >= 8;
const loopsFrom = 100;

const calm: Shape = {
  orders: usual,
  cents: () => 1000,
  currencies: ['USD'],
  placed: 0,
  balance: 90_000,
  leadHours: 12,
};
const shapes: Readonly<Record<string, Shape>> = {
  'quiet nights': calm,
  'a busy Saturday': {
    ...calm,
    orders: (hour) => (isSaturday(hour) ? 10 : usual(hour)),
    balance: 160_000,
    leadHours: 4,
  },
  // It charges at once, and shows what only hours later.
  'a loop': {
    ...calm,
    orders: (hour) => (hour >= loopsFrom ? 80 : usual(hour) / 2),
    placed: 100,
    balance: 80_000,
    leadHours: 0.4,
  },
  'a price rise': {
    ...calm,
    cents: (hour) => (hour >= 2 * 24 ? 3000 : 1000),
    placed: 10,
    balance: 150_000,
    leadHours: 8,
  },
  'two currencies': { ...calm, orders: (hour) => 2 * usual(hour), currencies: ['USD', 'EUR'] },
};

/** An API that keeps a balance of each currency, and refuses what it does not cover. */
function apiOf(worker: VirtualWorker, random: SeededRandom, shape: Shape, hour: () => number) {
  const balances = new Map(shape.currencies.map((currency) => [currency, shape.balance]));
  const sold = new Map<string, { cents: number; readyMs: number; isPlaced: boolean }>();
  const refused: { currency: Currency; atMs: number; since: number | null }[] = [];
  const answerTo = (reference: string): Outcome => {
    const sale = sold.get(reference);
    const outcome = delivered();
    if (sale === undefined || outcome.answer === null) throw new Error('nothing was sold');
    const { cents, readyMs, isPlaced } = sale;
    const currency = currencyOf(reference);
    if (isPlaced && worker.machine.steadyMs() < readyMs) {
      const pending = { status: 'pending', statusClass: 'pending', units: [] } as const;
      return { ...outcome, answer: { ...outcome.answer, ...pending, currency } };
    }
    return { ...outcome, answer: { ...outcome.answer, cost: (cents / 100).toFixed(2), currency } };
  };
  const currencyOf = (reference: string): Currency => {
    const [row] = worker.outbox.rows<{ currency: Currency }>(
      `SELECT currency FROM entries WHERE reference = '${reference}'`,
    );
    return row?.currency ?? 'USD';
  };
  worker.api.submit = (_product, reference = ''): End<Outcome> => {
    const currency = currencyOf(reference);
    const cents = shape.cents(hour());
    const left = balances.get(currency) ?? 0;
    if (!sold.has(reference)) {
      if (left < cents) {
        const [alert] = worker.outbox.rows<{ since: string }>(
          `SELECT since FROM outbox_attention WHERE reason = 'balance_low' AND scope = 'balance:${currency}'`,
        );
        const since = alert === undefined ? null : Date.parse(alert.since);
        refused.push({ currency, atMs: worker.machine.wallMs(), since });
        return { end: ended('insufficient_balance', 402), tookMs: 50 };
      }
      balances.set(currency, left - cents);
      const isPlaced = sold.size > 5 && random.int(1, 100) <= shape.placed;
      const readyMs = worker.machine.steadyMs() + random.int(2, 6) * hourMs;
      sold.set(reference, { cents, readyMs, isPlaced });
    }
    return { end: answerTo(reference), tookMs: random.pick(50, 2000) };
  };
  worker.api.lookUp = (reference = '') => {
    const { answer } = sold.has(reference) ? answerTo(reference) : { answer: null };
    return {
      end: answer === null ? { kind: 'absent' } : { kind: 'found', answer },
      tookMs: 50,
    };
  };
  return { balances, refused };
}

const anyOf = (currencies: readonly Currency[], random: SeededRandom): Currency =>
  currencies[random.int(0, currencies.length - 1)] ?? 'USD';

const seeds = Array.from({ length: Number(process.env['BALANCE_WEEKS'] ?? 20) }, (_, at) => at + 1);
const runs = seeds.map((seed) => {
  const [name = '', shape] = Object.entries(shapes)[seed % 5] ?? [];
  return { seed, name, shape };
});

it.each(runs)(
  'a low balance is told before the first order is refused: $name, seed $seed',
  async ({ seed, shape }) => {
    if (shape === undefined) throw new Error('there are five shapes');
    const random = new SeededRandom(seed);
    const spending = spendSection.parse({ max_rise_percent: 1_000_000 });
    const worker = await VirtualWorker.start({ spending, maxIdleDelayMs: stepMs });
    const startMs = worker.machine.wallMs();
    const { store } = worker.outbox;
    const watch = () => stepsOf(store).watchMoney(spending, worker.machine.wallMs());
    let hour = 0;
    const { refused } = apiOf(worker, random, shape, () => hour);
    for (const currency of shape.currencies) {
      const who = { actor: 'cli:ann', reason: 'the supplier shows it', nowMs: startMs };
      await store.operator.setBalance({ ...who, currency, millionths: shape.balance * 10_000 });
    }
    const first = new Map<Currency, (typeof refused)[number]>();
    for (
      let part = 0;
      part < 7 * 24 * partsPerHour && first.size < shape.currencies.length;
      part += 1
    ) {
      hour = Math.floor(part / partsPerHour);
      const expected = shape.orders(hour) / partsPerHour;
      const count = Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0);
      await worker.accept(
        Array.from({ length: count }, () => 'card'),
        { currency: anyOf(shape.currencies, random) },
      );
      worker.dispatcher.notify();
      // The worker looks every ten seconds; while nothing is charged, that changes nothing.
      await worker.pass(count > 0 ? 10_000 : stepMs, count > 0 ? 5000 : stepMs);
      await watch();
      if (count > 0) await worker.pass(stepMs - 10_000, stepMs / 2);
      for (const one of refused) if (!first.has(one.currency)) first.set(one.currency, one);
    }
    expect([...first.keys()].toSorted()).toEqual([...shape.currencies].toSorted());
    for (const { atMs, since } of first.values()) {
      expect((atMs - (since ?? atMs)) / hourMs).toBeGreaterThan(shape.leadHours);
      // It is no alert where there is enough for days.
      expect(((since ?? startMs) - startMs) / hourMs).toBeGreaterThan(24);
    }
  },
  60_000,
);
