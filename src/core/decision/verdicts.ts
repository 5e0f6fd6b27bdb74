import { isComplete, showsCancelled } from './answer-signs.ts';
import { ownIsAbsent, successorIsAbsent, successorIsThere, type LossVerdict } from './after-loss.ts';
import type { Random } from '../clock.ts';
import { columnFor, decisionTable, type Cell } from './decision-table.ts';
import { replacementsFor, splitInto } from '../entry/replacement.ts';
import { notOurs, type OrderAnswer } from './order-answer.ts';
import { unreachable } from '../order-sync-error.ts';
import type { Outcome, OutcomeRow } from './outcome.ts';
import { isOverdue } from './resend.ts';
import { retryDelayMs, type ScheduleName } from './retry-schedule.ts';
import type { DecisionPolicy, EntryFacts, Settlement } from './settlement.ts';

/** Turns a cell of the table, or the end of a lookup, into what becomes of one entry. Pure. */
export class Verdicts {
  readonly #facts: EntryFacts;
  readonly #policy: DecisionPolicy;
  readonly #nowMs: number;
  readonly #random: Random;

  constructor(facts: EntryFacts, policy: DecisionPolicy, nowMs: number, random: Random) {
    this.#facts = facts;
    this.#policy = policy;
    this.#nowMs = nowMs;
    this.#random = random;
  }

  #due(schedule: ScheduleName, tries: number): number {
    return this.#nowMs + retryDelayMs(schedule, tries, this.#policy.retryTimeScale, this.#random);
  }

  #settlementDelayFromNow(): Pick<Settlement, 'settlementDelayEndMs' | 'settlementDelayMs'> {
    const { settlementDelayMs } = this.#policy;
    return { settlementDelayEndMs: this.#nowMs + settlementDelayMs, settlementDelayMs };
  }

  /** Tries in a row that ended like this: a run of 429s must not use up the tries of a cancel. */
  #triesOf(row: OutcomeRow): number {
    return this.#facts.lastRow === row ? this.#facts.tries : 0;
  }

  #base(row: OutcomeRow): Settlement {
    return {
      state: this.#facts.state,
      nextStep: 'send',
      dueAtMs: this.#nowMs,
      outcomeUnknown: this.#facts.outcomeUnknown,
      settlementDelayEndMs: this.#facts.settlementDelayEndMs,
      settlementDelayMs: null,
      recoveryStage: this.#facts.recoveryStage,
      tries: this.#facts.tries,
      absences: 0,
      counted: true,
      row,
      error: null,
      reviewReason: null,
      answer: null,
      pause: null,
      replacements: [],
    };
  }

  review(
    outcome: Outcome | null,
    row: OutcomeRow,
    reason: string,
    outcomeUnknown = this.#facts.outcomeUnknown,
  ): Settlement {
    return {
      ...this.#base(row),
      state: 'needs_review',
      outcomeUnknown,
      error: outcome === null ? null : errorOf(outcome, false),
      answer: outcome?.answer ?? null,
      reviewReason: reason,
    };
  }

  settle(row: OutcomeRow, answer: OrderAnswer): Settlement {
    const done = { ...this.#base(row), answer, outcomeUnknown: false, settlementDelayEndMs: null };
    if (this.#facts.operation === 'esim_cancel') return { ...done, state: 'fulfilled' };
    // Spec 7: such a response is a success; the money is back in the balance.
    if (answer.statusClass === 'refunded') return { ...done, state: 'refunded' };
    if (answer.statusClass === 'failed') {
      return {
        ...done,
        state: 'needs_review',
        reviewReason: `the API accepted the order, but its status is "${answer.status}"`,
      };
    }
    if (isComplete(this.#facts, answer)) return { ...done, state: 'fulfilled' };
    if (!this.#policy.canLookUp) {
      return {
        ...done,
        state: 'needs_review',
        reviewReason: 'accepted without all units, and orders cannot be looked up',
      };
    }
    return {
      ...done,
      state: 'placed',
      nextStep: 'lookup',
      tries: 0,
      dueAtMs: this.#due('standard', 0),
      // A lookup may not show at once what was just accepted; until then its absence says nothing.
      ...this.#settlementDelayFromNow(),
    };
  }

  apply(cell: Cell, outcome: Outcome): Settlement {
    const facts = this.#facts;
    const schedule = cell.schedule ?? 'standard';
    const pause = cell.pause === undefined ? null : { kind: cell.pause, reason: outcome.row, message: outcome.message };
    const base = { ...this.#base(outcome.row), pause };
    switch (cell.verdict) {
      case 'settle':
        return outcome.answer === null
          ? this.review(outcome, outcome.row, 'an accepted order came without an answer')
          : this.settle(outcome.row, outcome.answer);
      case 'reject':
        return this.#reject(base, outcome);
      case 'wait':
        return this.#wait(base, schedule, outcome);
      case 'again':
        return this.#again(base, schedule, outcome);
      case 'doubt':
        return {
          ...base,
          state: 'unknown',
          nextStep: this.#policy.canLookUp ? 'lookup' : 'send',
          outcomeUnknown: true,
          ...this.#settlementDelayFromNow(),
          tries: (facts.outcomeUnknown ? facts.tries : 0) + 1,
          dueAtMs: this.#due(schedule, facts.outcomeUnknown ? facts.tries : 0),
          error: errorOf(outcome, false),
        };
      case 'resolve':
        if (!this.#policy.canLookUp) {
          return this.review(
            outcome,
            outcome.row,
            'refused after an attempt that may have bought it, and orders cannot be looked up',
          );
        }
        return {
          ...base,
          state: 'unknown',
          nextStep: 'lookup',
          tries: facts.tries + 1,
          dueAtMs: this.#due(schedule, 0),
          error: errorOf(outcome, true),
        };
      case 'review':
        return {
          ...this.review(outcome, outcome.row, `answered ${outcome.code ?? outcome.row}: ${outcome.message}`),
          answer: outcome.answer && notOurs(outcome.answer),
          pause,
        };
      default:
        return unreachable(cell.verdict);
    }
  }

  /** After its deadline nothing more of an order is bought: not by the same reference, and not in another way. */
  #isOverdue(): boolean {
    return isOverdue(this.#facts, this.#nowMs);
  }

  #reject(base: Settlement, outcome: Outcome): Settlement {
    const replacements = outcome.row === 'limit_exceeded' && !this.#isOverdue() ? splitInto(this.#facts) : [];
    const error = errorOf(outcome, false);
    return { ...base, state: 'rejected', outcomeUnknown: false, settlementDelayEndMs: null, error, replacements };
  }

  #wait(base: Settlement, schedule: ScheduleName, outcome: Outcome): Settlement {
    const facts = this.#facts;
    const error = errorOf(outcome, false);
    const tries = this.#triesOf(outcome.row);
    const instead = this.#isOverdue() ? [] : replacementsFor(outcome.row, facts);
    if (instead.length > 0) return { ...base, state: 'rejected', error, replacements: instead };
    if (outcome.row === 'out_of_stock' && facts.notAfterMs === null) {
      // Without a deadline nobody said how long to wait: the shop is told now.
      return { ...base, state: 'rejected', error };
    }
    if (outcome.row === 'not_cancellable' && tries + 1 >= this.#policy.cancelTries) {
      return { ...base, state: 'rejected', error };
    }
    const dueAtMs = this.#due(schedule, tries);
    return {
      ...base,
      state: 'waiting',
      outcomeUnknown: false,
      settlementDelayEndMs: null,
      tries: tries + 1,
      dueAtMs,
      error,
    };
  }

  #again(base: Settlement, schedule: ScheduleName, outcome: Outcome): Settlement {
    const facts = this.#facts;
    const tries = facts.outcomeUnknown ? facts.tries : this.#triesOf(outcome.row);
    if (outcome.row === 'local_defect' && tries + 1 >= this.#policy.defectTries) {
      return this.review(outcome, outcome.row, `could not be sent because of a defect: ${outcome.message}`);
    }
    const asked = outcome.retryAfterMs === null ? 0 : this.#nowMs + outcome.retryAfterMs;
    const dueAtMs = Math.max(asked, this.#due(schedule, tries));
    const state = facts.outcomeUnknown
      ? 'unknown'
      : facts.firstSentAtMs === null && !outcome.sent
        ? 'pending'
        : 'waiting';
    return {
      ...base,
      state,
      counted: false,
      tries: tries + 1,
      dueAtMs,
      error: errorOf(outcome, false),
    };
  }

  /** Another purchase stands under our reference: its units are not this order's, and nothing is believed. */
  foundOther(answer: OrderAnswer, differs: string): Settlement {
    return { ...this.review(null, 'answer_mismatch', differs, true), answer: notOurs(answer) };
  }

  /** A lookup found nothing: perhaps not yet. */
  absent(): Settlement {
    const facts = this.#facts;
    const base = this.#base('not_found');
    if (facts.state === 'placed') {
      if (facts.settlementDelayLeftMs > 0) {
        const dueAtMs = this.#due('standard', facts.tries);
        return { ...base, nextStep: 'lookup', counted: false, tries: facts.tries + 1, dueAtMs };
      }
      return this.review(null, 'not_found', 'the API accepted the order, but a lookup does not find it', true);
    }
    if (facts.operation === 'esim_cancel') {
      // What is absent is the order of the eSIM. That says nothing about the cancel, which can be repeated (Spec 3).
      if (facts.recoveryStage === 1 && !this.#isOverdue()) return { ...base, counted: false, recoveryStage: 3 };
      const reason = 'the cancel may have worked, but the order of its eSIM is not found';
      return this.review(null, facts.buffered?.row ?? 'not_found', reason, true);
    }
    if (facts.recoveryStage === 1) return this.#afterLoss(ownIsAbsent(facts, this.#policy));
    if (facts.recoveryStage === 2) return this.#afterLoss(successorIsAbsent(facts, this.#policy));
    if (facts.buffered === null) {
      if (this.#isOverdue()) return this.#absentTooLate(base);
      // Nothing stands against it: the same reference again buys it, or brings the first answer (Spec 7, retry rule 1).
      return { ...base, nextStep: 'send', counted: false };
    }
    if (facts.settlementDelayLeftMs > 0)
      return { ...this.#lookAgain('not_found'), dueAtMs: this.#nowMs + facts.settlementDelayLeftMs };
    if (!this.#policy.trustsAbsence) {
      return this.review(
        null,
        facts.buffered.row,
        `refused after an attempt that may have bought it (${facts.buffered.message}), and no lookup has ever found an order: is the lookup path right?`,
        true,
      );
    }
    // Absent after the quiet time: the refusal was meant, as if nothing had gone before it.
    const clean = new Verdicts(
      {
        ...facts,
        outcomeUnknown: false,
        settlementDelayEndMs: null,
        settlementDelayLeftMs: 0,
        buffered: null,
        state: 'sending',
      },
      this.#policy,
      this.#nowMs,
      this.#random,
    );
    const outcome: Outcome = {
      row: facts.buffered.row,
      sent: true,
      http: null,
      code: facts.buffered.code,
      message: facts.buffered.message,
      retryAfterMs: null,
      answer: null,
      breach: null,
    };
    return {
      ...clean.apply(decisionTable[facts.buffered.row].clean, outcome),
      outcomeUnknown: false,
      settlementDelayEndMs: null,
      counted: false,
    };
  }

  /** After the loss of an outbox: what a lookup of an entry says that may have been bought by it. */
  #afterLoss(verdict: LossVerdict): Settlement {
    const { settlementDelayLeftMs } = this.#facts;
    if (settlementDelayLeftMs > 0)
      return { ...this.#lookAgain('not_found'), dueAtMs: this.#nowMs + settlementDelayLeftMs };
    switch (verdict.step) {
      case 'look':
        return { ...this.#base('not_found'), nextStep: 'lookup', counted: false, recoveryStage: 2 };
      case 'lookAgain':
        return { ...this.#base('not_found'), nextStep: 'lookup', counted: false, recoveryStage: 1 };
      case 'goOn': {
        const facts: EntryFacts = { ...this.#facts, recoveryStage: 3 };
        const settlement = new Verdicts(facts, this.#policy, this.#nowMs, this.#random).absent();
        if (settlement.state === facts.state) return settlement;
        // What was absent so often is what may have taken its place. Itself was asked for once, which ends nothing.
        return { ...this.#lookAgain('not_found'), recoveryStage: 3 };
      }
      case 'review':
        return this.review(null, verdict.row, verdict.reason, true);
      case 'replace': {
        const { row, message, replacements } = verdict;
        const done = { outcomeUnknown: false, settlementDelayEndMs: null, counted: false, recoveryStage: 3 } as const;
        const error = { code: row, message, buffered: false };
        return { ...this.#base(row), ...done, state: 'rejected', error, replacements };
      }
      default:
        return unreachable(verdict);
    }
  }

  foundInItsPlace(): Settlement {
    return this.#afterLoss(successorIsThere(this.#facts));
  }

  /** Not found after its deadline: the same reference again would buy it late. */
  #absentTooLate(base: Settlement): Settlement {
    const { settlementDelayLeftMs } = this.#facts;
    if (settlementDelayLeftMs > 0)
      return { ...base, nextStep: 'lookup', counted: false, dueAtMs: this.#nowMs + settlementDelayLeftMs };
    if (!this.#policy.trustsAbsence) {
      const reason =
        'its deadline passed while it was in doubt, and that it is not found proves nothing: no lookup has ever found an order';
      return this.review(null, base.row, reason, true);
    }
    const message =
      'the deadline of the order passed while it was not known whether it was bought; a lookup after that does not find it: nothing was bought';
    const error = { code: 'not_after_passed', message, buffered: false };
    return { ...base, state: 'expired', outcomeUnknown: false, settlementDelayEndMs: null, counted: false, error };
  }

  /** A lookup for an ambiguous cancel found the order of the eSIM. */
  cancelFound(answer: OrderAnswer): Settlement {
    const facts = this.#facts;
    if (showsCancelled(answer, facts.iccid)) {
      // What the order cost is not what the cancel cost.
      return this.settle('accepted', { ...answer, units: [], cost: null });
    }
    if (facts.buffered !== null) {
      return this.review(
        null,
        facts.buffered.row,
        `the cancel was refused after an ambiguous attempt, and the order's status is "${answer.status}": ${facts.buffered.message}`,
      );
    }
    if (this.#isOverdue()) {
      // Not every order shows what became of its eSIM, so this is no proof that nothing was cancelled.
      const { settlementDelayLeftMs } = facts;
      if (settlementDelayLeftMs > 0)
        return {
          ...this.#base('accepted'),
          nextStep: 'lookup',
          counted: false,
          dueAtMs: this.#nowMs + settlementDelayLeftMs,
        };
      const reason = `its deadline passed while the cancel was in doubt, and the order's status is "${answer.status}"`;
      return this.review(null, 'accepted', reason, true);
    }
    // Not cancelled so far, and repeating is safe: an eSIM is refunded once (Spec 3).
    return { ...this.#base('accepted'), state: 'unknown', nextStep: 'send', counted: false, recoveryStage: 3 };
  }

  lookupFailed(outcome: Outcome): Settlement {
    const facts = this.#facts;
    const cell = decisionTable[outcome.row][columnFor(facts)];
    const pause =
      cell.pause === 'key' || cell.pause === 'account'
        ? { kind: cell.pause, reason: outcome.row, message: outcome.message }
        : null;
    const asked = outcome.retryAfterMs === null ? 0 : this.#nowMs + outcome.retryAfterMs;
    // A lookup that died with the worker asked nothing: the next one may show the units.
    if (facts.state === 'placed' && outcome.row !== 'crashed' && this.#isAcceptedTooLongAgo()) {
      const reason = `accepted, but its units did not come before the deadline, and the last lookup failed: ${outcome.message}`;
      return { ...this.review(null, 'accepted', reason), pause };
    }
    return {
      ...this.#lookAgain(outcome.row),
      tries: facts.tries + 1,
      absences: facts.absences,
      dueAtMs: Math.max(asked, this.#due('standard', facts.tries)),
      pause,
    };
  }

  /** Changes nothing about an entry, and keeps the refusal that a lookup is to clear up. */
  #lookAgain(row: OutcomeRow): Settlement {
    const { buffered } = this.#facts;
    const error = buffered && { code: buffered.code ?? buffered.row, message: buffered.message, buffered: true };
    return { ...this.#base(buffered?.row ?? row), nextStep: 'lookup', counted: false, error };
  }

  /** A lookup found nothing, and one such answer is not enough for what would follow from it. */
  absentPerhaps(): Settlement {
    const { absences } = this.#facts;
    return { ...this.#lookAgain('not_found'), absences: absences + 1, dueAtMs: this.#due('standard', absences) };
  }

  /** Counted from the acceptance: an order may have waited for a balance or for stock long before it. */
  #isAcceptedTooLongAgo(): boolean {
    const { settlementDelayEndMs, firstSentAtMs, createdAtMs } = this.#facts;
    const { settlementDelayMs, placedDeadlineMs } = this.#policy;
    const acceptedAtMs =
      settlementDelayEndMs === null ? (firstSentAtMs ?? createdAtMs) : settlementDelayEndMs - settlementDelayMs;
    return this.#nowMs - acceptedAtMs >= placedDeadlineMs;
  }

  stillPlaced(answer: OrderAnswer): Settlement {
    const facts = this.#facts;
    const placed = {
      ...this.settle('accepted', answer),
      settlementDelayEndMs: facts.settlementDelayEndMs,
      settlementDelayMs: null,
    };
    if (this.#isAcceptedTooLongAgo()) {
      const reviewReason = 'accepted, but its units did not come before the deadline';
      return { ...placed, state: 'needs_review', reviewReason };
    }
    return { ...placed, tries: facts.tries + 1, dueAtMs: this.#due('standard', facts.tries) };
  }
}

function errorOf(outcome: Outcome, buffered: boolean): Settlement['error'] {
  return { code: outcome.code ?? outcome.row, message: outcome.message, buffered };
}
