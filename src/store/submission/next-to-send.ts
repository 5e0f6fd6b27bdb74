import { mayStart } from '../../core/scopes/exposure.ts';
import { scopesJudged } from '../../core/scopes/judge-call.ts';
import { scopesOf, type EntryScopes } from '../../core/scopes/scope.ts';
import type { Rechecks } from '../storefronts/rechecks.ts';
import type { ShopHolds } from '../storefronts/shop-holds.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { AfterLoss } from './after-loss.ts';
import { connectorUnproven, type ConnectorCanary } from './connector-canary.ts';
import type { DueEntries } from './due-entries.ts';
import type { EntryChanges } from './entry-changes.ts';
import { originOf } from './esim-origins.ts';
import { readExposure } from './open-calls.ts';
import { isLanePaused, isSendPaused, readPauses, withoutScopes, type PausedScopes } from './paused-scopes.ts';
import type { ProductCosts } from './product-costs.ts';
import type { ScopeEvidence } from './scope-evidence.ts';
import type { AttemptClaim, Entry } from './submission.ts';

const refused = (row: EntryRow): number => (row.outcome_row === 'insufficient_balance' ? 1 : 0);

/** With more products than this the family is the better explanation: then its trials keep their distance. */
const fewProducts = 5;

/** So many entries begin to wait for their order to be read again in one claim, which keeps it short; the next continues. */
const mostDelayed = 25;

interface Parts {
  readonly due: DueEntries;
  readonly entries: EntryChanges;
  readonly afterLoss: AfterLoss;
  readonly canary: ConnectorCanary;
  readonly evidence: ScopeEvidence;
  readonly costs: ProductCosts;
  readonly shopHolds: ShopHolds;
  readonly rechecks: Rechecks;
  readonly entryOf: (row: EntryRow) => Entry;
}

/** Paused scopes that hold nothing up in this claim: a trial is due, or the canary counts the open orders itself. */
export function notHeldUp(database: Sqlite, { trials }: AttemptClaim): readonly string[] {
  const counted = readPauses(database).filter(({ reason }) => reason === connectorUnproven);
  return [...trials, ...counted.map(({ scope }) => scope)];
}

/** A lookup can be the trial of the account only: it says nothing about what a narrower scope sells. */
export function trialOf(row: EntryRow, { step, trials, earlyTrials = [] }: AttemptClaim): readonly string[] {
  const scopes = step === 'send' ? scopesJudged(scopesOf(row)) : ['account'];
  return scopes.filter((scope) => trials.includes(scope) || earlyTrials.includes(scope));
}

/**
 * Chooses the entry that a claim sends, inside its transaction. Entries that cannot be sent leave the queue on the way: they
 * are held, looked up, flagged for review, or wait for their order to be read again.
 */
export class NextToSend {
  readonly #database: Sqlite;
  readonly #due: DueEntries;
  readonly #entries: EntryChanges;
  readonly #afterLoss: AfterLoss;
  readonly #canary: ConnectorCanary;
  readonly #evidence: ScopeEvidence;
  readonly #costs: ProductCosts;
  readonly #shopHolds: ShopHolds;
  readonly #rechecks: Rechecks;
  readonly #entryOf: Parts['entryOf'];

  constructor(database: Sqlite, parts: Parts) {
    this.#database = database;
    this.#due = parts.due;
    this.#entries = parts.entries;
    this.#afterLoss = parts.afterLoss;
    this.#canary = parts.canary;
    this.#evidence = parts.evidence;
    this.#costs = parts.costs;
    this.#shopHolds = parts.shopHolds;
    this.#rechecks = parts.rechecks;
    this.#entryOf = parts.entryOf;
  }

  /** The next entry to send: first one of unknown outcome, then a new one. */
  find(claim: AttemptClaim, paused: PausedScopes): EntryRow | null {
    const again = this.#nextToSendAgain(claim, paused);
    if (again !== null) return again;
    let next = this.#nextNew(claim, paused);
    let delayed = 0;
    // Each leaves the queue: those behind it do not wait for the next claim.
    while (next !== null) {
      if (!this.#isHeldByShop(next, claim)) {
        if (!this.#awaitsRecheck(next, claim)) break;
        delayed += 1;
        if (delayed >= mostDelayed) return null;
      }
      next = this.#nextNew(claim, paused);
    }
    if (next === null || !this.#afterLoss.mayHaveSent(next)) return next;
    // A lost outbox may have sent it: its outcome is unknown from now on. One at a time, because their number is limited.
    this.#entries.recover(next, claim.nowMs);
    return this.#nextToSendAgain(claim, paused);
  }

  /**
   * The paused family and balance of a lane of which its order may be the trial now: its product is not one of the few that
   * failed there, so it is the question that tells the scope from these products.
   */
  #earlyTrials({ earlyTrials = [] }: AttemptClaim): (lane: EntryScopes) => readonly string[] {
    // What is under way may tell it already.
    const busy = this.#due.sendingLanes().flatMap(({ family, balance }) => [family, balance]);
    const tried = earlyTrials.filter((scope) => !busy.includes(scope));
    const failed = new Map(tried.map((scope) => [scope, this.#evidence.productsAgainst(scope)]));
    return ({ family, balance, product }) =>
      [family, balance].flatMap((scope) => {
        const products = scope === null ? undefined : failed.get(scope);
        const isQuestion =
          product !== null && products !== undefined && products.size < fewProducts && !products.has(product);
        return scope !== null && isQuestion ? [scope] : [];
      });
  }

  /**
   * Which order is the trial of an empty balance: by turns the cheapest known one, and one that the balance has not refused
   * yet. So neither an unknown cost nor new dear orders keep what can be afforded from its turn.
   */
  #preferred(balance: string): (a: EntryRow, b: EntryRow) => number {
    const probes = readPauses(this.#database).find(({ scope }) => scope === balance)?.probes ?? 0;
    const cost = (row: EntryRow): number => Math.min(this.#costs.of(row), Number.MAX_VALUE);
    return probes % 2 === 0
      ? (a, b) => cost(a) - cost(b) || refused(a) - refused(b)
      : (a, b) => refused(a) - refused(b) || cost(a) - cost(b);
  }

  /** The next entry of unknown outcome whose reference may be sent again; the others are looked up or flagged for review. */
  #nextToSendAgain(claim: AttemptClaim, paused: PausedScopes): EntryRow | null {
    const { nowMs } = claim;
    for (const row of this.#due.toSendAgain(nowMs)) {
      const isPaused = isSendPaused(scopesOf(row), paused);
      const verdict = claim.judgeResend(this.#entryOf(row), originOf(this.#database, row), isPaused);
      if (verdict.step === 'send' && !this.#isHeldByShop(row, claim)) return row;
      if (verdict.step === 'lookup') this.#entries.lookUpNext(row, nowMs);
      else if (verdict.step === 'review') this.#entries.flagForReview(row, verdict.reason, nowMs);
    }
    return null;
  }

  /** The state of a shop's order counts at the moment of the claim, too: otherwise it is held, and not sent. */
  #isHeldByShop(row: EntryRow, { nowMs }: AttemptClaim): boolean {
    const why = this.#shopHolds.whyNot(row);
    if (why !== null) this.#shopHolds.hold(row, why, nowMs);
    return why !== null;
  }

  /**
   * The known state of a shop's order may be too old to buy by: then the entry waits until the order was read again. One that
   * a lost outbox may have sent does not wait: it is looked up, not bought.
   */
  #awaitsRecheck(row: EntryRow, { rechecks, nowMs }: AttemptClaim): boolean {
    if (rechecks === undefined || this.#afterLoss.mayHaveSent(row)) return false;
    return this.#rechecks.delays(row, rechecks, nowMs);
  }

  /** The next entry whose outcome is known, of a lane in which another call may be opened. */
  #nextNew(claim: AttemptClaim, paused: PausedScopes): EntryRow | null {
    const { nowMs, maxUnknownOutcomes, isProvenProduct, trials } = claim;
    const early = this.#earlyTrials(claim);
    const exposure = readExposure(this.#database);
    // The same for every lane of a family: asked once, however many lanes there are.
    const openable = new Map<string, boolean>();
    const mayOpen = (family: string): boolean => {
      const may = openable.get(family) ?? this.#canary.mayOpen(family, nowMs);
      openable.set(family, may);
      return may;
    };
    return this.#due.toSend(nowMs, {
      latestMs: claim.latestMs ?? nowMs,
      mayClaim: (lane) => {
        const { product, family } = lane;
        if (isLanePaused(lane, withoutScopes(paused, early(lane)))) return false;
        const isProven = product !== null && isProvenProduct(product);
        if (!mayStart(exposure, { product, isProven }, maxUnknownOutcomes)) return false;
        // A cancel delivers nothing, so it does not wait for the first delivered order.
        return product === null || mayOpen(family);
      },
      trialOfBalance: ({ balance }) => (balance !== null && trials.includes(balance) ? this.#preferred(balance) : null),
    });
  }
}
