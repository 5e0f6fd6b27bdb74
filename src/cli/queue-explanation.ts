import type { Config } from '../config/config.ts';
import { isoTime } from '../core/clock.ts';
import { isFinal } from '../core/entry-state.ts';
import { familyOf, operations } from '../core/operation.ts';
import { callsAhead, drainsInMs, forecast, spendStartsInMs, type LimitFacts } from '../core/queue-forecast.ts';
import type { HeldSlot, QueuedEntry, QueueFacts } from '../store/queue-facts.ts';
import type { Pause } from '../store/store.ts';

/** The moment that an explanation is for. */
export interface Moment {
  readonly nowMs: number;
  readonly nowMono: number;
  readonly bootId: string | null;
}

export interface Situation extends Moment {
  readonly config: Config;
  readonly facts: QueueFacts;
  readonly pauses: readonly Pause[];
}

/** What is used of one limit by all keys that may be used, and when the next slot comes. */
export interface LimitUse {
  readonly limit: 'orders' | 'requests';
  readonly used: number;
  readonly capacity: number;
  readonly nextFreeAt: string;
}

export interface EntryExplanation {
  readonly reference: string;
  readonly state: string;
  /** Why it is not sent at this moment; empty when it is its turn. */
  readonly reasons: readonly string[];
  readonly callsAhead: number | null;
  /** When it is sent, as far as that can be foreseen; null when it depends on something else. */
  readonly startsAt: string | null;
}

/** Keys that are configured and do not stand still. */
function usableKeys({ config, pauses }: Situation): readonly string[] {
  return config.wholesale.keys
    .map((key) => key.name)
    .filter((name) => !pauses.some((it) => it.scope === `key:${name}`));
}

function limitOf(situation: Situation, limit: 'orders' | 'requests'): LimitFacts {
  const { windowMs, transitAllowanceMs, ...limits } = situation.config.wholesale.limits;
  const keys = usableKeys(situation);
  const freeIn = (slot: HeldSlot): number => {
    // A call that is open, or was made before the machine was restarted, holds its slot for a window from now.
    if (slot.settledMono === null || slot.bootId !== situation.bootId || slot.bootId === null) return windowMs;
    return Math.min(slot.settledMono + windowMs - situation.nowMono, windowMs + transitAllowanceMs);
  };
  const held = situation.facts.slots
    .filter((slot) => slot.limitName === limit && keys.includes(slot.keyName))
    .map(freeIn);
  return { capacity: Math.max(1, limits[limit] * keys.length), windowMs, freeInMs: held.filter((ms) => ms > 0) };
}

export function limitUses(situation: Situation): readonly LimitUse[] {
  return (['orders', 'requests'] as const).map((limit) => {
    const facts = limitOf(situation, limit);
    const nextFreeAt = isoTime(situation.nowMs + Math.ceil(spendStartsInMs([facts], 0)));
    return { limit, used: facts.freeInMs.length, capacity: facts.capacity, nextFreeAt };
  });
}

const limitsOf = (situation: Situation): readonly LimitFacts[] => [
  limitOf(situation, 'orders'),
  limitOf(situation, 'requests'),
];

/** What keeps everything from being called, also questions. */
function standingReasons(situation: Situation): readonly string[] {
  const account = situation.pauses.find((pause) => pause.scope === 'account');
  const reasons = account === undefined ? [] : [stopped(account)];
  return usableKeys(situation).length === 0 ? [...reasons, 'every key stands still'] : reasons;
}

/** What keeps anything new from being bought. */
export function generalReasons(situation: Situation): readonly string[] {
  const { inDoubt } = situation.facts;
  const cap = situation.config.submit.exposureCap;
  const standing = standingReasons(situation);
  return inDoubt < cap
    ? standing
    : [...standing, `${inDoubt} entries are in doubt, and nothing new is bought while there are ${cap}`];
}

function stopped(pause: Pause): string {
  return `${pause.scope} stands still since ${isoTime(pause.sinceMs)}, by ${pause.openedBy}: ${pause.reason}: ${pause.message}`;
}

/** When everything that may be sent will have been sent; null when nothing is to send, or something must happen first. */
export function drainedAt(situation: Situation): string | null {
  const { count, lastDueMs } = situation.facts.toSend;
  if (generalReasons(situation).length > 0) return null;
  const inMs = drainsInMs(limitsOf(situation), count);
  return inMs === null ? null : isoTime(Math.max(situation.nowMs + Math.ceil(inMs), lastDueMs ?? 0));
}

export function explainEntry(entry: QueuedEntry, situation: Situation): EntryExplanation {
  const { reference, state } = entry;
  const rest = restingReason(entry);
  if (rest !== null) return { reference, state, reasons: [rest], callsAhead: null, startsAt: null };
  const { nowMs, facts } = situation;
  const isDoubt = state === 'unknown';
  const isAsked = state === 'placed' || entry.nextStep === 'lookup';
  const due = entry.dueAtMs > nowMs ? [`it is due at ${isoTime(entry.dueAtMs)}`] : [];
  if (isAsked) {
    // A question is no purchase: only the account and the keys can stop it.
    const reasons = ['the API is asked what became of it', ...standingReasons(situation), ...due];
    return { reference, state, reasons, callsAhead: null, startsAt: isoTime(Math.max(nowMs, entry.dueAtMs)) };
  }
  // A doubt is what the cap waits for, so the cap does not stop it.
  const general = isDoubt ? standingReasons(situation) : generalReasons(situation);
  const standing = [...general, ...scopeReasons(entry, situation)];
  if (entry.blockedBy !== null && !isDoubt) standing.push(`${entry.blockedBy}, for the same eSIM, comes first`);
  const own = { source: entry.source, name: `${state} ${entry.lane}`, before: entry.before };
  const ahead = isDoubt ? entry.before : facts.doubtfulSends + callsAhead(facts.lanes, own);
  const { inMs } = forecast({ limits: limitsOf(situation), ahead, dueInMs: entry.dueAtMs - nowMs });
  const startMs = nowMs + Math.ceil(inMs);
  const reasons = [...standing, ...due];
  if (inMs > 0 && entry.dueAtMs < startMs) reasons.push(budgetReason(situation));
  if (entry.notAfterMs !== null && (startMs > entry.notAfterMs || standing.length > 0)) {
    reasons.push(`its deadline is ${isoTime(entry.notAfterMs)}; it is not bought after that`);
  }
  return { reference, state, reasons, callsAhead: ahead, startsAt: standing.length > 0 ? null : isoTime(startMs) };
}

function restingReason(entry: QueuedEntry): string | null {
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
  return pauses.filter((pause) => scopes.includes(pause.scope) && !(hasOther && pause.probeAtMs !== null)).map(stopped);
}

function budgetReason(situation: Situation): string {
  const uses = limitUses(situation).map(({ limit, used, capacity }) => `${used} of ${capacity} ${limit}`);
  const next = Math.ceil(spendStartsInMs(limitsOf(situation), 0));
  return `the budget: ${uses.join(' and ')} are used, the next slot is free at ${isoTime(situation.nowMs + next)}`;
}
