import type { Logger } from 'pino';
import { mayBeElsewhere } from '../core/decision/after-loss.ts';
import type { Clock, Random } from '../core/clock.ts';
import { decideLookup } from '../core/decision/decide-lookup.ts';
import { decideSubmission } from '../core/decision/decide-submission.ts';
import { familyOf, type Operation } from '../core/order/operation.ts';
import { purchaseOf } from '../core/order/purchase.ts';
import { outcomeRowFrom, withoutAnswer, type LookupOutcome, type Outcome } from '../core/decision/outcome.ts';
import {
  malformedRequestRows,
  isRejectedConsecutively,
  consecutiveRejections,
} from '../core/decision/consecutive-rejections.ts';
import { settlementDelayLeftMs } from '../core/decision/settlement-delay.ts';
import { judgeResend, type ResendVerdict } from '../core/decision/resend.ts';
import type { DecisionPolicy, EntryFacts, Settlement } from '../core/decision/settlement.ts';
import type { Entry, OpenAttempt } from '../store/submission/submission.ts';
import type { CallKind } from './budget-gate.ts';
import { backOffIfRateLimited, pauseIfDenied, slotSettledMono, type CallDeps, type CallKey } from './budgeted-read.ts';
import type { LookupCheck } from './lookup-check.ts';
import type { BudgetLimits } from './settings.ts';
import type { WholesalePort } from './wholesale-port.ts';

export interface AttemptDeps extends CallDeps {
  readonly wholesale: WholesalePort;
  readonly lookups: LookupCheck;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: BudgetLimits;
  readonly policy: Omit<DecisionPolicy, 'canLookUp' | 'trustsAbsence'>;
  /** Called after every attempt that was closed: there may be a result to deliver. */
  readonly onSettled?: () => void;
}

function factsOf(entry: Entry, clock: Clock): EntryFacts {
  const row = outcomeRowFrom(entry.outcomeRow);
  return {
    ...purchaseOf(entry),
    state: entry.state,
    generation: entry.generation,
    part: entry.part,
    rules: entry.rules,
    knownLimit: entry.knownLimit,
    outcomeUnknown: entry.outcomeUnknown,
    recoveryStage: entry.recoveryStage,
    settlementDelayEndMs: entry.settlementDelayEndMs,
    settlementDelayLeftMs: settlementDelayLeftMs(entry, { wallMs: clock.wallMs(), monoMs: clock.monoMs() }),
    buffered:
      entry.errorBuffered && row !== null ? { row, code: entry.errorCode, message: entry.errorMessage ?? '' } : null,
    lastRow: row,
    tries: entry.tries,
    absences: entry.absences,
    firstSentAtMs: entry.firstSentAtMs,
    notAfterMs: entry.notAfterMs,
    createdAtMs: entry.createdAtMs,
  };
}

/**
 * Makes the call of one open attempt and writes down what it brought. The order is the promise: the attempt is on disk
 * before this starts, the connection is dead before the outcome is judged, and the outcome, the slots and the entry's
 * new state are one transaction.
 */
export class Attempt {
  readonly #deps: AttemptDeps;

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
  }

  #canLookUp(operation: Operation, originReference: string | null): boolean {
    // After an ambiguous cancel, the order that the eSIM came from tells what became of it; without it, nothing does.
    if (operation === 'esim_cancel' && originReference === null) return false;
    return this.#deps.wholesale.canLookUp(familyOf(operation));
  }

  /** Whether the reference of an entry in doubt may be sent again now; asked within the claim. */
  judgeResend(entry: Entry, originReference: string | null): ResendVerdict {
    const { policy, clock, logger } = this.#deps;
    const canLookUp = this.#canLookUp(entry.operation, originReference);
    const facts = { ...entry, canLookUp, mayBeElsewhere: mayBeElsewhere(entry) };
    const verdict = judgeResend(facts, policy, clock.wallMs());
    if (verdict.step === 'review')
      logger.error({ reference: entry.reference, reason: verdict.reason }, 'a person must decide');
    return verdict;
  }

  #policyFor(attempt: OpenAttempt): DecisionPolicy {
    const { policy, lookups, wholesale } = this.#deps;
    const { operation } = attempt.entry;
    const canLookUp = this.#canLookUp(operation, attempt.originReference);
    return { ...policy, canLookUp, trustsAbsence: lookups.trusts(operation, wholesale) };
  }

  async run(attempt: OpenAttempt, key: CallKey, signal: AbortSignal): Promise<void> {
    const started = this.#deps.clock.monoMs();
    if (attempt.purpose === 'submit') {
      const outcome = await this.#submit(attempt, key, signal);
      const settlement = this.judgeSubmission(attempt, outcome);
      await this.#close(attempt, { key, outcome, settlement, started });
    } else {
      const lookup = await this.#lookUp(attempt, key, signal);
      // What is another order than ours proves nothing but that the path finds something.
      if (lookup.kind === 'found' && lookup.differs === undefined)
        await this.#deps.lookups.found(attempt.entry.operation, this.#deps.wholesale);
      const settlement = this.judgeLookup(attempt, lookup);
      await this.#close(attempt, { key, outcome: outcomeOfLookup(lookup), settlement, started });
    }
  }

  judgeSubmission(attempt: OpenAttempt, outcome: Outcome): Settlement {
    return decideSubmission(
      factsOf(attempt.entry, this.#deps.clock),
      outcome,
      this.#policyFor(attempt),
      this.#deps.clock.wallMs(),
      this.#deps.random,
    );
  }

  judgeLookup(attempt: OpenAttempt, lookup: LookupOutcome): Settlement {
    return decideLookup(
      factsOf(attempt.entry, this.#deps.clock),
      lookup,
      this.#policyFor(attempt),
      this.#deps.clock.wallMs(),
      this.#deps.random,
    );
  }

  async #submit(attempt: OpenAttempt, key: CallKey, signal: AbortSignal): Promise<Outcome> {
    const { entry, request } = attempt;
    if (request === null) return withoutAnswer('local_defect', false, 'the attempt was opened without a request');
    return await this.#deps.wholesale.submit({
      operation: entry.operation,
      ...request,
      keyValue: key.value,
      expect: { ...purchaseOf(entry), reference: entry.operation === 'esim_cancel' ? null : entry.reference },
      signal,
    });
  }

  async #lookUp(attempt: OpenAttempt, { value: keyValue }: CallKey, signal: AbortSignal): Promise<LookupOutcome> {
    const { entry } = attempt;
    const isCancel = entry.operation === 'esim_cancel';
    const key = isCancel ? attempt.originReference : (attempt.successorReference ?? entry.reference);
    if (key === null) {
      return {
        kind: 'failed',
        outcome: withoutAnswer('local_defect', false, 'the order of this eSIM is not known here'),
      };
    }
    return await this.#deps.wholesale.lookUp({
      family: familyOf(entry.operation),
      key,
      keyValue,
      expectReference: key,
      // What the order of an eSIM was is not what is to be cancelled of it.
      // What took its place was charged or parted in another way.
      ordered: isCancel || attempt.successorReference !== null ? null : entry,
      signal,
    });
  }

  async #close(
    attempt: OpenAttempt,
    end: { key: CallKey; outcome: Outcome; settlement: Settlement; started: number },
  ): Promise<void> {
    const { clock, gate, store, pauses } = this.#deps;
    const { key, outcome, settlement } = end;
    const kind: CallKind = attempt.purpose === 'submit' ? 'spend' : 'read';
    const durationMs = Math.round(clock.monoMs() - end.started);
    const settledMono = slotSettledMono(this.#deps, outcome);
    const backOff = backOffIfRateLimited(this.#deps, key, outcome, settlement.dueAtMs - clock.wallMs());
    const { currency } = attempt.entry;
    const pause = pauseIfDenied(this.#deps, key, settlement.pause, { currency, trialAtMs: settlement.dueAtMs });
    await store.submission.closeAttempt({
      attemptId: attempt.attemptId,
      entryId: attempt.entry.id,
      nowMs: clock.wallMs(),
      nowMono: clock.monoMs(),
      durationMs,
      outcome,
      settlement,
      slotsSettledMono: settledMono,
      bootId: clock.bootId ?? null,
      pause,
      rest: backOff,
    });
    if (settledMono === null) gate.giveBack(key.name, kind);
    else gate.settle(key.name, kind, settledMono);
    if (pause !== null) await pauses.refresh();
    if (attempt.purpose === 'submit' && malformedRequestRows.has(outcome.row))
      await this.#stopIfRefusedInARow(attempt, outcome);
    this.#deps.onSettled?.();
    this.#log(attempt, key.name, outcome, settlement, durationMs);
  }

  /** Counted in the attempts themselves, so that a restart forgets none of them. */
  async #stopIfRefusedInARow(attempt: OpenAttempt, outcome: Outcome): Promise<void> {
    const { store, clock, pauses, logger } = this.#deps;
    const family = familyOf(attempt.entry.operation);
    if (!isRejectedConsecutively(await store.submission.recentVerdicts(family), clock.wallMs())) return;
    const message = `${consecutiveRejections.entries} orders in a row were refused like this: "${outcome.message}". Does wholesale.wire fit the API?`;
    await store.submission.pauses.open({
      scope: `family:${family}`,
      reason: 'refused_in_a_row',
      message,
      openedBy: 'worker',
      probeAtMs: pauses.trialAtMs(),
      nowMs: clock.wallMs(),
    });
    await pauses.refresh();
    logger.error({ family, outcome: outcome.row }, message);
  }

  /** The one line that is written for every attempt; no code and no key ever enters it. */
  #log(attempt: OpenAttempt, keyName: string, outcome: Outcome, settlement: Settlement, durationMs: number): void {
    const line = {
      reference: attempt.entry.reference,
      operation: attempt.entry.operation,
      purpose: attempt.purpose,
      key: keyName,
      outcome: outcome.row,
      http: outcome.http,
      code: outcome.code,
      duration_ms: durationMs,
      state: settlement.state,
    };
    const { logger } = this.#deps;
    if (settlement.state === 'needs_review')
      logger.error({ ...line, reason: settlement.reviewReason }, 'a person must decide');
    else if (settlement.pause !== null)
      logger.error({ ...line, message: outcome.message }, `paused: ${settlement.pause.kind}`);
    else if (outcome.breach !== null) logger.warn({ ...line, breach: outcome.breach }, 'the API broke its contract');
    else if (settlement.state === 'unknown' || settlement.state === 'waiting' || settlement.state === 'rejected') {
      logger.warn({ ...line, message: outcome.message }, `${attempt.entry.operation} ${settlement.state}`);
    } else logger.info(line, `${attempt.entry.operation} ${settlement.state}`);
  }
}

function outcomeOfLookup(lookup: LookupOutcome): Outcome {
  switch (lookup.kind) {
    case 'found':
      return { ...withoutAnswer('accepted', true, 'found'), http: 200, answer: lookup.answer };
    case 'absent':
      return {
        ...withoutAnswer('not_found', true, 'the API does not know the reference'),
        http: 404,
        code: 'not_found',
      };
    case 'failed':
      return lookup.outcome;
  }
}
