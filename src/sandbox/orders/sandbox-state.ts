import type { Accounts } from '../account/accounts.ts';
import type { Catalogue, Plan } from './catalogue.ts';
import type { Codes } from './codes.ts';
import type { SandboxSettings } from '../config.ts';
import type { Database } from '../database.ts';
import type { Esim, Esims } from './esims.ts';
import type { Limits } from '../limits/limits.ts';
import type { Orders } from './orders.ts';
import type { SeededStream } from '../randomness.ts';
import type { Stock } from './stock.ts';

/** Everything that a call may touch, in one place. The settings and the catalogue can be exchanged while it runs. */
export type Shelf = {
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
  isOnSale(plan: Plan): boolean;
  /** Spec 2: the list of top-up plans that an eSIM has. */
  topupsOf(esim: Esim): Plan[];
};

/** The parts of the shelf that follow from the others. */
export function saleState(database: Database, catalogueNow: () => Catalogue): Pick<Shelf, 'isOnSale' | 'topupsOf'> {
  const override = database.prepare<[string], number>('SELECT on_sale FROM sale_overrides WHERE plan = ?').pluck();
  const isOnSale = (plan: Plan): boolean => {
    const overridden = override.get(plan.plan);
    return overridden === undefined ? plan.on_sale : overridden === 1;
  };
  const topupsOf = (esim: Esim): Plan[] => {
    const bought = catalogueNow().plans.get(esim.plan);
    const place = catalogueNow().destinations.get(bought?.destination ?? '');
    return place?.plans.filter((plan) => plan.topup && isOnSale(plan)) ?? [];
  };
  return { isOnSale, topupsOf };
}
