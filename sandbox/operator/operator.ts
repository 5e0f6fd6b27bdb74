import * as z from 'zod';
import type { NewAccount, newAccountSchema } from '../account/accounts.ts';
import type { FaultSelection } from '../faults/fault-selection.ts';
import type { LoggedRequest, RequestFilter, RequestPage } from '../orders/request-log.ts';
import type { SandboxState } from '../orders/sandbox-state.ts';
import { stateOf } from '../orders/units.ts';
import { sandboxConfigSchema, type SandboxSettings } from '../settings/config.ts';
import { toMinor } from '../values/money.ts';
import { ledgerOf, readLedger, type SandboxLedger } from './ledger.ts';

/** The settings that can change while the sandbox runs. */
const changeableSchema = sandboxConfigSchema.pick({
  limits: true,
  latency: true,
  fulfilment: true,
  maintenance: true,
  products_per_page: true,
});

type ChangeableName = keyof typeof changeableSchema.shape;

/** New values by name of the setting; `change` checks them. */
export const settingChangesSchema = z.partialRecord(changeableSchema.keyof(), z.unknown());

export const esimEventSchema = z.strictObject({
  event: z.enum(['install', 'expire', 'fail_state_checks']),
  /** For fail_state_checks: how many of the next checks fail; -1 is all of them, 0 none. */
  times: z.int().min(-1).default(1),
});

export const accountEventSchema = z.strictObject({
  wholesale: z.boolean().optional(),
  blocked: z.boolean().optional(),
  add: z.record(z.string().regex(/^[A-Z]{3}$/), z.string()).optional(),
});

export const itemEventSchema = z.strictObject({
  stock: z.int().min(0).optional(),
  on_sale: z.boolean().optional(),
});

/**
 * Plays the operator of the service, and whatever else can happen to it: time, faults, the phone
 * with an eSIM. Every method must run inside a transaction.
 */
export class Operator {
  readonly #state: SandboxState;
  readonly faults: FaultSelection;
  /** The settings of the config; a reset returns to them. */
  readonly #configured: SandboxSettings;

  /** @internal */
  constructor(state: SandboxState, faults: FaultSelection) {
    this.#state = state;
    this.faults = faults;
    this.#configured = state.settings;
  }

  /** Orders, charges and counted calls, of all accounts or of one. */
  ledger(account?: string): SandboxLedger {
    this.#state.orders.settleDue(this.now());
    const ledger = readLedger(this.#state);
    return account === undefined ? ledger : ledgerOf(account, ledger);
  }

  /** The latest requests of the API, without keys. */
  requests(filter: RequestFilter): RequestPage {
    return this.#state.requestLog.list(filter);
  }

  /** The request with this `Request-Id`. False: there is none, or it is not kept any more. */
  request(id: string): LoggedRequest | false {
    return this.#state.requestLog.find(id);
  }

  /** Empties the sandbox and returns to the accounts, settings and faults of its config. */
  reset(): void {
    this.#state.database.empty();
    this.#state.clock.offsetMs = 0;
    this.#state.settings = this.#configured;
    this.restartLimits();
    this.faults.restart(this.#configured.faults);
    this.seed();
  }

  /** Stores the accounts of the config and the stock of the catalogue. */
  seed(): void {
    const { settings, accounts, stock, catalogue } = this.#state;
    for (const account of settings.accounts) accounts.seed(account, this.now());
    stock.seed(catalogue);
  }

  /** Counts the calls of the log again, by the limits of the settings. */
  restartLimits(): void {
    const { limits, settings, requestLog } = this.#state;
    limits.restart(settings.limits, (time) => requestLog.since(time), this.now());
  }

  /** The time of the sandbox, in milliseconds since the epoch. */
  now(): number {
    return this.#state.clock.now();
  }

  /**
   * Moves the clock forward and returns the new time. Delayed orders are delivered, eSIMs expire,
   * limits recover.
   */
  advanceClock(ms: number): number {
    const { clock, database, orders } = this.#state;
    clock.advance(ms);
    const upsert =
      "INSERT INTO meta VALUES ('clock_offset_ms', ?) ON CONFLICT DO UPDATE SET value = excluded.value";
    database.run(upsert, String(clock.offsetMs));
    orders.settleDue(this.now());
    return this.now();
  }

  /**
   * Changes settings until the next reset or start; of a section only the given keys. Throws a
   * ZodError on bad values.
   */
  change(changes: { [Name in ChangeableName]?: unknown }): void {
    const current = this.#state.settings;
    const merged = changeableSchema.keyof().options.map((name) => {
      const [given, old] = [changes[name], current[name]];
      return [
        name,
        isSection(given) && isSection(old) ? Object.assign({}, old, given) : (given ?? old),
      ];
    });
    this.#state.settings = { ...current, ...changeableSchema.parse(Object.fromEntries(merged)) };
    if (changes.limits !== undefined) this.restartLimits();
  }

  settings(): Pick<SandboxSettings, ChangeableName> {
    return changeableSchema.strip().parse(this.#state.settings);
  }

  /**
   * Installs an eSIM, lets it expire, or lets the checks of its state fail. False: there is no such
   * eSIM. Throws when its state is final: a cancelled eSIM is refunded, and an expired one must not
   * become valid again.
   */
  esimEvent(iccid: string, { event, times }: z.output<typeof esimEventSchema>): boolean {
    const { esims } = this.#state;
    const esim = esims.find(iccid);
    if (esim === undefined) return false;
    const current = stateOf(esim, this.now());
    if (
      event !== 'fail_state_checks' &&
      (current === 'cancelled' || (current === 'expired' && event === 'install'))
    ) {
      throw new Error(
        `event: the eSIM ${iccid} is ${current}, which is final, so "${event}" cannot happen to it`,
      );
    }
    if (event === 'install') esims.install(esim, this.now());
    else if (event === 'expire')
      esims.update({ ...esim, expires_at: Math.min(esim.expires_at, this.now()) });
    else esims.update({ ...esim, unchecked_left: times });
    return true;
  }

  /**
   * Delivers a pending order now, or refunds it where its item is one whose delivery fails. False:
   * there is no such order, or it is not pending.
   */
  deliverOrder(number: string): boolean {
    const order = this.#state.orders.find(number);
    if (order?.status !== 'pending') return false;
    this.#state.orders.settle(order, this.now());
    return true;
  }

  /**
   * Refunds what is left of an order and cancels its eSIMs, because none of them can be refunded a
   * second time (Spec 3). False: there is no such order, or it is refunded already.
   */
  refundOrder(number: string): boolean {
    const { orders, esims } = this.#state;
    const order = orders.find(number);
    if (order === undefined || order.status === 'refunded') return false;
    orders.refundRest(order, this.now());
    for (const esim of esims.ofOrder(number))
      esims.update({ ...esim, cancelled_at: esim.cancelled_at ?? this.now() });
    return true;
  }

  /** Makes an account with keys and balances, for a test run that must not see the others. */
  createAccount(wanted: z.output<typeof newAccountSchema>): NewAccount {
    return this.#state.accounts.create(wanted, this.now());
  }

  accountEvent(
    id: string,
    { wholesale, blocked, add = {} }: z.output<typeof accountEventSchema>,
  ): boolean {
    const { accounts } = this.#state;
    const account = accounts.account(id);
    if (account === undefined) return false;
    accounts.setStanding(
      id,
      wholesale ?? account.wholesale === 1,
      blocked ?? account.blocked === 1,
    );
    for (const [currency, amount] of Object.entries(add)) {
      accounts.move(id, currency, toMinor(amount, currency), 'funding', this.now());
    }
    return true;
  }

  revokeKey(account: string, name: string): boolean {
    return this.#state.accounts.revokeKey(account, name, this.now());
  }

  /** Changes the stock of a variant, or whether a plan is on sale. False: there is no such item. */
  itemEvent(item: string, change: z.output<typeof itemEventSchema>): boolean {
    const { catalogue, stock } = this.#state;
    const [isProduct, isPlan] = [catalogue.products.has(item), catalogue.plans.has(item)];
    if (isProduct && change.stock !== undefined) stock.set(item, change.stock);
    if (isPlan && change.on_sale !== undefined) stock.setOnSale(item, change.on_sale);
    return isProduct || isPlan;
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
