import type { ClockReading } from '../core/time/wall-clock.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { totalOf } from '../core/counts.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';
import type { ReadOnlyStore, Store } from '../store/store.ts';
import type { CheckStatus, HealthCheck } from './health-server.ts';
import { keptAnswer } from './kept-answer.ts';

/** How old an answer that counts may be, in ms. */
const keptForMs = 1000;
/** So many rows of the attention list are counted: the worker does nothing else meanwhile. */
const mostCounted = 10_000;
const shownPauses = 50;

interface CheckedParts {
  readonly store: ReadOnlyStore & { readonly sealing: Pick<Store['sealing'], 'sealsWith'> };
  readonly disk: { hasSpace(): Promise<boolean> };
  readonly progress: { health(): CheckStatus };
  readonly folders: readonly {
    status(): { readonly name: string; readonly degraded: string | null };
  }[];
  readonly webhook: {
    health(): CheckStatus;
    details(): Readonly<Record<string, unknown>> | null;
  } | null;
  readonly submission: { readonly apiClock: { read(): ClockReading } };
}

const inClear = {
  reason: 'delivered codes are stored unencrypted, because there is no sealing key',
  next: 'make a key with `openssl rand -base64 32`, put it into seal.keys, and restart the worker: docs/sealing.md',
};

const unproven = {
  reason:
    'no lookup has found an order yet, so refused orders and orders without an answer need review',
  next: 'buy an order and run `order-sync doctor`; if no lookup finds the order, correct wholesale.wire.lookup',
};

const warnIf = (isTrouble: boolean): CheckStatus => (isTrouble ? 'warn' : 'pass');

/**
 * The checks of `/healthz`. Only what keeps the worker from accepting and recording orders makes it
 * unready.
 */
export function healthChecks(
  { store, disk, progress, folders, webhook, submission: { apiClock } }: CheckedParts,
  reloader: { health(): CheckStatus } | null,
  { clock, isSandbox }: { readonly clock: Pick<Clock, 'steadyMs'>; readonly isSandbox: boolean },
): HealthCheck[] {
  const { read } = store;
  // The codes of a sandbox can be used by nobody.
  const isClear = store.sealing.sealsWith === null && !isSandbox;
  const attention = keptAnswer(() => attentionCounts(read), keptForMs, clock);
  const sinks = keptAnswer(() => pausedSinks(read), keptForMs, clock);
  const database = async (): Promise<CheckStatus> =>
    (await store.checkHealth()) === null ? 'pass' : 'fail';
  const clockDetails = () => {
    const { verdict, aheadMs } = apiClock.read();
    return verdict === 'unknown' || aheadMs === null ? null : { ahead_ms: aheadMs };
  };
  const submission = () => warnIf(read.openPauses().length > 0);
  return [
    { name: 'database', readiness: true, check: database },
    // Whether the disk of the outbox has space for new orders.
    {
      name: 'disk',
      readiness: true,
      check: async () => ((await disk.hasSpace()) ? 'pass' : 'fail'),
    },
    // Whether an older copy of the database would be noticed at the next start.
    { name: 'progress_file', check: () => progress.health() },
    ...folders.map((folder): HealthCheck => {
      const check = () => (folder.status().degraded === null ? 'pass' : 'fail');
      return { name: `folder:${folder.status().name}`, check };
    }),
    ...(webhook === null
      ? []
      : [
          {
            name: 'webhook',
            readiness: true,
            check: () => webhook.health(),
            details: () => webhook.details(),
          },
        ]),
    { name: 'submission', check: submission },
    lookupCheck(read, clock),
    // The number of rows of the attention list, by kind. Their texts are only for people who may
    // read the outbox.
    { name: 'attention', check: () => warnIf(attention() !== null), details: attention },
    {
      name: 'clock',
      check: () => warnIf(apiClock.read().verdict === 'wrong'),
      details: clockDetails,
    },
    { name: 'sealing', check: () => warnIf(isClear), details: () => (isClear ? inClear : null) },
    { name: 'results', check: () => warnIf(sinks() !== null), details: sinks },
    ...(reloader === null ? [] : [{ name: 'config', check: () => reloader.health() }]),
  ];
}

/** Whether a lookup can tell what became of a call. Before the first purchase nobody knows. */
function lookupCheck(read: OutboxReader, clock: Pick<Clock, 'steadyMs'>): HealthCheck {
  const missed = keptAnswer(() => missedLookup(read), keptForMs, clock);
  return {
    name: 'lookups',
    check: () => warnIf(missed() !== null),
    details: () => missed() ?? (read.isAnyLookupProven() ? null : unproven),
  };
}

/** Without the reference: anybody may read the health. */
function missedLookup(read: OutboxReader): Readonly<Record<string, unknown>> | null {
  const [row] = read.attention(1, { kind: 'lookup' });
  if (row === undefined) return null;
  return { reason: 'a lookup does not find an order that was bought', next: row.whatToDo };
}

/** Null when the list is empty; `more`: there are others that were not counted. */
function attentionCounts(read: OutboxReader): Readonly<Record<string, unknown>> | null {
  const counts = read.attentionCounts({}, mostCounted + 1);
  const counted = totalOf(counts);
  if (counted === 0) return null;
  return counted > mostCounted ? { ...counts, more: true } : counts;
}

/**
 * The sinks that take no results at the moment, by name; null: there is none. Their messages may
 * have what others wrote.
 */
function pausedSinks(read: OutboxReader): Readonly<Record<string, unknown>> | null {
  const paused = read.sinkPauses();
  if (paused.length === 0) return null;
  return Object.fromEntries(
    paused.map(({ sink, reason, sinceMs, waiting }) => [
      sink,
      { reason, since: isoTime(sinceMs), waiting },
    ]),
  );
}

/** Shows the pauses that hold up the most. An answer may be a second old. */
export const pausesShown = (read: Pick<OutboxReader, 'pauses'>, clock: Pick<Clock, 'steadyMs'>) =>
  keptAnswer(() => shownOf(read), keptForMs, clock);

/** Without their messages, which may have what the API wrote. */
function shownOf(read: Pick<OutboxReader, 'pauses'>) {
  const all = read.pauses();
  const first = all
    .toSorted((a, b) => b.holdsUp - a.holdsUp || a.sinceMs - b.sinceMs)
    .slice(0, shownPauses);
  const pauses = first.map(({ scope, reason, sinceMs, holdsUp }) => {
    return { scope, reason, since: isoTime(sinceMs), holds_up: holdsUp };
  });
  return { pauses, pauses_not_shown: all.length - first.length };
}
