import type { Clock } from '../../core/clock.ts';
import type { LookupOutcome, Outcome } from '../../core/answers/outcome.ts';
import type { Family } from '../../core/order/purchase.ts';
import type { Probe, ProbeQuestion } from '../../core/answers/probe.ts';
import { denialOf, type Settlement } from '../decision/settlement.ts';
import { unansweredRows } from '../breakers/evidence.ts';
import { keyScope } from '../../core/order/scope.ts';
import { assert } from '../../core/order-sync-error.ts';
import type { Store } from '../../store/store.ts';
import type { NewPause } from '../../store/entries/pauses.ts';
import type { KeyBackOff } from '../../store/wholesale-keys.ts';
import type { Budget } from '../budget/budget-sql.ts';
import type { BudgetGate, CallKind } from '../budget/budget-gate.ts';
import type { Pauses } from '../breakers/pauses.ts';
import type { BudgetLimits } from '../decision/settings.ts';
import type { WholesalePort } from '../../wholesale/wholesale-port.ts';

export interface CallDeps {
  readonly store: Store;
  readonly steps: { readonly budget: Budget };
  readonly gate: BudgetGate;
  readonly pauses: Pauses;
  readonly clock: Clock;
  readonly limits: Pick<BudgetLimits, 'transitMs'>;
  /**
   * The value of a key as it is configured now, by its name; null when the key is not configured
   * any more.
   */
  readonly keyValue: (keyName: string) => string | null;
}

/**
 * The key of one call, with the value that it had when its slot was taken: the call is made with
 * that value.
 */
export interface CallKey {
  readonly name: string;
  readonly value: string;
}

/**
 * How long a key backs off after a 429 that names no time (Spec 7: "Wait a few seconds, retry.").
 */
const defaultBackOffMs = 5000;

/**
 * A key whose slot was just taken. Its value is read at once, because a reload may change it before
 * the call is made.
 */
function callKey(deps: Pick<CallDeps, 'keyValue'>, name: string | null): CallKey | null {
  if (name === null) return null;
  const value = deps.keyValue(name);
  assert(value !== null, `the key ${name} is configured`);
  return { name, value };
}

/** Takes a slot for a call of this kind; null when no key has one. */
export function takeKey(
  deps: Pick<CallDeps, 'gate' | 'keyValue'>,
  kind: CallKind,
  except: readonly string[] = [],
): CallKey | null {
  return callKey(deps, deps.gate.tryTake(kind, except));
}

/**
 * When the slots of a call that is over start to cool down; null when the call surely never left. A call without an answer may still be on its way to the server, for as
 * long as the transit allowance.
 */
export function slotSettledMs(
  deps: CallDeps,
  outcome: Pick<Outcome, 'sent' | 'http'>,
): number | null {
  if (!outcome.sent) return null;
  const now = deps.clock.steadyMs();
  return outcome.http === null ? now + deps.limits.transitMs : now;
}

/**
 * Makes the key back off after a 429; null when there is nothing to record. The limit is the key's
 * (Spec 8), so every call with this value waits. A 429 to a value that was replaced meanwhile says
 * nothing about the new one.
 * @param forMs how long to back off at least; the server may ask for more
 */
export function backOffIfRateLimited(
  deps: CallDeps,
  key: CallKey,
  outcome: Outcome,
  forMs = defaultBackOffMs,
): KeyBackOff | null {
  const present = deps.keyValue(key.name);
  if (outcome.row !== 'rate_limited' || (present !== null && present !== key.value)) return null;
  return deps.gate.rateLimited(
    key.name,
    deps.clock.steadyMs() + Math.max(outcome.retryAfterMs ?? 0, forMs),
  );
}

/** The pause that a denial asks for; null for none. */
export function pauseIfDenied(
  deps: CallDeps,
  key: CallKey,
  denial: Settlement['pause'],
): Omit<NewPause, 'nowMs'> | null {
  const isReplaced = deps.keyValue(key.name) !== key.value;
  // The API denied the old value of the key. That says nothing about the new one.
  if (denial === null || (denial.kind === 'key' && isReplaced)) return null;
  const { kind, reason, message } = denial;
  const scope = kind === 'key' ? keyScope(key.name) : kind;
  // The new value may be one of another account: the pause is probed at once.
  const probeAtMs = isReplaced ? 0 : deps.pauses.firstProbeAtMs(reason);
  return { scope, reason, message, openedBy: 'worker', probeAtMs };
}

interface BudgetedAnswer<T> {
  readonly answer: T;
  /** The key has another value now: the answer says nothing about it. */
  readonly isKeyReplaced: boolean;
}

/**
 * Makes one call that reads and belongs to no attempt: takes a slot, calls, settles the slot, backs
 * off after a 429 and pauses what the API denied, because what denies a read also denies orders.
 * @param read makes the call with the value of a key; `outcomeOf` is its outcome, null for a
 * success
 * @param takeSlot takes the slot and names its key. Default: any key that has one free for a read
 * @returns null when no slot is free, and nothing was called
 */
export async function budgetedRead<T>(
  deps: CallDeps,
  read: { call: (keyValue: string) => Promise<T>; outcomeOf: (answer: T) => Outcome | null },
  takeSlot: () => string | null = () => deps.gate.tryTake('read'),
): Promise<BudgetedAnswer<T> | null> {
  const { store, steps, gate, clock, pauses } = deps;
  const key = callKey(deps, takeSlot());
  if (key === null) return null;
  const slot = await steps.budget.takeSlot(key.name).catch((error: unknown) => {
    gate.giveBack(key.name, 'read');
    throw error;
  });
  const answer = await read.call(key.value);
  const outcome = read.outcomeOf(answer);
  const settledMs = (outcome === null ? null : slotSettledMs(deps, outcome)) ?? clock.steadyMs();
  // Also where that cannot be recorded: on disk the slot stays taken, which the next start takes
  // for the longest call.
  gate.settle(key.name, 'read', settledMs);
  await steps.budget.settleSlot(slot, settledMs);
  const isAnswered =
    outcome === null || (outcome.http !== null && !unansweredRows.has(outcome.row));
  if (isAnswered) await store.pauses.answered();
  if (outcome !== null) {
    const backOff = backOffIfRateLimited(deps, key, outcome);
    if (backOff !== null) await steps.budget.recordBackOff(backOff, clock.wallMs());
    const pause = pauseIfDenied(deps, key, denialOf(outcome));
    if (pause !== null) await store.pauses.open({ ...pause, nowMs: clock.wallMs() });
    if (pause !== null) await pauses.refresh();
  }
  return { answer, isKeyReplaced: deps.keyValue(key.name) !== key.value };
}

export interface ProbeDeps extends CallDeps {
  readonly wholesale: Pick<WholesalePort, 'probe'>;
}

/**
 * Asks one small question that spends nothing. @param keyName the key to ask with, also a paused
 * one; default: any
 */
export function budgetedProbe(
  deps: ProbeDeps,
  question: ProbeQuestion,
  signal: AbortSignal,
  keyName?: string,
): Promise<BudgetedAnswer<Probe> | null> {
  const { gate, wholesale } = deps;
  return budgetedRead(
    deps,
    {
      call: (keyValue) => wholesale.probe({ question, keyValue, signal }),
      outcomeOf: ({ outcome }) => outcome,
    },
    keyName === undefined ? undefined : () => gate.takeForProbe(keyName),
  );
}

/**
 * Looks up an order by its reference, without an attempt of its own. @param keyName as of
 * `budgetedProbe`
 */
export function budgetedLookup(
  deps: CallDeps & { readonly wholesale: Pick<WholesalePort, 'lookUp'> },
  { family, reference }: { readonly family: Family; readonly reference: string },
  signal: AbortSignal,
  keyName?: string,
): Promise<BudgetedAnswer<LookupOutcome> | null> {
  const question = { family, key: reference, expectReference: reference, signal };
  const read = {
    call: (keyValue: string) => deps.wholesale.lookUp({ ...question, keyValue }),
    outcomeOf: (lookup: LookupOutcome) => (lookup.kind === 'failed' ? lookup.outcome : null),
  };
  return budgetedRead(
    deps,
    read,
    keyName === undefined ? undefined : () => deps.gate.takeForProbe(keyName),
  );
}

/** How often a slot is tried to get while the budget is used up. */
const slotRetryMs = 250;

/** Repeats a read until a slot is free for it; null when none was in time. */
export async function readWhenFree<T>(
  clock: Clock,
  read: () => Promise<BudgetedAnswer<T> | null>,
  untilMs: number,
  signal: AbortSignal,
): Promise<T | null> {
  for (;;) {
    const done = await read();
    if (done !== null) return done.answer;
    if (signal.aborted || clock.steadyMs() >= untilMs) return null;
    await clock.sleep(slotRetryMs, signal);
  }
}
