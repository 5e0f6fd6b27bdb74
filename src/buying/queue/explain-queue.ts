import {
  type EntryExplanation,
  type PauseView,
  type QueueExplanation,
  waitTexts,
} from '../../core/operator/queue-explanation.ts';
import { isoTime } from '../../core/clock.ts';
import { counted } from '../../core/counts.ts';
import type { CommandResult } from '../../core/operator/operator-command.ts';
import { isFinal } from '../../core/entry/states.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { productUnknownLimit } from './exposure.ts';
import { keyScope } from '../../core/order/scope.ts';
import type { PresentTime } from '../../core/time/wall-clock.ts';
import { readLane } from '../../store/entries/lanes.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { QueuedEntry, QueueFacts } from '../../store/read/queue-facts.ts';
import { holdUp, type PauseEffect } from '../../store/read/pause-effects.ts';
import type { BudgetGate, KeyUsage } from '../budget/budget-gate.ts';

export interface QueueSources {
  readonly read: Pick<OutboxReader, 'queueFacts' | 'queuedEntry'>;
  readonly nowMs: number;
  readonly maxUnknownOutcomes: number;
  /** With less free space on the disk of the outbox nothing is sent. */
  readonly minFreeBytes: number;
  /** The running worker's own gate; null when no worker runs: then there is no estimate. */
  readonly worker: {
    readonly gate: Pick<BudgetGate, 'usage' | 'nextInMs'>;
    readonly concurrency: number;
    /** The time by which it judges deadlines. */
    readonly present: PresentTime;
  } | null;
}

interface KeyState {
  readonly usage: KeyUsage;
  readonly view: QueueExplanation['keys'][number];
  /** Why the key sends nothing, or less than it could; null when it is ready. */
  readonly why: string | null;
}

/** The facts of the outbox at one moment, and the budget as the worker's gate knows it. */
interface Moment extends QueueSources {
  readonly facts: QueueFacts;
  readonly keys: readonly KeyState[];
  /** Those that are not paused, and how many orders a minute they allow. */
  readonly usable: readonly KeyState[];
  readonly perMinute: number;
}

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, each) => total + each, 0);
const timeIn = ({ nowMs }: Pick<Moment, 'nowMs'>, ms: number): string =>
  isoTime(nowMs + Math.round(ms));

/**
 * Explains one entry, or the queue as a whole: why nothing is sent now, and when it will be.
 * @throws OrderSyncError NOT_FOUND for a reference that is not in the outbox
 */
export function explain(
  sources: QueueSources,
  reference: string | null,
): Extract<CommandResult, { kind: 'queue' | 'queued_entry' }> {
  if (reference === null) return { kind: 'queue', explanation: explainQueue(sources) };
  const entry = sources.read.queuedEntry(reference);
  if (entry !== null)
    return { kind: 'queued_entry', explanation: explainEntry(momentOf(sources), entry) };
  throw new OrderSyncError('NOT_FOUND', `No reference "${reference}" is in the outbox`, {
    hint: 'look for the order with `order-sync orders list --search`',
  });
}

/** Explains the queue as a whole. */
export function explainQueue(sources: QueueSources): QueueExplanation {
  const moment = momentOf(sources);
  const { facts, worker, keys, perMinute } = moment;
  const { count, paused, waiting } = facts.toSend;
  const reasons = whyNothingIsBought(moment);
  const due = count - paused - waiting;
  const isSending = due > 0 && reasons.length === 0;
  return {
    worker_answers: worker !== null,
    to_send: count,
    to_send_paused: paused,
    to_send_waiting: waiting,
    outcome_unknown: facts.outcomeUnknown,
    free_bytes: facts.freeBytes,
    reasons,
    notes: notesOf(moment),
    pauses: facts.pauses.map(pauseView),
    keys: keys.map(({ view }) => view),
    limits: worker === null ? [] : limitsOf(moment),
    per_minute: perMinute,
    drained_at:
      worker !== null && isSending ? timeIn(moment, sentInMs(moment, worker.gate, due - 1)) : null,
  };
}

export function pauseView(pause: PauseEffect): PauseView {
  const { scope, reason, message, openedBy, sinceMs, probeAtMs, probes, holdsUp } = pause;
  const probeAt = probeAtMs === null ? null : isoTime(probeAtMs);
  const since = isoTime(sinceMs);
  return {
    scope,
    reason,
    message,
    opened_by: openedBy,
    since,
    probe_at: probeAt,
    probes,
    holds_up: holdsUp,
  };
}

/** Who paused a scope, when and why, what it holds up, and when the worker tries it. */
export function pauseText({
  scope,
  since,
  reason,
  message,
  holds_up: count,
  ...pause
}: PauseView): string {
  const probe = pause.probe_at === null ? '' : `; tried again at ${pause.probe_at}`;
  const heldUp = `; it holds up ${counted(count, 'entry', 'entries')}`;
  return `${scope} is paused since ${since} by ${pause.opened_by}: ${reason}: ${message}${heldUp}${probe}`;
}

const textsOf = (pauses: readonly PauseEffect[]): readonly string[] =>
  pauses.map(pauseView).map(pauseText);

function momentOf(sources: QueueSources): Moment {
  const facts = sources.read.queueFacts();
  const keys = (sources.worker?.gate.usage() ?? []).map((usage) => keyState(usage, facts, sources));
  const usable = keys.filter(({ view }) => view.state !== 'paused');
  const perMinute = Math.round(sum(usable.map(({ usage }) => usage.spendsPerMinute)));
  return { ...sources, facts, keys, usable, perMinute };
}

function keyState(usage: KeyUsage, facts: QueueFacts, sources: QueueSources): KeyState {
  const { keyName: name, isPaused, backOffMs, throttle, orders, requests } = usage;
  const idle = {
    name,
    since: null,
    until: null,
    orders_used: orders.used,
    requests_used: requests.used,
  };
  const pause = facts.pauses.find(({ scope }) => scope === keyScope(name));
  if (pause !== undefined) {
    const shown = pauseView(pause);
    return { usage, view: { ...idle, state: 'paused', since: shown.since }, why: pauseText(shown) };
  }
  if (isPaused) return { usage, view: { ...idle, state: 'paused' }, why: null };
  const since = isoTime(facts.rateLimitedAtMs[name] ?? sources.nowMs);
  if (backOffMs > 0) {
    const until = timeIn(sources, backOffMs);
    const why = `the key ${name} is backing off until ${until}: the API answered 429 at ${since}`;
    return { usage, view: { ...idle, state: 'backing_off', since, until }, why };
  }
  if (throttle === null) return { usage, view: { ...idle, state: 'ready' }, why: null };
  const until = timeIn(sources, throttle.forMs);
  const seconds = (throttle.distanceMs / 1000).toFixed(1);
  const why = `the key ${name} is throttled to one call in ${seconds} s until ${until}, because of a 429 at ${since}`;
  return { usage, view: { ...idle, state: 'throttled', since, until }, why };
}

function limitsOf(moment: Moment): QueueExplanation['limits'] {
  const usable = moment.usable.map(({ usage }) => usage);
  return (['orders', 'requests'] as const).map((limit) => {
    const freeInMs = Math.min(...usable.map((key) => Math.max(key.backOffMs, key[limit].freeInMs)));
    return {
      limit,
      used: sum(usable.map((key) => key[limit].used)),
      capacity: sum(usable.map((key) => key[limit].capacity)),
      next_free_at: Number.isFinite(freeInMs) ? timeIn(moment, freeInMs) : null,
    };
  });
}

/**
 * About how many ms after so many others an order is sent: free slots are used at once, the rest at
 * the rate of the budget.
 */
function sentInMs(
  { usable, perMinute }: Moment,
  gate: Pick<BudgetGate, 'nextInMs'>,
  ahead: number,
): number {
  const nextMs = gate.nextInMs('spend');
  const ready = usable.filter(({ view }) => view.state === 'ready');
  const free = sum(
    ready.map(({ usage: { orders } }) => Math.max(0, orders.capacity - orders.used)),
  );
  return ahead < free ? nextMs : nextMs + (ahead / Math.max(1, perMinute)) * 60_000;
}

function explainEntry(moment: Moment, entry: QueuedEntry): EntryExplanation {
  const { worker, nowMs } = moment;
  const { reference, state, dueAtMs, notAfterMs } = entry;
  const base = { worker_answers: worker !== null, reference, state, per_minute: moment.perMinute };
  const settled = whyNothingIsDue(entry);
  if (settled !== null) return { ...base, reasons: [settled], calls_ahead: null, starts_at: null };
  const isLookup = state === 'placed' || entry.nextStep === 'lookup';
  const stopping = isLookup ? whyNothingIsCalled(moment) : whyItIsNotSent(moment, entry);
  const ahead = isLookup || worker === null ? null : callsAhead(moment.facts, entry);
  const slotInMs =
    worker === null
      ? Infinity
      : ahead === null
        ? worker.gate.nextInMs('read')
        : sentInMs(moment, worker.gate, ahead);
  const startMs = Math.max(dueAtMs, nowMs + Math.round(slotInMs));
  const canStart = stopping.length === 0 && Number.isFinite(startMs);
  const isLate = notAfterMs !== null && (startMs > notAfterMs || stopping.length > 0);
  const reasons = [
    ...(isLookup
      ? ['the next call is a lookup, which asks the API whether the order was bought']
      : []),
    ...stopping,
    ...waitTexts({ ...entry, awaitsRecheck: null }),
    ...(dueAtMs > nowMs && entry.awaitsRecheck === null
      ? [`it is due at ${isoTime(dueAtMs)}`]
      : []),
    ...notesOf(moment),
    ...busyTexts(moment),
    ...(ahead !== null && slotInMs > 0 && Number.isFinite(startMs) && dueAtMs < startMs
      ? [budgetText(moment)]
      : []),
    ...(!isLookup && isLate
      ? [`the deadline is ${isoTime(notAfterMs)}; the line is not bought after that`]
      : []),
  ];
  return { ...base, reasons, calls_ahead: ahead, starts_at: canStart ? isoTime(startMs) : null };
}

/**
 * Shops take turns, and so do the lanes of a shop. Only the claim knows whose turn is next: here
 * all others come first.
 */
function callsAhead(facts: QueueFacts, { state, source, lane, before }: QueuedEntry): number {
  if (state === 'unknown') return before;
  const { own = [], other = [] } = Object.groupBy(facts.lanes, (it) =>
    it.source === source ? 'own' : 'other',
  );
  const lanes = own.filter((it) => it.lane !== lane || state !== 'pending');
  const turns = before + sum(lanes.map(({ count }) => Math.min(count, before + 1)));
  const shops = [...Map.groupBy(other, (it) => it.source).values()].map((of) =>
    sum(of.map(({ count }) => count)),
  );
  return facts.unknownOutcomeSends + turns + sum(shops.map((count) => Math.min(count, turns + 1)));
}

function budgetText(moment: Moment): string {
  const uses = limitsOf(moment).map(
    ({ limit, used, capacity }) => `${used} of ${capacity} ${limit}`,
  );
  const next = timeIn(moment, moment.worker?.gate.nextInMs('spend') ?? 0);
  return `the budget: ${uses.join(' and ')} are used; the next call can start at ${next}`;
}

/** Usual while much is sent: a fact about one entry, no trouble of the queue. */
const busyTexts = ({ worker, facts: { callsInFlight } }: Moment): readonly string[] =>
  worker !== null && callsInFlight >= worker.concurrency
    ? [`${callsInFlight} calls are in flight, and submit.concurrency allows ${worker.concurrency}`]
    : [];

/** The reasons that stop every call, also lookups. */
function whyNothingIsCalled(moment: Moment): readonly string[] {
  const { facts, keys, usable, minFreeBytes } = moment;
  const { pauses, freeBytes } = facts;
  const full = `the disk of the outbox is nearly full: ${freeBytes} bytes are free, ${minFreeBytes} are needed`;
  const noKey = [...keys.flatMap(({ why }) => why ?? []), 'every key is paused'];
  return [
    ...textsOf(pauses.filter(({ scope }) => scope === 'account')),
    ...(freeBytes < minFreeBytes ? [full] : []),
    ...(keys.length > 0 && usable.length === 0 ? noKey : []),
  ];
}

/** The reasons that stop every new purchase. */
function whyNothingIsBought(moment: Moment): readonly string[] {
  const { outcomeUnknown: count } = moment.facts;
  const most = moment.maxUnknownOutcomes;
  const capped = `the outcome of ${count} entries is unknown; nothing new is bought while ${most} or more are unknown`;
  return [...whyNothingIsCalled(moment), ...(count >= most ? [capped] : [])];
}

const deadlineUnclear =
  'the deadline has passed by the clock of this machine or by that of the API, but not by both: the line waits until both agree';

function whyItIsNotSent(moment: Moment, entry: QueuedEntry): readonly string[] {
  const { state, lane, notAfterMs, blockedBy, unknownOfProduct } = entry;
  const isQueued = state === 'pending' || state === 'waiting' || state === 'unknown';
  const pauses = isQueued
    ? textsOf(moment.facts.pauses.filter((pause) => holdUp([pause])({ state, lane })))
    : [];
  // The cap waits for entries with an unknown outcome, so it does not stop them; they hold their
  // eSIM themselves.
  if (state === 'unknown') return [...whyNothingIsCalled(moment), ...pauses];
  const failing = `the outcome of ${unknownOfProduct} other entries of ${readLane(lane).product} is unknown; nothing new of this product is bought until one outcome is known`;
  const present = moment.worker?.present;
  const isUnclear =
    notAfterMs !== null &&
    present &&
    present.earliestMs < notAfterMs &&
    notAfterMs <= present.latestMs;
  return [
    ...waitTexts({ ...entry, waitsForKey: null }),
    ...whyNothingIsBought(moment),
    ...pauses,
    ...(unknownOfProduct >= productUnknownLimit(moment.maxUnknownOutcomes) ? [failing] : []),
    ...(blockedBy === null ? [] : [`${blockedBy}, for the same eSIM, comes first`]),
    ...(isUnclear ? [deadlineUnclear] : []),
  ];
}

/** The facts that slow everything down without stopping it. */
function notesOf({ worker, usable }: Moment): readonly string[] {
  if (worker === null)
    return [
      'no worker answers: nothing is sent until a worker runs; start it with `order-sync run`',
    ];
  return usable.flatMap(({ why }) => why ?? []);
}

/** Why no call is due for an entry in its state; null when one is. */
function whyNothingIsDue(entry: QueuedEntry): string | null {
  const { state, replacedBy } = entry;
  if (replacedBy.length > 0) return `it was replaced by ${replacedBy.join(', ')}`;
  if (isFinal(state)) return `it is ${state}, which is final`;
  const why = entry.reviewReason === null ? '' : `: ${entry.reviewReason}`;
  switch (state) {
    case 'sending':
      return 'its call is in flight';
    case 'needs_review':
      return `it needs review${why}`;
    case 'held':
      return `it is held${why}`;
    default:
      return null;
  }
}
