import * as z from 'zod';
import { type Catalogue, readCatalogue } from '../orders/catalogue.ts';
import type { SandboxClock } from '../clock.ts';
import { type SandboxConfig, sandboxConfigSchema, type SandboxSettings } from '../config.ts';
import { emptyDatabase } from '../database.ts';
import type { FaultRule } from '../faults/fault-rules.ts';
import type { FaultSelection } from '../faults/fault-selection.ts';
import { readLedger, type SandboxLedger } from './ledger.ts';
import { toMinor } from './money.ts';
import type { RequestLog } from '../limits/request-log.ts';
import type { Shelf } from '../orders/sandbox-state.ts';

/** The settings that may change while the sandbox runs; the others are fixed at its start. */
export const changeableSettings = [
  'limits',
  'latency',
  'checks',
  'references',
  'requests',
  'fulfilment',
  'messages',
  'maintenance',
  'products_per_page',
] as const;

export type ChangeableSettings = Pick<SandboxConfig, (typeof changeableSettings)[number]>;

const changesSchema = sandboxConfigSchema.pick({
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

export type OperatorParts = {
  shelf: Shelf;
  log: RequestLog;
  clock: SandboxClock;
  faults: FaultSelection;
  catalogueFile: string | URL;
  /** The settings of the start, to which a reset returns. */
  settings: SandboxSettings;
};

/**
 * The hand that turns the sandbox's knobs: what only the service's own staff, or the world, could do. Every method
 * must run inside a transaction. They return false, or throw, when the named thing does not exist.
 */
export class Operator {
  readonly #parts: OperatorParts;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  ledger(): SandboxLedger {
    const { shelf, log, clock } = this.#parts;
    shelf.orders.settleDue(clock.now());
    return readLedger(shelf, log, clock.now());
  }

  /** Everything back to an empty sandbox with the accounts, settings and faults of its config. */
  reset(): void {
    const { shelf, clock, faults, settings } = this.#parts;
    emptyDatabase(shelf.database);
    clock.resetOffset();
    shelf.settings = settings;
    shelf.limits.restart(settings.limits);
    faults.restart(settings.faults);
    this.seed();
  }

  /** Brings the database up to the config and the catalogue. */
  seed(): void {
    const { shelf, clock } = this.#parts;
    shelf.accounts.seed(shelf.settings.accounts, clock.now());
    shelf.stock.seed(shelf.catalogue);
  }

  addFault(rule: unknown): FaultRule {
    return this.#parts.faults.add(rule);
  }

  faults(): ReturnType<FaultSelection['list']> {
    return this.#parts.faults.list();
  }

  clearFaults(): void {
    this.#parts.faults.restart([]);
  }

  /** Lets time pass: delayed orders arrive, eSIMs expire, limits forget. Milliseconds, forward only. */
  advanceClock(ms: number): number {
    const { shelf, clock } = this.#parts;
    clock.advance(ms);
    shelf.database
      .prepare("INSERT INTO meta VALUES ('clock_offset_ms', ?) ON CONFLICT DO UPDATE SET value = excluded.value")
      .run(String(clock.offsetMs));
    shelf.orders.settleDue(clock.now());
    return clock.now();
  }

  /** Replaces whole sections of the settings, until the next reset or start. Throws a ZodError on bad values. */
  change(changes: { [Name in keyof ChangeableSettings]: unknown }): void {
    const { shelf, log, clock } = this.#parts;
    const current = shelf.settings;
    const merged: Record<string, unknown> = {};
    for (const name of changeableSettings) {
      const given = changes[name];
      const old = current[name];
      merged[name] = isSection(given) && isSection(old) ? Object.assign({}, old, given) : (given ?? old);
    }
    shelf.settings = { ...current, ...changesSchema.parse(merged) };
    if (changes.limits !== undefined) {
      shelf.limits.restart(shelf.settings.limits);
      log.refill(shelf.limits, clock.now());
    }
  }

  settings(): Pick<SandboxSettings, (typeof changeableSettings)[number]> {
    return changesSchema.strip().parse(this.#parts.shelf.settings);
  }

  /** What a phone, or time, does to an eSIM. False: there is no such eSIM. */
  esimEvent(iccid: string, { event, times }: z.output<typeof esimEventSchema>): boolean {
    const { shelf, clock } = this.#parts;
    const owner = shelf.database
      .prepare<[string], string>('SELECT account FROM esims WHERE iccid = ?')
      .pluck()
      .get(iccid);
    const esim = owner === undefined ? undefined : shelf.esims.byIccid(owner, iccid);
    if (esim === undefined) return false;
    if (event === 'install') shelf.esims.install(esim, clock.now());
    else if (event === 'expire') shelf.esims.expire(esim, clock.now());
    else shelf.esims.setUnchecked(esim, times);
    return true;
  }

  /**
   * The operator of the service gives an order's money back, and its eSIMs are cancelled with it: none of them may be
   * refunded a second time (Spec 3). False: no such order, or nothing is left of it.
   */
  refundOrder(number: string): boolean {
    const { shelf, clock } = this.#parts;
    const exists = shelf.database.prepare('SELECT 1 FROM orders WHERE number = ?').get(number) !== undefined;
    if (!exists || shelf.orders.require(number).status === 'refunded') return false;
    shelf.orders.refundRest(shelf.orders.require(number), clock.now());
    for (const esim of shelf.esims.ofOrder(number)) {
      if (esim.cancelled_at === null) shelf.esims.cancel(esim, clock.now());
    }
    return true;
  }

  accountEvent(id: string, change: z.output<typeof accountEventSchema>): boolean {
    const { shelf, clock } = this.#parts;
    if (shelf.accounts.account(id) === undefined) return false;
    shelf.accounts.setStanding(id, change);
    for (const [currency, amount] of Object.entries(change.add ?? {})) {
      shelf.accounts.move(id, currency, toMinor(amount, currency), 'funding', clock.now());
    }
    return true;
  }

  revokeKey(account: string, name: string): boolean {
    const { shelf, clock } = this.#parts;
    const key = shelf.accounts
      .keysOf(account)
      .find((candidate) => candidate.name === name && candidate.revoked_at === null);
    return key !== undefined && shelf.accounts.revokeKey(account, key.id, clock.now());
  }

  /** Changes what is for sale: a variant's stock, or whether a plan is on sale. */
  itemEvent(item: string, change: z.output<typeof itemEventSchema>): boolean {
    const { shelf } = this.#parts;
    if (shelf.catalogue.products.has(item)) {
      if (change.stock !== undefined) shelf.stock.set(item, change.stock);
      return true;
    }
    if (!shelf.catalogue.plans.has(item)) return false;
    if (change.on_sale !== undefined) {
      shelf.database
        .prepare('INSERT INTO sale_overrides VALUES (?, ?) ON CONFLICT DO UPDATE SET on_sale = excluded.on_sale')
        .run(item, Number(change.on_sale));
    }
    return true;
  }

  /** Reads the catalogue file again. Throws, and keeps the old one, when the file is not valid. */
  reloadCatalogue(): Catalogue {
    const { shelf, catalogueFile } = this.#parts;
    shelf.catalogue = readCatalogue(catalogueFile);
    shelf.stock.seed(shelf.catalogue);
    return shelf.catalogue;
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
