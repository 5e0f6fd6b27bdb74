import {
  type EntryExplanation,
  type PauseView,
  type QueueExplanation,
  recheckText,
} from '../core/operator/queue-explanation.ts';
import { isoTime } from '../core/clock.ts';
import type { CommandResult } from '../core/operator/operator-command.ts';
import { isFinal } from '../core/entry/states.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { productUnknownLimit } from '../core/scopes/exposure.ts';
import type { PresentTime } from '../core/time/wall-clock.ts';
import { readLane } from '../store/submission/lanes.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';
import type { QueuedEntry, QueueFacts } from '../store/read/queue-facts.ts';
import { holdUp, type PauseEffect } from '../store/read/pause-effects.ts';
import type { BudgetGate, KeyUsage } from './budget-gate.ts';
import { usualSendingReserveBytes } from './settings.ts';

/** Where an explanation comes from. */
export interface QueueSources {
  readonly read: Pick<OutboxReader, 'queueFacts' | 'queuedEntry'>;
  readonly nowMs: number;
  readonly maxUnknownOutcomes: number;
  /** With less free space on the disk of the outbox nothing is sent. Default 100 MiB. */
  readonly minFreeBytes?: number;
  /** The running worker's own gate; null when no worker runs: then there is no estimate. */
  readonly worker: {
    readonly gate: Pick<BudgetGate, 'usage' | 'nextInMs'>;
    readonly concurrency: number;
    /** The time by which it judges deadlines; absent: `nowMs`. */
    readonly present?: PresentTime;
  } | null;
}

type QueueExplained = Extract<CommandResult, { kind: 'queue' | 'queued_entry' }>;
interface ExplainedKey {
  readonly view: QueueExplanation['keys'][number];
  /** Why the key sends nothing, or less than it could; null when it is ready. */
  readonly why: string | null;
}
type LimitView = QueueExplanation['limits'][number];

/**
 * Explains one entry, or the queue as a whole: why nothing is sent now, and when it will be.
 * @throws OrderSyncError NOT_FOUND for a reference that is not in the outbox
 */
export function explain(sources: QueueSources, reference: string | null): QueueExplained {
  if (reference === null) return { kind: 'queue', explanation: explainQueue(sources) };
  const entry = sources.read.queuedEntry(reference);
  if (entry !== null) return { kind: 'queued_entry', explanation: new Explanation(sources).ofEntry(entry) };
  throw new OrderSyncError('NOT_FOUND', `No reference "${reference}" is in the outbox`, {
    hint: 'look for it with `order-sync orders list --search`',
  });
}

/** Explains the queue as a whole. */
export function explainQueue(sources: QueueSources): QueueExplanation {
  return new Explanation(sources).ofQueue();
}

export function pauseView(pause: PauseEffect): PauseView {
  const { scope, reason, message, openedBy, sinceMs, probeAtMs, probes, holdsUp } = pause;
  const probeAt = probeAtMs === null ? null : isoTime(probeAtMs);
  const since = isoTime(sinceMs);
  return { scope, reason, message, opened_by: openedBy, since, probe_at: probeAt, probes, holds_up: holdsUp };
}

/** Who paused a scope, when and why, what it holds up, and when the worker tries it. */
export function pauseText({
  scope,
  since,
  opened_by: openedBy,
  reason,
  message,
  probe_at: probeAt,
  holds_up: holdsUp,
}: PauseView): string {
  const probe = probeAt === null ? '' : `; tried again at ${probeAt}`;
  const heldUp = `; it holds up ${holdsUp} ${holdsUp === 1 ? 'entry' : 'entries'}`;
  return `${scope} is paused since ${since} by ${openedBy}: ${reason}: ${message}${heldUp}${probe}`;
}

const deadlineUnclear =
  "its deadline has passed by the clock of this machine or by the API's, but not by both: it waits until they agree";

/** Explains one moment: the facts of the outbox, the pauses, and the budget as the worker's gate knows it. */
class Explanation {
  readonly #sources: QueueSources;
  readonly #facts: QueueFacts;
  readonly #pauses: readonly PauseView[];
  readonly #usage: readonly KeyUsage[];
  readonly #keys: readonly ExplainedKey[];

  constructor(sources: QueueSources) {
    this.#sources = sources;
    this.#facts = sources.read.queueFacts();
    this.#pauses = this.#facts.pauses.map(pauseView);
    this.#usage = sources.worker?.gate.usage() ?? [];
    this.#keys = this.#usage.map((key) => this.#explainKey(key));
  }

  #timeIn(ms: number): string {
    return isoTime(this.#sources.nowMs + Math.round(ms));
  }

  ofQueue(): QueueExplanation {
    const { toSend, outcomeUnknown, freeBytes } = this.#facts;
    return {
      worker_answers: this.#sources.worker !== null,
      to_send: toSend.count,
      to_send_paused: toSend.paused,
      to_send_waiting: toSend.waiting,
      outcome_unknown: outcomeUnknown,
      free_bytes: freeBytes,
      reasons: this.#whyNothingIsBought(),
      notes: this.#notes(),
      pauses: this.#pauses,
      keys: this.#keys.map(({ view }) => view),
      limits: this.#limits(),
      per_minute: this.#perMinute(),
      drained_at: this.#drainedAt(),
    };
  }

  /** When everything was sent that neither a pause nor its own time holds up. */
  #drainedAt(): string | null {
    const { count, paused, waiting } = this.#facts.toSend;
    const due = count - paused - waiting;
    const { worker } = this.#sources;
    if (worker === null || due === 0 || this.#whyNothingIsBought().length > 0) return null;
    return this.#timeIn(this.#sentInMs(worker.gate, due - 1));
  }

  #perMinute(): number {
    return Math.round(sum(this.#usableUsage().map(({ spendsPerMinute }) => spendsPerMinute)));
  }

  /**
   * About how many ms after so many others an order is sent: free slots are used at once, the rest comes at the rate of the
   * budget.
   */
  #sentInMs(gate: Pick<BudgetGate, 'nextInMs'>, ahead: number): number {
    const nextMs = gate.nextInMs('spend');
    const ready = this.#usableUsage().filter(({ backOffMs, throttle }) => backOffMs === 0 && throttle === null);
    const free = sum(ready.map(({ orders }) => Math.max(0, orders.capacity - orders.used)));
    return ahead < free ? nextMs : nextMs + (ahead / Math.max(1, this.#perMinute())) * 60_000;
  }

  ofEntry(entry: QueuedEntry): EntryExplanation {
    const { worker, nowMs } = this.#sources;
    const { reference, state } = entry;
    const base = { worker_answers: worker !== null, reference, state, per_minute: this.#perMinute() };
    const settled = whyNothingIsDue(entry);
    if (settled !== null) return { ...base, reasons: [settled], calls_ahead: null, starts_at: null };
    const isLookup = state === 'placed' || entry.nextStep === 'lookup';
    const stopping = isLookup ? this.#whyNothingIsCalled() : this.#whyItIsNotSent(entry);
    const reasons = [
      ...(isLookup ? ['its next call is a lookup, which asks the API what became of it'] : []),
      ...stopping,
      ...(entry.dueAtMs > nowMs && entry.awaitsRecheck === null ? [`it is due at ${isoTime(entry.dueAtMs)}`] : []),
      ...this.#notes(),
    ];
    const ahead = isLookup || worker === null ? null : this.#callsAhead(entry);
    const slotInMs = worker === null ? Infinity : this.#slotInMs(worker.gate, ahead);
    const startMs = Math.max(entry.dueAtMs, nowMs + Math.round(slotInMs));
    if (!isLookup && slotInMs > 0 && Number.isFinite(startMs) && entry.dueAtMs < startMs) {
      reasons.push(this.#whyTheBudgetWaits());
    }
    if (!isLookup && entry.notAfterMs !== null && (startMs > entry.notAfterMs || stopping.length > 0)) {
      reasons.push(`its deadline is ${isoTime(entry.notAfterMs)}; it is not bought after that`);
    }
    const canStart = stopping.length === 0 && Number.isFinite(startMs);
    return { ...base, reasons, calls_ahead: ahead, starts_at: canStart ? isoTime(startMs) : null };
  }

  /** In how many ms it is sent; null ahead: it is looked up. */
  #slotInMs(gate: Pick<BudgetGate, 'nextInMs'>, ahead: number | null): number {
    return ahead === null ? gate.nextInMs('read') : this.#sentInMs(gate, ahead);
  }

  /** Shops take turns, and so do the lanes of a shop. Only the claim knows whose turn is next: here all others come first. */
  #callsAhead({ state, source, lane, before }: QueuedEntry): number {
    const { lanes, unknownOutcomeSends } = this.#facts;
    if (state === 'unknown') return before;
    const { own = [], other = [] } = Object.groupBy(lanes, (it) => (it.source === source ? 'own' : 'other'));
    const turns =
      before + sum(own.map((it) => (it.lane === lane && state === 'pending' ? 0 : Math.min(it.count, before + 1))));
    const shops = [...Map.groupBy(other, (it) => it.source).values()].map((of) => sum(of.map(({ count }) => count)));
    return unknownOutcomeSends + turns + sum(shops.map((count) => Math.min(count, turns + 1)));
  }

  /** The reasons that stop every call, also lookups. */
  #whyNothingIsCalled(): readonly string[] {
    const { freeBytes } = this.#facts;
    const { minFreeBytes = usualSendingReserveBytes } = this.#sources;
    const account = this.#pauses.filter((pause) => pause.scope === 'account').map(pauseText);
    const disk =
      freeBytes < minFreeBytes
        ? [`the disk of the outbox is nearly full: ${freeBytes} bytes are free, ${minFreeBytes} are needed`]
        : [];
    const noKey =
      this.#keys.length > 0 && this.#keys.every((key) => key.view.state === 'paused')
        ? [...this.#keys.flatMap((key) => key.why ?? []), 'every key is paused']
        : [];
    return [...account, ...disk, ...noKey];
  }

  /** The reasons that stop every new purchase. */
  #whyNothingIsBought(): readonly string[] {
    const { outcomeUnknown } = this.#facts;
    const cap = this.#sources.maxUnknownOutcomes;
    const isCapped = outcomeUnknown >= cap;
    const unknown = `the outcome of ${outcomeUnknown} entries is unknown; nothing new is bought while there are ${cap}`;
    return [...this.#whyNothingIsCalled(), ...(isCapped ? [unknown] : [])];
  }

  #whyItIsNotSent(entry: QueuedEntry): readonly string[] {
    // The cap waits for entries with an unknown outcome, so it does not stop them; they hold their eSIM themselves.
    if (entry.state === 'unknown') return [...this.#whyNothingIsCalled(), ...this.#pausesOf(entry)];
    const blocked = entry.blockedBy === null ? [] : [`${entry.blockedBy}, for the same eSIM, comes first`];
    const unclear = this.#isDeadlineUnclear(entry) ? [deadlineUnclear] : [];
    const unread = entry.awaitsRecheck === null ? [] : [recheckText(entry.awaitsRecheck)];
    return [
      ...unread,
      ...this.#whyNothingIsBought(),
      ...this.#pausesOf(entry),
      ...unknownOfProduct(entry, this.#sources.maxUnknownOutcomes),
      ...blocked,
      ...unclear,
    ];
  }

  /** Whether the deadline lies between what this machine's clock and the API's show. */
  #isDeadlineUnclear({ notAfterMs }: QueuedEntry): boolean {
    const present = this.#sources.worker?.present;
    if (present === undefined || notAfterMs === null) return false;
    return present.earliestMs < notAfterMs && notAfterMs <= present.latestMs;
  }

  #pausesOf(entry: QueuedEntry): readonly string[] {
    const { state, lane } = entry;
    if (state !== 'pending' && state !== 'waiting' && state !== 'unknown') return [];
    return this.#facts.pauses
      .filter((pause) => holdUp([pause])({ state, lane }))
      .map((pause) => pauseText(pauseView(pause)));
  }

  /** The facts that slow everything down without stopping it. */
  #notes(): readonly string[] {
    const { worker } = this.#sources;
    if (worker === null) return ['no worker answers: nothing is sent until one runs; start it with `order-sync run`'];
    const { callsInFlight } = this.#facts;
    const isBusy = callsInFlight >= worker.concurrency;
    const busy = `${callsInFlight} calls are in flight, and submit.concurrency allows ${worker.concurrency}`;
    return [...this.#usableKeys().flatMap((key) => key.why ?? []), ...(isBusy ? [busy] : [])];
  }

  #usableKeys(): readonly ExplainedKey[] {
    return this.#keys.filter((key) => key.view.state !== 'paused');
  }

  #usableUsage(): readonly KeyUsage[] {
    const names = this.#usableKeys().map((key) => key.view.name);
    return this.#usage.filter((key) => names.includes(key.keyName));
  }

  #explainKey({ keyName: name, isPaused, backOffMs, throttle, orders, requests }: KeyUsage): ExplainedKey {
    const ready = { name, since: null, until: null, orders_used: orders.used, requests_used: requests.used };
    const pause = this.#pauses.find((it) => it.scope === `key:${name}`);
    if (isPaused || pause !== undefined) {
      const why = pause === undefined ? null : pauseText(pause);
      return { view: { ...ready, state: 'paused', since: pause?.since ?? null }, why };
    }
    const limitedForMs = backOffMs > 0 ? backOffMs : (throttle?.forMs ?? 0);
    if (limitedForMs === 0) return { view: { ...ready, state: 'ready' }, why: null };
    const since = isoTime(this.#facts.rateLimitedAtMs[name] ?? this.#sources.nowMs);
    const until = this.#timeIn(limitedForMs);
    const seconds = ((throttle?.distanceMs ?? 0) / 1000).toFixed(1);
    return backOffMs > 0
      ? {
          view: { ...ready, state: 'backing_off', since, until },
          why: `the key ${name} is backing off until ${until}: the API answered 429 at ${since}`,
        }
      : {
          view: { ...ready, state: 'throttled', since, until },
          why: `the key ${name} is throttled to one call in ${seconds} s until ${until}, because of a 429 at ${since}`,
        };
  }

  /** The use of each limit, over all keys that may be used. */
  #limits(): readonly LimitView[] {
    if (this.#sources.worker === null) return [];
    const usable = this.#usableUsage();
    return (['orders', 'requests'] as const).map((limit) => {
      const freeInMs = Math.min(...usable.map((key) => Math.max(key.backOffMs, key[limit].freeInMs)));
      return {
        limit,
        used: sum(usable.map((key) => key[limit].used)),
        capacity: sum(usable.map((key) => key[limit].capacity)),
        next_free_at: Number.isFinite(freeInMs) ? this.#timeIn(freeInMs) : null,
      };
    });
  }

  #whyTheBudgetWaits(): string {
    const uses = this.#limits().map(({ limit, used, capacity }) => `${used} of ${capacity} ${limit}`);
    const nextMs = this.#sources.worker?.gate.nextInMs('spend') ?? 0;
    return `the budget: ${uses.join(' and ')} are used; the next call can start at ${this.#timeIn(nextMs)}`;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** A product that keeps failing holds up only itself. */
function unknownOfProduct({ lane, unknownOfProduct: count }: QueuedEntry, mostInAll: number): readonly string[] {
  if (count < productUnknownLimit(mostInAll)) return [];
  return [
    `the outcome of ${count} other entries of ${readLane(lane).product} is unknown; nothing new of it is bought until one of them is known`,
  ];
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
      return `a person holds it${why}`;
    default:
      return null;
  }
}
