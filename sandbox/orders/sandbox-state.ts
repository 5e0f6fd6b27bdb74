import { Accounts } from '../account/accounts.ts';
import { Limits } from '../limits/limits.ts';
import { RequestLog } from './request-log.ts';
import type { SandboxSettings } from '../settings/config.ts';
import type { Database } from '../storage/database.ts';
import type { SandboxClock } from '../values/clock.ts';
import { SeededStream } from '../values/randomness.ts';
import { type Catalogue, type Plan, Stock } from './catalogue.ts';
import { Orders } from './orders.ts';
import { type Esim, Esims } from './units.ts';

/** What a sandbox is made with. The settings can be replaced while it runs. */
type Basis = {
  settings: SandboxSettings;
  catalogue: Catalogue;
  database: Database;
  clock: SandboxClock;
  seed: number;
};

/** Everything that a call can read or change. */
export type SandboxState = ReturnType<typeof sandboxState>;

export function sandboxState(basis: Basis) {
  const { database, settings, seed } = basis;
  const accounts = new Accounts(database);
  return {
    ...basis,
    accounts,
    orders: new Orders(database, accounts),
    esims: new Esims(database, seed),
    stock: new Stock(database),
    limits: new Limits(settings.limits),
    requestLog: new RequestLog(database, settings),
    /**
     * Draw the delays of delayed orders, and of calls before they are counted and before they are
     * answered.
     */
    delays: new SeededStream(seed, 'delays'),
    before: new SeededStream(seed, 'before'),
    after: new SeededStream(seed, 'after'),
  };
}

/**
 * Spec 2: the top-up plans of an eSIM. They are the top-up plans on sale at the destination of its
 * plan.
 */
export function topupPlans(esim: Esim, { catalogue, stock }: SandboxState): Plan[] {
  const destination = catalogue.plans.get(esim.plan)?.destination ?? '';
  const plans = catalogue.destinations.get(destination)?.plans ?? [];
  return plans.filter((plan) => plan.topup && stock.isOnSale(plan));
}
