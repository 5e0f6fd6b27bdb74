import { expect, it, onTestFinished } from 'vitest';
import { BudgetGate } from '../../../src/buying/budget/budget-gate.ts';
import { priceWatch } from '../../../src/buying/spending/price-watch.ts';
import { type readPlan, readProduct } from '../../../src/wholesale/catalogue/catalogue-item.ts';
import {
  CatalogueWalk,
  readCataloguePage,
} from '../../../src/wholesale/catalogue/catalogue-walk.ts';
import { parseExactJson } from '../../../src/core/exact-json.ts';
import { wireSchema } from '../../../src/wholesale/connector/wire.ts';
import { attemptDeps } from '../../support/attempt-deps.ts';
import { MachineClock } from '../../support/machine-clock.ts';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { stepsOf } from '../../support/steps.ts';

const wire = wireSchema.parse({}).catalogue;
const minute = 60_000;

it('a price that rises in the catalogue pauses its product within the hour, before another order', async () => {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  await outbox.accept([line({ variant: 'steam-10' })]);
  const opened = close(await outbox.opened(), fulfilled);
  const { settlement } = opened;
  const answer = settlement.answer && { ...settlement.answer, cost: '9.00', currency: 'USD' };
  await stepsOf(outbox.store).closeAttempt({ ...opened, settlement: { ...settlement, answer } });

  const clock = new MachineClock();
  let price = '10.00';
  let reads = 0;
  const fetch = async () => {
    reads += 1;
    const body = parseExactJson(`[{"variant":"steam-10","prices":{"USD":"${price}"}}]`);
    const page = body === undefined ? null : readCataloguePage(body, readProduct, wire);
    if (page === null) throw new Error('the page is a list');
    return { kind: 'page' as const, page };
  };
  const nothing = async () => ({
    kind: 'page' as const,
    page: { items: [], next: null, lastPage: null },
  });
  const place = { paging: wire.paging, origin: 'http://api', basePath: '' };
  const limits = { windowMs: 60_000, requests: 60, orders: 20, transitMs: 1000 };
  const plans = () =>
    new CatalogueWalk<ReturnType<typeof readPlan>>({ ...place, path: '/p', fetch: nothing });
  const paused: string[] = [];
  const watch = priceWatch({
    ...attemptDeps(outbox.store),
    clock,
    gate: new BudgetGate(['main'], limits, clock),
    steps: stepsOf(outbox.store),
    wholesale: {
      products: () => new CatalogueWalk({ ...place, path: '/products', fetch }),
      destinations: () => new CatalogueWalk({ ...place, path: '/d', fetch: nothing }),
      plans,
      topups: plans,
    },
    maxRisePercent: () => 20,
    onPaused: async () => {
      paused.push(...(await outbox.store.pauses.all()).map(({ scope }) => scope));
    },
  });
  watch.start();
  onTestFinished(() => watch.stop());
  await clock.passUntil(() => reads === 1, 6 * minute);
  expect(paused).toEqual([]);
  price = '100.00';
  await clock.passUntil(() => paused.length > 0, 61 * minute, 1000);
  expect(paused).toEqual(['variant:steam-10']);
  // Its price was told: only a look at what is not paused follows.
  await clock.passUntil(() => false, 61 * minute, 1000);
  expect(reads).toBe(2);
});
