import { outcomeRowFrom } from '../../src/core/answers/outcome.ts';
import { decisionTable, rejections } from '../../src/buying/decision/decision-table.ts';
import { familyOf, lookedUpAs, type Family } from '../../src/core/order/purchase.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ApiLedger, SimOrder } from './api-ledger.ts';
import type { ClockJumps } from './clock-jumps.ts';
import type { Product, Span } from './sim-account.ts';
import type { RunPlan } from './run-plan.ts';
import type { Outage } from './troubles.ts';
import type { WireWatch } from './wire-watch.ts';

/**
 * How long a healthy line may wait although nothing is wrong, in ms: one sleep of the loop, which a
 * notification can miss by the length of a call, the call itself, and the turns of lines that the
 * budget lets pass.
 */
const slackMs = 300_000;

/**
 * A call that never left is repeated a little later: lines that came within this time, in ms, may
 * be sent before it.
 */
const aheadMs = 120_000;

/** How long after the end of a disturbance everything flows again, in ms. */
const recoveryMs = {
  /** The probe comes each minute at most. */
  refused: 90_000,
  /**
   * Calls of the outage have unknown outcomes: the in-flight window, lookups, and a trial order of
   * their product.
   */
  ambiguous: 900_000,
  /** A denial is probed every 5 minutes at most, and may take three probes and a trial order. */
  denial: 700_000,
  /**
   * Slots of the process before come back a window and the transit time after the start; its calls
   * are looked up.
   */
  down: 420_000,
  /** The loop notices a step of the wall clock. */
  wallJump: 120_000,
  /** Random faults of every call leave all that is above. */
  randomFaults: 1_800_000,
} as const;

/**
 * So many lines that their balance does not cover pause it. The next trial order comes after 1,000
 * s at most; each second one is of a product that was refused, and another product that was not
 * refused yet may come before this line's.
 */
const dearLines = 3;
const balanceTrialMs = 3 * 1_000_000;

/** With so many failed products the trial of their balance may be one of them. */
const manyProducts = 5;
/**
 * Two products that show wrong goods pause their family. The next trial comes after so many ms at
 * most, with jitter.
 */
const dearFamilyTrialMs = 240 * 60_000 * 1.1;
const wrongGoods: ReadonlySet<string> = new Set([
  'shows_other_product',
  'answers_with_other_product',
  'has_unread_field',
]);

/** After these kinds of trouble nobody knows whether the call bought something. */
const unsettled: ReadonlySet<string> = new Set([
  'server_error',
  'page_of_a_gateway',
  'silent',
  'dropped',
  'sold_with_server_error',
]);
/** An order of these is found by a lookup, and counts as bought then. */
const foundByLookup: ReadonlySet<string> = new Set([
  'answers_with_other_product',
  'sold_with_server_error',
]);
/**
 * An unknown outcome is cleared so long after its call, in ms: the in-flight window and the lookups
 * after it.
 */
const clearedMs = 240_000;
/** So many calls of failing products come before the worker sees that several fail. */
const fewFailing = 24;
/** The worker knows that an order was bought so long after it, in ms. */
const knownAfterMs = 60_000;

/** A span that delays every line, and how long its effect lasts. */
interface Disturbance extends Span {
  readonly why: string;
}

interface Awaited {
  readonly line: AcceptableLine;
  readonly reference: string;
  readonly sinceMs: number;
}

const productName = (line: AcceptableLine): string => line.variant ?? line.plan ?? '';

/** Whether this line may be charged to the balance that the other one names. */
const isChargedWith = ({ currency, rules }: AcceptableLine, other: AcceptableLine): boolean =>
  currency === other.currency || rules?.fallback_currency === other.currency;

/** Whether a refusal with this code is confirmed by a lookup. */
function needsLookup(code: string): boolean {
  const { clean } = decisionTable[outcomeRowFrom(code) ?? 'unlisted_code'];
  return rejections.has(clean.verdict);
}

/**
 * Whether nothing is ever wrong with this product in the run, and its orders fit into stock and
 * limits.
 */
function isHealthyProduct(product: Product | undefined, quantity: number): boolean {
  if (product === undefined || product.refusals.length > 0 || product.afterSale !== null)
    return false;
  return product.stock === undefined && quantity <= (product.limit ?? quantity);
}

/**
 * The promise that one bad thing stops only itself: a line of a healthy product is bought within
 * the time that the budget needs, plus a stated slack, whatever else is sick. Only what stops
 * everything counts as a disturbance: an outage of the whole API, a denial of the account or of a
 * key, a worker that does not run, a pause by an operator.
 */
export class Liveness {
  readonly #plan: RunPlan;
  readonly #nowMs: () => number;
  readonly #clockJumps: ClockJumps;
  readonly #lines = new Map<string, Awaited>();
  /**
   * Lines of files: when they were acknowledged shows in no answer. They count as work before
   * others.
   */
  readonly #fromFiles: readonly { readonly line: AcceptableLine; readonly sinceMs: number }[];
  readonly #seen: Disturbance[] = [];
  readonly #pausedByOperator = new Map<string, number>();
  /**
   * When the first order of each family was fulfilled: until then the worker tries its connector
   * with two at a time.
   */
  readonly #provenAtMs = new Map<Family, number>();
  /**
   * When the first order of each product was fulfilled, and when the worker started: others it does
   * not know any more.
   */
  readonly #fulfilledAtMs = new Map<string, number>();
  readonly #startsMs: number[] = [];
  #downSinceMs: number | null = 0;

  constructor(plan: RunPlan, nowMs: () => number, clockJumps: ClockJumps) {
    this.#plan = plan;
    this.#nowMs = nowMs;
    this.#clockJumps = clockJumps;
    const ofFiles = plan.batches.filter((batch) => batch.byIntake === true);
    this.#fromFiles = ofFiles.flatMap(({ lines, atMs }) =>
      lines.map((line) => ({ line, sinceMs: atMs })),
    );
  }

  acknowledged(line: AcceptableLine, reference: string): void {
    if (!this.#lines.has(reference))
      this.#lines.set(reference, { line, reference, sinceMs: this.#nowMs() });
  }

  fulfilled(operation: AcceptableLine['operation'], product: string | null = null): void {
    const family = familyOf(operation);
    if (!this.#provenAtMs.has(family)) this.#provenAtMs.set(family, this.#nowMs());
    if (product !== null && !this.#fulfilledAtMs.has(product))
      this.#fulfilledAtMs.set(product, this.#nowMs());
  }

  workerUp(): void {
    if (this.#downSinceMs !== null)
      this.#disturbed('the worker did not run', this.#downSinceMs, recoveryMs.down);
    this.#downSinceMs = null;
    this.#startsMs.push(this.#nowMs());
  }

  workerDown(): void {
    this.#downSinceMs ??= this.#nowMs();
  }

  pausedByOperator(scope: string): void {
    if (!this.#pausedByOperator.has(scope)) this.#pausedByOperator.set(scope, this.#nowMs());
  }

  resumedByOperator(scope: string): void {
    const sinceMs = this.#pausedByOperator.get(scope);
    this.#pausedByOperator.delete(scope);
    if (sinceMs !== undefined) this.#disturbed(`an operator paused ${scope}`, sinceMs, 0);
    // An operator may also say that the connector fits.
    if (scope === 'family:gift_card') this.fulfilled('gift_card_order');
    if (scope === 'family:esim') this.fulfilled('esim_order');
  }

  #disturbed(why: string, fromMs: number, lastsMs: number): void {
    this.#seen.push({ why, fromMs, untilMs: this.#nowMs() + lastsMs });
  }

  /** Everything in the run that delays all lines. */
  #disturbances(): Disturbance[] {
    const { account, troubles, wallJumps, diskFull, faultShare, faultsOffMs } = this.#plan;
    const after = (why: string, { fromMs, untilMs }: Span, lastsMs: number): Disturbance => ({
      why,
      fromMs,
      untilMs: untilMs + lastsMs,
    });
    const leavesUnknown =
      this.#seen.length > 1 || troubles.outages.some((it) => it.kind !== 'refused');
    return [
      ...this.#seen,
      ...[...this.#pausedByOperator].map(([scope, fromMs]) => ({
        why: `an operator paused ${scope}`,
        fromMs,
        untilMs: Number.POSITIVE_INFINITY,
      })),
      ...troubles.outages.map((it) =>
        after(
          `outage: ${it.kind}`,
          it,
          it.kind === 'refused' ? recoveryMs.refused : recoveryMs.ambiguous,
        ),
      ),
      ...account.denials.map((it) => after(`denial: ${it.code}`, it, recoveryMs.denial)),
      ...wallJumps.map((it) =>
        after('the wall clock', { fromMs: it.atMs, untilMs: it.atMs }, recoveryMs.wallJump),
      ),
      ...(diskFull.untilMs > diskFull.fromMs
        ? [after('the disk is full', diskFull, recoveryMs.refused)]
        : []),
      ...(faultShare > 0
        ? [after('random faults', { fromMs: 0, untilMs: faultsOffMs }, recoveryMs.randomFaults)]
        : []),
      // Where healthy lines have unknown outcomes, too, they cannot be cleared while lookups do not
      // work.
      ...(leavesUnknown
        ? troubles.lookups.map((it) => after('lookups', it, recoveryMs.ambiguous))
        : []),
    ];
  }

  /**
   * Lines that are not healthy: each may be called more than once, and some of their calls take
   * long.
   */
  #isHealthy(line: AcceptableLine): boolean {
    const { account, troubles } = this.#plan;
    const name = productName(line);
    if (line.operation !== 'gift_card_order' && line.operation !== 'esim_order') return false;
    if ((line.notAfterMs ?? null) !== null || troubles.products.has(name)) return false;
    if (!isHealthyProduct(account.products.get(name), line.quantity ?? 1)) return false;
    // Enough for every order of the run.
    return (account.balances[line.currency ?? ''] ?? 0) >= 10_000_000;
  }

  /** The limits of unknown outcomes, in the order in which they apply. */
  get #unknownLimits(): readonly number[] {
    const { settings, reloads } = this.#plan;
    return [settings.maxUnknownOutcomes, ...reloads.map((it) => it.maxUnknownOutcomes)];
  }

  get #mostUnknown(): number {
    return Math.min(...this.#unknownLimits);
  }

  /**
   * How many unknown outcomes these products can leave: two each at most, and one that was not
   * bought before.
   */
  #unknownOf(products: readonly string[], each = 2): number {
    const lines = [...this.#lines.values(), ...this.#fromFiles].map((it) => productName(it.line));
    return products.reduce(
      (sum, name) => sum + Math.min(each, lines.filter((it) => it === name).length),
      0,
    );
  }

  /**
   * Whether unknown outcomes of these products alone can reach the limit: of all, or of what they
   * may have together.
   */
  #canFillLimit(isSound: boolean, isUnknown: (product: string) => boolean): boolean {
    const most = this.#mostUnknown;
    // What was bought before has the rest to itself, unless more was unknown when a reload lowered
    // the limit.
    const isLowered = this.#unknownLimits.some((limit, index, all) =>
      all.slice(0, index).some((it) => it > limit),
    );
    if (isSound && most > 1 && !isLowered) return false;
    const ofProducts = this.#unknownOf(
      [...this.#plan.account.products.keys()].filter(isUnknown),
      isSound ? 2 : 1,
    );
    return ofProducts >= (isSound ? most : Math.max(1, Math.floor(most / 4)));
  }

  /**
   * Whether the worker saw this order bought: before its product was in trouble, or because a
   * lookup showed the right goods.
   */
  #wasWell({ product, atMs }: SimOrder): boolean {
    const trouble = this.#plan.troubles.products.get(product);
    return trouble === undefined || foundByLookup.has(trouble.kind) || atMs < trouble.fromMs;
  }

  /**
   * How many unknown outcomes products can leave that were bought before they failed: they can fill
   * the rest, too.
   */
  #unknownOfWell(api: ApiLedger): number {
    const wereWell = [...this.#plan.troubles.products.keys()].filter(
      (name) =>
        this.#isUnsettled(name) &&
        api.orders.some((order) => order.product === name && this.#wasWell(order)),
    );
    return this.#unknownOf(wereWell);
  }

  readonly #isUnsettled = (product: string): boolean => {
    const { products, lookups } = this.#plan.troubles;
    const kind = products.get(product)?.kind ?? '';
    // An answer that shows other goods is settled by a lookup: its outcome is unknown while lookups
    // do not work.
    return unsettled.has(kind) || (kind.includes('other_product') && lookups.length > 0);
  };

  /**
   * A refusal that only a lookup confirms is an unknown outcome until then: while lookups of its
   * family do not work, such refusals fill the share of the limit that all products have together
   * that were not bought before.
   */
  #unconfirmed(isSound: boolean): readonly Disturbance[] {
    const { account, troubles } = this.#plan;
    return troubles.lookups.flatMap((span) => {
      const isUnconfirmed = (name: string): boolean =>
        name.includes('plan') === (span.family === 'esim') &&
        account.products.get(name)?.refusals.some(({ code }) => needsLookup(code)) === true;
      return this.#canFillLimit(isSound, (name) => isUnconfirmed(name) || this.#isUnsettled(name))
        ? [
            {
              why: 'refusals wait for lookups',
              fromMs: span.fromMs,
              untilMs: span.untilMs + recoveryMs.ambiguous,
            },
          ]
        : [];
    });
  }

  /**
   * While the balance of a line refuses many products, it is tried only when that is due, with the
   * cheapest order or one that was not refused yet: nobody promises that it is this one before the
   * balance covers them again.
   */
  #manyDear(
    { line, reference }: Awaited,
    isSound: boolean,
    api: ApiLedger,
  ): readonly Disturbance[] {
    const boughtMs = api.find(reference)?.atMs ?? this.#nowMs();
    const dear = new Map<string, Span>();
    for (const it of [...this.#lines.values(), ...this.#fromFiles]) {
      const product = productName(it.line);
      const span = this.#plan.account.products
        .get(product)
        ?.refusals.find(({ status }) => status === 402);
      if (span === undefined || it.sinceMs >= boughtMs || !isChargedWith(it.line, line)) continue;
      // Against a product that was bought before, only failures of such count.
      if (
        isSound &&
        !api.orders.some((order) => order.product === product && order.atMs < span.fromMs)
      )
        continue;
      const fromMs = Math.min(
        dear.get(product)?.fromMs ?? Infinity,
        Math.max(span.fromMs, it.sinceMs),
      );
      dear.set(product, { fromMs, untilMs: span.untilMs });
    }
    const last = manyProducts - 1;
    const fromMs = [...dear.values()].map((it) => it.fromMs).toSorted((a, b) => a - b)[last];
    const untilMs = [...dear.values()].map((it) => it.untilMs).toSorted((a, b) => b - a)[last];
    if (fromMs === undefined || untilMs === undefined || untilMs <= fromMs) return [];
    return [{ why: 'the balance does not cover many products', fromMs, untilMs }];
  }

  /**
   * How long unknown outcomes of the products in trouble can fill the limit for all, in ms, until
   * lookups have proven them absent and their products are paused; without lookups, for as long as
   * they are in trouble.
   */
  #clearingMs({ sinceMs }: Awaited, isSound: boolean, api: ApiLedger): number {
    const { readings, settings, troubles } = this.#plan;
    const areCleared = readings.lookup && settings.lookup && troubles.lookups.length === 0;
    const ofWell = this.#unknownOfWell(api);
    if (!this.#canFillLimit(isSound, this.#isUnsettled)) {
      if (ofWell < Math.ceil(this.#mostUnknown / 2)) return 0;
      if (areCleared) return Math.ceil(ofWell / this.#mostUnknown) * clearedMs;
    }
    if (!areCleared) return Number.POSITIVE_INFINITY;
    const sick = [...this.#lines.values(), ...this.#fromFiles].filter(
      (it) => !this.#isHealthy(it.line),
    );
    return Math.max(0, this.#firstFoundMs(api) - sinceMs) + 1_500_000 + sick.length * 300_000;
  }

  /**
   * Until an order of its family was bought, no lookup can find one, and so none proves that
   * another is absent.
   */
  #firstFoundMs({ orders }: ApiLedger): number {
    const inTrouble = [...this.#plan.troubles.products].filter(([name]) => this.#isUnsettled(name));
    return Math.max(
      0,
      ...inTrouble.map(([name, { untilMs }]) => {
        const isOfFamily = ({ family }: { family: Family }): boolean =>
          (family === 'esim') === name.includes('plan');
        return Math.min(untilMs, ...orders.filter(isOfFamily).map((it) => it.atMs));
      }),
    );
  }

  /** How long the calls of a line that is in trouble can occupy a place for a call, in ms. */
  #heldMs(line: AcceptableLine): number {
    const trouble = this.#plan.troubles.products.get(productName(line));
    if (trouble?.kind === 'slow') return trouble.processMs;
    return trouble?.kind === 'silent' ? 2 * 30_000 : 0;
  }

  /** How many lines that their balance does not cover may have come before this one. */
  #dearBefore({ line, sinceMs }: Awaited): number {
    const { products } = this.#plan.account;
    const isDear = (it: AcceptableLine): boolean =>
      products.get(productName(it))?.refusals.some((refusal) => refusal.status === 402) === true;
    const before = [...this.#lines.values(), ...this.#fromFiles].filter(
      (it) => it.sinceMs <= sinceMs + balanceTrialMs,
    );
    return before.filter((it) => isDear(it.line) && isChargedWith(it.line, line)).length;
  }

  /**
   * The time that the budget and the places for calls need for this line and those before it, in
   * ms.
   */
  #workMs(awaited: Awaited, isSound: boolean): number {
    const { settings, reloads, account } = this.#plan;
    const all = [settings, ...reloads];
    const orders = Math.min(...all.map((it) => it.limits.orders));
    const places = Math.max(1, Math.floor((Math.min(...all.map((it) => it.concurrency)) * 2) / 3));
    const isKeyDenied = account.denials.some((it) => it.authorization !== null);
    const keys = isKeyDenied ? 1 : Object.keys(settings.keys).length;
    let calls = 0;
    let failing = 0;
    let heldMs = 0;
    let ofOwnProduct = 0;
    const later = new Map<string, number>();
    for (const { line, sinceMs } of [...this.#lines.values(), ...this.#fromFiles]) {
      const product = productName(line);
      if (sinceMs > awaited.sinceMs + aheadMs) later.set(product, (later.get(product) ?? 0) + 1);
      if (sinceMs > awaited.sinceMs + aheadMs) continue;
      if (product === productName(awaited.line)) ofOwnProduct += 1;
      if (unsettled.has(this.#plan.troubles.products.get(product)?.kind ?? '')) failing += 2;
      else calls += this.#isHealthy(line) ? 1 : 2;
      heldMs += this.#heldMs(line);
    }
    // However many products fail, they take a small share of the calls from what was bought before.
    calls += isSound ? Math.min(failing, fewFailing + calls / 2) : failing;
    // Products take turns: while those of its own product come first, as many later ones of each
    // other product are sent.
    later.delete(productName(awaited.line));
    for (const count of later.values()) calls += 2 * Math.min(count, ofOwnProduct);
    const trialMs = this.#dearBefore(awaited) >= dearLines ? balanceTrialMs : 0;
    // Calls that read share the budget, and entries that wait take turns with new ones.
    return (2 * calls * settings.limits.windowMs) / (orders * keys) + heldMs / places + trialMs;
  }

  /**
   * Checks every healthy line. A line that the API, or a wrong answer, has judged itself is not
   * one.
   */
  check(
    api: ApiLedger,
    wire: WireWatch,
    violate: (sentence: string) => void,
    isTouched: (ref: string) => boolean,
  ): void {
    if (this.#plan.lostDiskAtMs !== null || this.#plan.settings.spending !== undefined) return;
    const boughtAtMs = new Map<string, number>();
    for (const { product, atMs } of api.orders)
      if (!boughtAtMs.has(product)) boughtAtMs.set(product, atMs);
    const disturbances = this.#disturbances();
    for (const awaited of this.#lines.values()) {
      const { line, reference } = awaited;
      const seen = wire.of(reference);
      if (!this.#isHealthy(line) || seen.refused || seen.undecidable || isTouched(reference))
        continue;
      // The worker may have died before the call left: it cannot know.
      if (seen.outcomeUnknown && this.#looksTooOld(seen.leftAtMs ?? awaited.sinceMs)) continue;
      // A key of another account may have sent it: before a lookup has found an order, an operator
      // must look.
      const isProven = wire.foundBefore(lookedUpAs(line.operation), seen.lastMs);
      if (seen.outcomeUnknown && this.#plan.account.foreign !== undefined && !isProven) continue;
      const startMs = Math.max(awaited.sinceMs, this.#startMs(line, awaited.sinceMs, wire));
      const isSound = this.#isSound(
        awaited,
        boughtAtMs.get(productName(line)) ?? Number.POSITIVE_INFINITY,
        api,
        wire,
      );
      const trialMs = this.#familyTrialMs(awaited, isSound, api);
      const neededMs =
        this.#workMs(awaited, isSound) +
        trialMs +
        this.#clearingMs(awaited, isSound, api) +
        slackMs;
      const ownDisturbances = [
        ...this.#unconfirmed(isSound),
        ...this.#manyDear(awaited, isSound, api),
      ];
      const untilMs = deadlineMs(startMs, neededMs, [...disturbances, ...ownDisturbances]);
      const soldMs = api.find(reference)?.atMs ?? this.#nowMs();
      if (soldMs <= untilMs) continue;
      const late = Math.round((soldMs - untilMs) / 1000);
      const waited = Math.round((soldMs - awaited.sinceMs) / 1000);
      violate(
        `${line.operation} ${line.orderId}/${line.lineId} (${reference}) was bought ${waited} s after it came, ${late} s too late`,
      );
    }
  }

  /**
   * Whether the worker knows, from when the line comes until it is bought, that its product was
   * bought before, and that no order of it failed in an outage since.
   */
  #isSound(
    { line, reference, sinceMs }: Awaited,
    firstMs: number,
    api: ApiLedger,
    wire: WireWatch,
  ): boolean {
    if (firstMs + knownAfterMs >= sinceMs) return false;
    const untilMs = api.find(reference)?.atMs ?? this.#nowMs();
    const before = api.orders.filter(
      ({ product, atMs }) => product === productName(line) && atMs <= sinceMs,
    );
    const lastMs = Math.max(...before.map((it) => it.atMs));
    const sent = [...wire.seen.values()].filter(({ body }) =>
      body?.includes(`"${productName(line)}"`),
    );
    const hasFailedIn = ({ kind, ...outage }: Outage): boolean =>
      kind !== 'refused' &&
      lastMs < outage.untilMs &&
      outage.fromMs < untilMs &&
      sent.some(
        (it) =>
          (it.leftAtMs ?? Infinity) < outage.untilMs &&
          (it.lastLeftAtMs ?? -Infinity) >= outage.fromMs,
      );
    if (this.#plan.troubles.outages.some(hasFailedIn)) return false;
    const fulfilledMs = this.#fulfilledAtMs.get(productName(line)) ?? Number.POSITIVE_INFINITY;
    return !this.#startsMs.some((atMs) => firstMs < atMs && atMs <= untilMs && atMs <= fulfilledMs);
  }

  /**
   * Whether a clock that nobody saw being set made the reference of a call too old: an operator must
   * look.
   */
  #looksTooOld(leftAtMs: number): boolean {
    return this.#clockJumps.unnoticedSince(leftAtMs) >= this.#plan.settings.referenceExpiryMs;
  }

  /**
   * Until an order of the family was fulfilled, two of them may be open at a time, whatever becomes
   * of them.
   */
  #startMs(line: AcceptableLine, sinceMs: number, wire: WireWatch): number {
    const family = familyOf(line.operation);
    const provenMs = this.#provenAtMs.get(family) ?? Number.POSITIVE_INFINITY;
    const others = [...wire.seen.values()].filter(
      (it) => it.family === family && (it.leftAtMs ?? Infinity) < provenMs,
    );
    return others.length < 2 ? sinceMs : provenMs;
  }

  /**
   * How long the trial of a family may be due after this line, in ms; 0 where too few products sold
   * wrong goods before it was bought. A due trial goes to a product that was bought before; without
   * one it may go to each that still fails.
   */
  #familyTrialMs({ line, reference, sinceMs }: Awaited, isSound: boolean, api: ApiLedger): number {
    const boughtMs = api.find(reference)?.atMs ?? this.#nowMs();
    const family = familyOf(line.operation);
    const troubleOf = (product: string): Span | null => {
      const trouble = this.#plan.troubles.products.get(product);
      return trouble !== undefined && wrongGoods.has(trouble.kind) ? trouble : null;
    };
    const before = api.orders.filter((it) => it.family === family && it.atMs < boughtMs);
    const wrong = before.filter(({ product, atMs }) => {
      const trouble = troubleOf(product);
      return trouble !== null && trouble.fromMs <= atMs && atMs < trouble.untilMs;
    });
    if (new Set(wrong.map((it) => it.product)).size < 2) return 0;
    const lastMs = isSound ? sinceMs : Math.max(sinceMs, ...wrong.map((it) => it.atMs));
    return lastMs - sinceMs + dearFamilyTrialMs;
  }
}

/** When so much undisturbed time has passed since `startMs`. */
function deadlineMs(startMs: number, neededMs: number, disturbances: readonly Span[]): number {
  let atMs = startMs;
  let leftMs = neededMs;
  for (const { fromMs, untilMs } of disturbances.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (untilMs <= atMs) continue;
    if (atMs + leftMs <= fromMs) break;
    leftMs -= Math.max(0, fromMs - atMs);
    atMs = untilMs;
  }
  return atMs + leftMs;
}
