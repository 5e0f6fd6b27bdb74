import type { Logger } from 'pino';
import { steadyOf, type Clock, type Random } from '../core/clock.ts';
import { decideLookup } from './decision/decide-lookup.ts';
import { decideSubmission } from './decision/decide-submission.ts';
import type { EntryState } from '../core/entry/states.ts';
import { familyOf, type Operation, purchaseOf } from '../core/order/purchase.ts';
import { unreadText } from '../core/answers/order-answer.ts';
import {
  outcomeRowFrom,
  withoutAnswer,
  type LookupOutcome,
  type Outcome,
  type OutcomeRow,
} from '../core/answers/outcome.ts';
import type { EndedCall } from './breakers/judge-call.ts';
import { scopesJudged, scopesOf } from '../core/order/scope.ts';
import type { DecisionPolicy, EntryFacts, Settlement } from './decision/settlement.ts';
import type { ResendRules } from './queue/choose.ts';
import type { OpenAttempt } from './queue/claim-sql.ts';
import type { ScopeFindings } from './breakers/judge-call.ts';
import type { AccountCheck } from './proofs/account-check.ts';
import { presentTime, type ApiClock } from './proofs/api-clock.ts';
import type { CallKind } from './budget/budget-gate.ts';
import {
  backOffIfRateLimited,
  pauseIfDenied,
  slotSettledMs,
  type CallDeps,
  type CallKey,
} from './proofs/budgeted-read.ts';
import type { LookupCheck } from './proofs/lookup-check.ts';
import { Products } from './breakers/products.ts';
import { repeatWhileBlocked } from '../ops/disk-guard.ts';
import type { BudgetLimits } from './decision/settings.ts';
import type { BuyingSteps } from './steps-sql.ts';
import type { WholesalePort } from '../wholesale/wholesale-port.ts';

export interface AttemptDeps extends CallDeps {
  readonly steps: BuyingSteps;
  readonly wholesale: WholesalePort;
  readonly lookups: LookupCheck;
  readonly accounts: AccountCheck;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: BudgetLimits;
  readonly policy: Omit<DecisionPolicy, 'canLookUp' | 'lookupsProven' | 'isPaused'>;
  /** Called after every attempt that was closed: there may be a result to deliver. */
  readonly onSettled?: () => void;
  /** Counts the attempts that were closed. */
  readonly onAttemptEnded?: (end: AttemptEnd) => void;
  /** The time of the API, for deadlines; absent: that of this machine. */
  readonly apiClock?: Pick<ApiClock, 'present'>;
}

/** How one attempt ended, without anything that names its entry. */
interface AttemptEnd {
  readonly operation: Operation;
  readonly purpose: OpenAttempt['purpose'];
  readonly outcome: Outcome['row'];
  readonly code: string | null;
  readonly durationMs: number;
  readonly state: EntryState;
}

/** How often an entry is looked up while nobody knows whether its deadline has passed. */
const deadlineUnknownDelayMs = 60_000;

/** @param presentMs the time by which its deadline is judged */
function factsOf({ entry }: OpenAttempt, clock: Clock, presentMs: number): EntryFacts {
  const steadyMs = clock.steadyMs();
  const lastRow = outcomeRowFrom(entry.outcomeRow);
  const rejection =
    lastRow === null
      ? null
      : { row: lastRow, code: entry.errorCode, message: entry.errorMessage ?? '' };
  return {
    ...entry,
    notAfterMs: steadyOf(entry.notAfterMs, { wallMs: presentMs, steadyMs }),
    createdAtMs: entry.createdAtMs - clock.wallMs() + steadyMs,
    lastRow,
    buffered: entry.errorBuffered ? rejection : null,
    inFlightWindowLeftMs: Math.max(0, (entry.inFlightWindowEndMs ?? 0) - steadyMs),
  };
}

interface EndOfCall {
  readonly key: CallKey;
  readonly outcome: Outcome;
  readonly settlement: Settlement;
  readonly started: number;
  readonly signal: AbortSignal;
}

/**
 * Makes the call of an open attempt and records how it ended. The attempt is on disk before this
 * starts; the connection is closed before the outcome is decided; the outcome, the slots and the
 * new state of the entry are one transaction.
 */
export class Attempt {
  readonly #deps: AttemptDeps;
  /** What the calls have shown about products. */
  readonly products: Products;
  /** See `spend.max_rise_percent`. */
  maxRisePercent = Number.POSITIVE_INFINITY;

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
    this.products = new Products(deps.policy.retryTimeScale);
  }

  async run(attempt: OpenAttempt, key: CallKey, signal: AbortSignal): Promise<void> {
    const started = this.#deps.clock.steadyMs();
    if (attempt.purpose === 'submit') {
      const outcome = await this.#submit(attempt, key, signal);
      const settlement = this.decideSubmission(attempt, outcome);
      await this.#close(attempt, { key, outcome, settlement, started, signal });
    } else {
      const lookup = await this.#lookUp(attempt, key, signal);
      // If the found order is another one, that does not prove that lookups find what was bought.
      // Nor does the call for the units of accepted orders.
      const isOwnCall = this.#isReadAsAccepted(attempt);
      if (lookup.kind === 'found' && lookup.differs === undefined && !isOwnCall)
        await this.#record(signal, () =>
          this.#deps.lookups.recordFound(attempt.entry.operation, this.#deps.wholesale),
        );
      const settlement = this.decideLookup(attempt, lookup, key.name);
      await this.#close(attempt, {
        key,
        outcome: outcomeOfLookup(lookup),
        settlement,
        started,
        signal,
      });
    }
  }

  decideSubmission(attempt: OpenAttempt, outcome: Outcome): Settlement {
    const { clock, random } = this.#deps;
    const facts = factsOf(attempt, clock, clock.wallMs());
    return decideSubmission(facts, outcome, this.#policyFor(attempt), clock.steadyMs(), random);
  }

  decideLookup(
    attempt: OpenAttempt,
    lookup: LookupOutcome,
    keyName: string | null = null,
  ): Settlement {
    const { clock, random } = this.#deps;
    const { notAfterMs } = attempt.entry;
    const nowMs = clock.steadyMs();
    const { earliestMs, latestMs } = presentTime(this.#deps);
    // Nothing ends because of a deadline before it has surely passed.
    const facts = factsOf(attempt, clock, earliestMs);
    const policy = this.#policyFor(attempt, keyName);
    const settlement = decideLookup(facts, lookup, policy, nowMs, random);
    const isSentNext = settlement.state === 'unknown' && settlement.nextStep === 'send';
    // And nothing is sent that may be late.
    if (!isSentNext || notAfterMs === null || latestMs < notAfterMs) return settlement;
    return {
      ...settlement,
      nextStep: 'lookup',
      dueAtMs: nowMs + deadlineUnknownDelayMs * this.#deps.policy.retryTimeScale,
    };
  }

  /** By which rules an entry of unknown outcome is sent again. */
  get resend(): ResendRules {
    const { policy, lookups, wholesale } = this.#deps;
    return {
      referenceExpiryMs: policy.referenceExpiryMs,
      canLookUp: (operation, originReference) => this.#canLookUp(operation, originReference),
      lookupsProven: (operation) => lookups.hasFound(operation, wholesale),
    };
  }

  /** Whether the lookup of this attempt reads an accepted order by a call of its own. */
  #isReadAsAccepted({ entry }: OpenAttempt): boolean {
    return (
      entry.state === 'placed' &&
      entry.operation !== 'esim_cancel' &&
      this.#deps.wholesale.canReadAccepted?.(familyOf(entry.operation), entry.orderNumber) === true
    );
  }

  #canLookUp(operation: Operation, originReference: string | null): boolean {
    // Only the order that the eSIM came from tells what became of a cancel.
    if (operation === 'esim_cancel' && originReference === null) return false;
    return this.#deps.wholesale.canLookUp(familyOf(operation));
  }

  #policyFor(attempt: OpenAttempt, keyName: string | null = null): DecisionPolicy {
    const { policy, lookups, wholesale, pauses, accounts } = this.#deps;
    const { operation } = attempt.entry;
    const canLookUp = this.#canLookUp(operation, attempt.originReference);
    const scopes = scopesOf(attempt.entry);
    const isOneOfMany = scopes.product !== null && this.products.isOneOfMany(scopes.product);
    // A key that buys nothing any more sends nothing again either.
    const isStopped = keyName !== null && !accounts.mayBuy(keyName);
    const isPaused = isOneOfMany || isStopped || pauses.holdsUp(scopes);
    const lookupsProven =
      attempt.mayBeOtherAccount !== true && lookups.hasFound(operation, wholesale);
    const isSenderStopped = keyName !== null && pauses.isOfOtherAccount(keyName);
    const canReadAccepted = (orderNumber: string | null): boolean =>
      operation !== 'esim_cancel' &&
      wholesale.canReadAccepted?.(familyOf(operation), orderNumber) === true;
    return { ...policy, canLookUp, canReadAccepted, lookupsProven, isPaused, isSenderStopped };
  }

  async #submit(attempt: OpenAttempt, key: CallKey, signal: AbortSignal): Promise<Outcome> {
    const { entry, request } = attempt;
    if (request === null)
      return withoutAnswer('local_defect', false, 'the attempt was opened without a request');
    const outcome = await this.#deps.wholesale.submit({
      operation: entry.operation,
      ...request,
      keyValue: key.value,
      expect: {
        ...purchaseOf(entry),
        reference: entry.operation === 'esim_cancel' ? null : entry.reference,
      },
      signal,
    });
    if (!notFoundRows.includes(outcome.row)) return outcome;
    const { operation, iccid } = entry;
    const isPathProven = await this.#record(signal, () =>
      this.#deps.steps.hasAccepted({ operation, iccid, path: request.path }),
    );
    return isPathProven ? outcome : atUnprovenPath(outcome);
  }

  async #lookUp(
    attempt: OpenAttempt,
    { value: keyValue }: CallKey,
    signal: AbortSignal,
  ): Promise<LookupOutcome> {
    const { entry, originReference, replacementReference } = attempt;
    const isCancel = entry.operation === 'esim_cancel';
    const key = isCancel ? originReference : (replacementReference ?? entry.reference);
    if (key === null) {
      const outcome = withoutAnswer(
        'local_defect',
        false,
        'the outbox does not have the order of this eSIM',
      );
      return { kind: 'failed', outcome };
    }
    return await this.#deps.wholesale.lookUp({
      family: familyOf(entry.operation),
      key,
      keyValue,
      expectReference: key,
      accepted: this.#isReadAsAccepted(attempt) ? { orderNumber: entry.orderNumber } : undefined,
      // The order of a cancelled eSIM, or a replacement, was ordered in other words.
      ordered: isCancel || replacementReference !== null ? null : entry,
      signal,
    });
  }

  async #close(attempt: OpenAttempt, end: EndOfCall): Promise<void> {
    const { clock, gate, steps, pauses } = this.#deps;
    const { key, outcome, settlement } = end;
    const kind: CallKind = attempt.purpose === 'submit' ? 'spend' : 'read';
    const durationMs = Math.round(clock.steadyMs() - end.started);
    const settledMs = slotSettledMs(this.#deps, outcome);
    const dueInMs = settlement.dueAtMs - clock.steadyMs();
    const backOff = backOffIfRateLimited(this.#deps, key, outcome, dueInMs);
    const { product } = scopesOf(attempt.entry);
    const isDeniedAlone =
      attempt.purpose === 'submit' &&
      product !== null &&
      this.products.isDeniedAlone(product, outcome.row);
    const pause = isDeniedAlone ? null : pauseIfDenied(this.#deps, key, settlement.pause);
    const { purpose, entry } = attempt;
    // A refusal from before the last accepted order of the product says no more.
    const isRefused =
      purpose === 'lookup' &&
      settlement.state === 'rejected' &&
      !this.products.isAcceptedSince(product ?? '', entry.firstSentAtMs ?? 0);
    const call = endedCallOf(attempt, outcome, settlement, {
      isDeniedAlone,
      confirmed: isRefused ? settlement.row : null,
      endedMs: clock.steadyMs(),
    });
    const closed = {
      attemptId: attempt.attemptId,
      entryId: attempt.entry.id,
      durationMs,
      outcome,
      settlement,
      slotsSettledMs: settledMs,
      pause,
      scopes: {
        judged: scopesJudged(call.scopes),
        judge: (found: ScopeFindings) => pauses.judge(call, found, this.products),
      },
      backOff,
    };
    const closing = await this.#record(end.signal, () =>
      // The time of the record: the order may have another outcome since the first try.
      steps.closeAttempt({
        ...closed,
        maxRisePercent: this.maxRisePercent,
        nowMs: clock.wallMs(),
        steadyMs: clock.steadyMs(),
      }),
    );
    const { pausesChanged, settlement: recorded, line } = closing;
    if (settledMs === null) gate.giveBack(key.name, kind);
    else gate.settle(key.name, kind, settledMs);
    this.products.record(call, clock.steadyMs());
    if (pausesChanged) await this.#record(end.signal, () => pauses.refresh());
    // After the refresh: without the time of the next trial another one would begin at once.
    pauses.trialClosed(attempt.attemptId);
    this.#deps.onSettled?.();
    const ended = { operation: entry.operation, purpose, outcome: outcome.row, code: outcome.code };
    this.#deps.onAttemptEnded?.({ ...ended, durationMs, state: recorded.state });
    this.#log(attempt, { ...end, settlement: recorded, names: line }, durationMs);
  }

  /**
   * The outcome of a call must not be lost. Without space on the disk, which SQLite may need even
   * to read, the outcome is recorded later and the attempt stays open.
   */
  #record<T>(signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    return repeatWhileBlocked(step, { clock: this.#deps.clock, signal });
  }

  /** Writes the one log line of every attempt. It never has a code or a key. */
  #log(
    { entry, purpose }: OpenAttempt,
    {
      key,
      outcome,
      settlement,
      names,
    }: { key: CallKey; outcome: Outcome; settlement: Settlement; names: object },
    durationMs: number,
  ): void {
    const { logger } = this.#deps;
    const { state, reviewReason, error } = settlement;
    // After the lookup that confirms a refusal, the refusal is what counts.
    const { code, message } =
      purpose === 'lookup' && error !== null && !error.buffered ? error : outcome;
    const line = {
      ...names,
      reference: entry.reference,
      operation: entry.operation,
      purpose,
      key: key.name,
      outcome: outcome.row,
      http: outcome.http,
      code,
      duration_ms: durationMs,
      state,
      product: entry.variant ?? entry.plan ?? entry.iccid,
      order_number: settlement.answer?.orderNumber,
      cost: settlement.answer?.cost,
      currency: settlement.answer?.currency,
    };
    const isConfirming = error?.buffered === true && !settlement.outcomeUnknown;
    const text = `${entry.operation} ${isConfirming ? `${entry.isEnding ? 'cancelled' : 'refused'}, being confirmed` : state}`;
    if (state === 'needs_review') logger.error({ ...line, reason: reviewReason }, 'needs review');
    else if (outcome.breach !== null)
      logger.warn({ ...line, breach: outcome.breach }, 'the API broke its contract');
    else if (outcome.answer !== null && unreadText(outcome.answer) !== null)
      logger.warn({ ...line, message }, 'the answer has fields that were not read');
    else if (!isConfirming && (state === 'unknown' || state === 'waiting' || state === 'rejected'))
      logger.warn({ ...line, message }, text);
    else logger.info(line, text);
  }
}

const notFoundRows: readonly OutcomeRow[] = ['not_found', 'not_found_unexpected'];

/**
 * A 404 under a path that never accepted anything. An API that answers unknown paths with its own
 * `not_found` would end every order of an installation whose base address or path is wrong.
 */
function atUnprovenPath(outcome: Outcome): Outcome {
  const message = `${outcome.message} (no call of this kind was accepted yet: are its path and wholesale.base_url right?)`;
  return { ...outcome, row: 'not_found_unexpected', message };
}

/** States in which the API has accepted an order. */
const acceptedStates: ReadonlySet<EntryState> = new Set(['fulfilled', 'placed', 'refunded']);

/** The end of a call, as evidence about its scopes. */
function endedCallOf(
  attempt: OpenAttempt,
  outcome: Outcome,
  settlement: Settlement,
  known: Pick<EndedCall, 'isDeniedAlone' | 'confirmed' | 'endedMs'>,
): EndedCall {
  const { entry, purpose, trialOf } = attempt;
  // For its scopes an accepted order is a success, whatever becomes of the entry. A poll of a
  // placed one is none.
  const isFound =
    entry.state === 'unknown' &&
    settlement.row === 'accepted' &&
    acceptedStates.has(settlement.state);
  return {
    entryId: entry.id,
    purpose,
    scopes: scopesOf(entry),
    namesEsim: entry.iccid !== null,
    row: outcome.row,
    message:
      known.confirmed === null
        ? outcome.message
        : `${known.confirmed}: ${settlement.error?.message}`,
    isAnswered: outcome.http !== null,
    isAccepted: purpose === 'submit' ? outcome.row === 'accepted' : isFound,
    isUnread:
      settlement.state === 'needs_review' && (settlement.answer?.unreadFields ?? []).length > 0,
    // A rejection that is believed because of an absence is no evidence of its own, and one lost
    // call is none.
    isProvenAbsent:
      purpose === 'lookup' &&
      entry.attempts >= 2 &&
      entry.state === 'unknown' &&
      settlement.state === 'waiting' &&
      settlement.row === 'not_found',
    trialOf,
    ...known,
  };
}

function outcomeOfLookup(lookup: LookupOutcome): Outcome {
  switch (lookup.kind) {
    case 'found':
      return {
        ...withoutAnswer(
          'accepted',
          true,
          ['found', unreadText(lookup.answer) ?? []].flat().join('; '),
        ),
        http: 200,
        answer: lookup.answer,
        kept: lookup.kept ?? null,
      };
    case 'absent':
      return {
        ...withoutAnswer('not_found', true, 'the API does not know the reference'),
        http: 404,
        code: 'not_found',
        kept: lookup.kept ?? null,
      };
    case 'failed':
      return lookup.outcome;
  }
}
