import { Accounts } from '../account/accounts.ts';
import type { SandboxSettings } from '../settings/config.ts';
import type { Database } from '../storage/database.ts';
import { Limits } from '../limits/limits.ts';
import { SeededStream } from '../values/randomness.ts';
import { type Catalogue, type Plan, Stock } from './catalogue.ts';
import { Codes, type Esim, Esims } from './units.ts';
import { Orders } from './orders.ts';

/** Everything that a call can read or change. The settings and the catalogue can be replaced while it runs. */
export type SandboxState = {
  settings: SandboxSettings;
  catalogue: Catalogue;
  database: Database;
  accounts: Accounts;
  orders: Orders;
  codes: Codes;
  esims: Esims;
  stock: Stock;
  limits: Limits;
  /** Draws the delays of delayed orders. */
  delays: SeededStream;
};

export function sandboxState(
  database: Database,
  settings: SandboxSettings,
  catalogue: Catalogue,
  seed: number,
): SandboxState {
  const accounts = new Accounts(database);
  return {
    settings,
    catalogue,
    database,
    accounts,
    orders: new Orders(database, accounts),
    codes: new Codes(database, seed),
    esims: new Esims(database, seed, settings.esims),
    stock: new Stock(database),
    limits: new Limits(settings.limits),
    delays: new SeededStream(seed, 'delays'),
  };
}

/** Spec 2: the top-up plans of an eSIM. They are the top-up plans on sale at the destination of its plan. */
export function topupPlans(esim: Esim, { catalogue, stock }: SandboxState): Plan[] {
  const destination = catalogue.plans.get(esim.plan)?.destination ?? '';
  const plans = catalogue.destinations.get(destination)?.plans ?? [];
  return plans.filter((plan) => plan.topup && stock.isOnSale(plan));
}
