import { isoTime } from '../core/clock.ts';
import { sendingReserveBytes } from '../core/budget/disk-reserve.ts';
import { isFinal } from '../core/entry/states.ts';
import { familyOf, operations } from '../core/order/operation.ts';
import { callsAhead, drainsInMs, forecast, spendStartsInMs, type KeyFacts } from '../core/budget/queue-forecast.ts';
import type { QueuedEntry } from '../store/read/queue-facts.ts';
import { keyViews, limitUses, stoppedBy, usableKeys, type Situation } from './queue-situation.ts';

export interface EntryExplanation {
  readonly reference: string;
  readonly state: string;
  /** Why it is not sent at this moment; empty when it is its turn. */
  readonly reasons: readonly string[];
  readonly callsAhead: number | null;
  /** When it is sent, as far as that can be foreseen; null when it depends on something else. */
  readonly startsAt: string | null;
}

const factsOf = (situation: Situation): readonly KeyFacts[] => usableKeys(situation).map((key) => key.facts);

/** What keeps everything from being called, also questions. */
function standingReasons(situation: Situation): readonly string[] {
  const { freeBytes } = situation.facts;
  const account = situation.pauses.find((pause) => pause.scope === 'account');
  const reasons = account === undefined ? [] : [stoppedBy(account)];
  if (freeBytes < sendingReserveBytes) {
    reasons.push(
      `the disk of the outbox is nearly full: ${freeBytes} bytes are free, ${sendingReserveBytes} are needed`,
    );
  }
  if (usableKeys(situation).length > 0) return reasons;
  return [...reasons, ...keyViews(situation).flatMap((key) => key.why ?? []), 'every key stands still'];
}

/** What keeps anything new from being bought. */
export function generalReasons(situation: Situation): readonly string[] {
  const { outcomeUnknown } = situation.facts;
  const cap = situation.config.submit.maxUnknownOutcomes;
  const standing = standingReasons(situation);
  return outcomeUnknown < cap
    ? standing
    : [...standing, `${outcomeUnknown} entries are in doubt, and nothing new is bought while there are ${cap}`];
}

/** What makes everything slower without stopping it. */
export function slowingReasons(situation: Situation): readonly string[] {
  const { openCalls } = situation.facts;
  const { concurrency } = situation.config.submit;
  return [
    ...(situation.workerAnswers
      ? []
      : ['no worker answers: nothing is sent until one runs, and times count from then']),
    ...usableKeys(situation).flatMap((key) => key.why ?? []),
    ...(openCalls < concurrency ? [] : [`${openCalls} calls are open, and submit.concurrency allows ${concurrency}`]),
  ];
}

/** When everything that is to be sent will have been sent; null when that is nothing, or something must happen first. */
export function drainedAt(situation: Situation): string | null {
  return situation.facts.toSend.standing > 0 ? null : movingDrainedAt(situation);
}

/** When everything will have been sent that does not stand still. */
export function movingDrainedAt(situation: Situation): string | null {
  const { count, standing, lastDueMs } = situation.facts.toSend;
  if (generalReasons(situation).length > 0) return null;
  const inMs = drainsInMs(factsOf(situation), count - standing);
  return inMs === null ? null : isoTime(Math.max(situation.nowMs + Math.ceil(inMs), lastDueMs ?? 0));
}

export function explainEntry(entry: QueuedEntry, situation: Situation): EntryExplanation {
  const { reference, state } = entry;
  const rest = restingReason(entry);
  if (rest !== null) return { reference, state, reasons: [rest], callsAhead: null, startsAt: null };
  const { nowMs, facts } = situation;
  const isOutcomeUnknown = state === 'unknown';
  const isAsked = state === 'placed' || entry.nextStep === 'lookup';
  const due = entry.dueAtMs > nowMs ? [`it is due at ${isoTime(entry.dueAtMs)}`] : [];
  const slowing = slowingReasons(situation);
  if (isAsked) return explainQuestion(entry, situation, [...due, ...slowing]);
  // A doubt is what the cap waits for, so the cap does not stop it.
  const general = isOutcomeUnknown ? standingReasons(situation) : generalReasons(situation);
  const standing = [...general, ...scopeReasons(entry, situation)];
  if (entry.blockedBy !== null && !isOutcomeUnknown)
    standing.push(`${entry.blockedBy}, for the same eSIM, comes first`);
  const own = { source: entry.source, name: `${state} ${entry.lane}`, before: entry.before };
  const ahead = isOutcomeUnknown ? entry.before : facts.unknownOutcomeSends + callsAhead(facts.lanes, own);
  const { inMs } = forecast({ keys: factsOf(situation), ahead, dueInMs: entry.dueAtMs - nowMs });
  const reasons = [...standing, ...due, ...slowing];
  // Without a key nothing can be foreseen, and that stands among the reasons already.
  if (!Number.isFinite(inMs)) return { reference, state, reasons, callsAhead: ahead, startsAt: null };
  const startMs = nowMs + Math.ceil(inMs);
  if (inMs > 0 && entry.dueAtMs < startMs) reasons.push(budgetReason(situation));
  if (entry.notAfterMs !== null && (startMs > entry.notAfterMs || standing.length > 0)) {
    reasons.push(`its deadline is ${isoTime(entry.notAfterMs)}; it is not bought after that`);
  }
  return { reference, state, reasons, callsAhead: ahead, startsAt: standing.length > 0 ? null : isoTime(startMs) };
}

/** A question is no purchase: only the account, the keys and the disk can stop it. */
function explainQuestion(entry: QueuedEntry, situation: Situation, slowing: readonly string[]): EntryExplanation {
  const { reference, state } = entry;
  const standing = standingReasons(situation);
  const requests = factsOf(situation).map((facts) => ({ ...facts, limits: facts.limits.slice(1) }));
  const inMs = Math.max(entry.dueAtMs - situation.nowMs, spendStartsInMs(requests, 0));
  const startsAt = standing.length > 0 ? null : isoTime(situation.nowMs + Math.ceil(inMs));
  const reasons = ['the API is asked what became of it', ...standing, ...slowing];
  return { reference, state, reasons, callsAhead: null, startsAt };
}

function restingReason(entry: QueuedEntry): string | null {
  if (entry.replacedBy.length > 0) return `others took its place: ${entry.replacedBy.join(', ')}`;
  if (isFinal(entry.state)) return `it is ${entry.state}, which is final`;
  if (entry.state === 'sending') return 'its call is open at this moment';
  const why = entry.reviewReason === null ? '' : `: ${entry.reviewReason}`;
  if (entry.state === 'needs_review') return `a person must decide${why}`;
  return entry.state === 'held' ? `it is held by a person${why}` : null;
}

function scopeReasons(entry: QueuedEntry, { pauses }: Situation): readonly string[] {
  const operation = operations.find((it) => it === entry.operation);
  const scopes = [
    ...(operation === undefined ? [] : [`family:${familyOf(operation)}`]),
    ...(entry.currency === null ? [] : [`balance:${entry.currency}`]),
  ];
  // Without its first balance an order may still be charged to the other one, unless a person stopped it.
  const hasOther = entry.lane.includes('/');
  return pauses
    .filter((pause) => scopes.includes(pause.scope) && !(hasOther && pause.probeAtMs !== null))
    .map(stoppedBy);
}

function budgetReason(situation: Situation): string {
  const uses = limitUses(situation).map(({ limit, used, capacity }) => `${used} of ${capacity} ${limit}`);
  const nextMs = spendStartsInMs(factsOf(situation), 0);
  return `the budget: ${uses.join(' and ')} are used, the next slot is free at ${isoTime(situation.nowMs + Math.ceil(nextMs))}`;
}
