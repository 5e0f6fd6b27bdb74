import * as z from 'zod';
import { type Catalogue, readCatalogue } from '../orders/catalogue.ts';
import type { SandboxClock } from '../values/clock.ts';
import { sandboxConfigSchema, type SandboxSettings } from '../settings/config.ts';
import { emptyDatabase } from '../storage/database.ts';
import type { FaultSelection } from '../faults/fault-selection.ts';
import { ledgerOf, readLedger, type SandboxLedger } from './ledger.ts';
import { stateOf } from '../orders/units.ts';
import { toMinor } from '../values/money.ts';
import { createAccount, type NewAccount, type newAccountSchema } from '../account/accounts.ts';
import {
  listRequests,
  type LoggedRequest,
  type RequestFilter,
  type RequestLog,
  requestOf,
  type RequestPage,
} from '../limits/request-log.ts';
import type { SandboxState } from '../orders/sandbox-state.ts';

/** The settings that can change while the sandbox runs. */
const changeableSchema = sandboxConfigSchema.pick({
  limits: true,
  latency: true,
  checks: true,
  references: true,
  requests: true,
  fulfilment: true,
  messages: true,
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

export const itemEventSchema = z.strictObject({ stock: z.int().min(0).optional(), on_sale: z.boolean().optional() });

type OperatorParts = {
  state: SandboxState;
  requestLog: RequestLog;
  clock: SandboxClock;
  faults: FaultSelection;
  catalogueFile: string | URL;
  /** The settings of the config; a reset returns to them. */
  settings: SandboxSettings;
};

/**
 * Plays the operator of the service, and whatever else can happen to it: time, faults, the phone with an eSIM. Every
 * method must run inside a transaction.
 */
export class Operator {
  readonly #parts: OperatorParts;

  /** @internal */
  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** Orders, charges and counted calls, of all accounts or of one. */
  ledger(account?: string): SandboxLedger {
    const { state, requestLog, clock } = this.#parts;
    state.orders.settleDue(clock.now());
    const ledger = readLedger(state, requestLog, clock.now());
    return account === undefined ? ledger : ledgerOf(account, ledger);
  }

  /** The latest requests of the API, without keys. */
  requests(filter: RequestFilter): RequestPage {
    return listRequests(this.#parts.state.database, filter);
  }

  /** The request with this `Request-Id`. False: there is none, or it is not kept any more. */
  request(id: string): LoggedRequest | false {
    return requestOf(this.#parts.state.database, id);
  }

  /** Empties the sandbox and returns to the accounts, settings and faults of its config. */
  reset(): void {
    const { state, requestLog, clock, faults, settings } = this.#parts;
    emptyDatabase(state.database);
    clock.offsetMs = 0;
    state.settings = settings;
    state.limits.restart(settings.limits, requestLog, clock.now());
    faults.restart(settings.faults);
    this.seed();
  }

  /** Stores the accounts of the config and the stock of the catalogue. */
  seed(): void {
    const { state, clock } = this.#parts;
    for (const account of state.settings.accounts) state.accounts.seed(account, clock.now());
    state.stock.seed(state.catalogue);
  }

  get faults(): FaultSelection {
    return this.#parts.faults;
  }

  /** The time of the sandbox, in milliseconds since the epoch. */
  now(): number {
    return this.#parts.clock.now();
  }

  /** Moves the clock forward and returns the new time. Delayed orders are delivered, eSIMs expire, limits recover. */
  advanceClock(ms: number): number {
    const { state, clock } = this.#parts;
    clock.advance(ms);
    state.database
      .prepare("INSERT INTO meta VALUES ('clock_offset_ms', ?) ON CONFLICT DO UPDATE SET value = excluded.value")
      .run(String(clock.offsetMs));
    state.orders.settleDue(clock.now());
    return clock.now();
  }

  /** Changes settings until the next reset or start; of a section only the given keys. Throws a ZodError on bad values. */
  change(changes: { [Name in ChangeableName]?: unknown }): void {
    const { state, requestLog, clock } = this.#parts;
    const current = state.settings;
    const merged = changeableSchema.keyof().options.map((name) => {
      const [given, old] = [changes[name], current[name]];
      return [name, isSection(given) && isSection(old) ? Object.assign({}, old, given) : (given ?? old)];
    });
    state.settings = { ...current, ...changeableSchema.parse(Object.fromEntries(merged)) };
    if (changes.limits !== undefined) state.limits.restart(state.settings.limits, requestLog, clock.now());
  }

  settings(): Pick<SandboxSettings, ChangeableName> {
    return changeableSchema.strip().parse(this.#parts.state.settings);
  }

  /**
   * Installs an eSIM, lets it expire, or lets the checks of its state fail. False: there is no such eSIM. Throws when its
   * state is final: a cancelled eSIM is refunded, and an expired one must not become valid again.
   */
  esimEvent(iccid: string, { event, times }: z.output<typeof esimEventSchema>): boolean {
    const { state, clock } = this.#parts;
    const esim = state.esims.find(iccid);
    if (esim === undefined) return false;
    const current = stateOf(esim, clock.now());
    if (event !== 'fail_state_checks' && (current === 'cancelled' || (current === 'expired' && event === 'install'))) {
      throw new Error(`event: the eSIM ${iccid} is ${current}, which is final, so "${event}" cannot happen to it`);
    }
    if (event === 'install') state.esims.install(esim, clock.now());
    else if (event === 'expire') state.esims.expire(esim, clock.now());
    else state.esims.setUnchecked(esim, times);
    return true;
  }

  /**
   * Delivers a pending order now, or refunds it where its item is one whose delivery fails. False: there is no such
   * order, or it is not pending.
   */
  deliverOrder(number: string): boolean {
    const { state, clock } = this.#parts;
    const order = state.orders.find(number);
    if (order?.status !== 'pending') return false;
    state.orders.settle(order, clock.now());
    return true;
  }

  /**
   * Refunds what is left of an order and cancels its eSIMs, because none of them can be refunded a second time (Spec 3).
   * False: there is no such order, or it is refunded already.
   */
  refundOrder(number: string): boolean {
    const { state, clock } = this.#parts;
    const order = state.orders.find(number);
    if (order === undefined || order.status === 'refunded') return false;
    state.orders.refundRest(order, clock.now());
    for (const esim of state.esims.ofOrder(number)) {
      if (esim.cancelled_at === null) state.esims.cancel(esim, clock.now());
    }
    return true;
  }

  /** Makes an account with keys and balances, for a test run that must not see the others. See `createAccount`. */
  createAccount(wanted: z.output<typeof newAccountSchema>): NewAccount {
    const { state, clock } = this.#parts;
    return createAccount(state.accounts, wanted, clock.now());
  }

  accountEvent(id: string, change: z.output<typeof accountEventSchema>): boolean {
    const { state, clock } = this.#parts;
    if (state.accounts.account(id) === undefined) return false;
    state.accounts.setStanding(id, change);
    for (const [currency, amount] of Object.entries(change.add ?? {})) {
      state.accounts.move(id, currency, toMinor(amount, currency), 'funding', clock.now());
    }
    return true;
  }

  revokeKey(account: string, name: string): boolean {
    const { state, clock } = this.#parts;
    const key = state.accounts.keysOf(account).find((own) => own.name === name && own.revoked_at === null);
    return key !== undefined && state.accounts.revokeKey(account, key.id, clock.now());
  }

  /** Changes the stock of a variant, or whether a plan is on sale. False: there is no such item. */
  itemEvent(item: string, change: z.output<typeof itemEventSchema>): boolean {
    const { state } = this.#parts;
    if (state.catalogue.products.has(item)) {
      if (change.stock !== undefined) state.stock.set(item, change.stock);
      return true;
    }
    if (!state.catalogue.plans.has(item)) return false;
    if (change.on_sale !== undefined) state.stock.setOnSale(item, change.on_sale);
    return true;
  }

  /** Reads the catalogue file again. Throws when it is not valid, and keeps the old one. */
  reloadCatalogue(): Catalogue {
    const { state, catalogueFile } = this.#parts;
    state.catalogue = readCatalogue(catalogueFile);
    state.stock.seed(state.catalogue);
    return state.catalogue;
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
