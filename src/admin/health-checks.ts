import type { ClockReading } from '../core/time/wall-clock.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { CheckStatus, HealthCheck } from './health-server.ts';
import { keptAnswer } from './kept-answer.ts';

/** How old the counts of the attention list may be, in ms. */
const countsKeptForMs = 1000;
/** So many rows of the attention list are counted: the worker does nothing else meanwhile. */
const mostCounted = 10_000;

/** The parts that are checked. */
interface CheckedParts {
  readonly store: Store;
  readonly disk: { hasSpace(): Promise<boolean> };
  readonly progress: { health(): CheckStatus };
  readonly folder: { status(): { readonly degraded: string | null } };
  readonly webhook: { health(): CheckStatus; details(): Readonly<Record<string, unknown>> | null } | null;
  readonly submission: { readonly apiClock: { read(): ClockReading } };
}

const inClear = {
  reason: 'delivered codes are stored in clear: there is no sealing key',
  next: 'make one with `order-sync seal new-key`, put it into seal.keys, and restart the worker: docs/sealing.md',
};

/** The checks of `/healthz`. Only what keeps the worker from accepting and recording orders makes it unready. */
export function healthChecks(
  { store, disk, progress, folder, webhook, submission: { apiClock } }: CheckedParts,
  reloader: { health(): CheckStatus } | null,
  { clock, isSandbox }: { readonly clock: Pick<Clock, 'monoMs'>; readonly isSandbox: boolean },
): HealthCheck[] {
  // The codes of a sandbox can be used by nobody.
  const isClear = store.sealing.sealsWith === null && !isSandbox;
  const attention = keptAnswer(() => shownCounts(store), countsKeptForMs, clock);
  const pausedSinks = keptAnswer(() => shownSinks(store), countsKeptForMs, clock);
  const database = async (): Promise<CheckStatus> => {
    await store.checkHealth();
    return 'pass';
  };
  return [
    { name: 'database', readiness: true, check: database },
    // Whether the disk of the outbox has space for new orders.
    { name: 'disk', readiness: true, check: async () => ((await disk.hasSpace()) ? 'pass' : 'fail') },
    // Whether an older copy of the database would be noticed at the next start.
    { name: 'progress_file', readiness: false, check: () => progress.health() },
    { name: 'folder', readiness: false, check: () => (folder.status().degraded === null ? 'pass' : 'fail') },
    ...(webhook === null
      ? []
      : [{ name: 'webhook', readiness: true, check: () => webhook.health(), details: () => webhook.details() }]),
    {
      name: 'submission',
      readiness: false,
      check: async () => ((await store.submission.pauses.all()).length === 0 ? 'pass' : 'warn'),
    },
    // The number of rows of the attention list, by kind. Their texts are only for people who may read the outbox.
    {
      name: 'attention',
      readiness: false,
      check: () => (attention() === null ? 'pass' : 'warn'),
      details: attention,
    },
    {
      name: 'clock',
      readiness: false,
      check: () => (apiClock.read().verdict === 'wrong' ? 'warn' : 'pass'),
      details: () => {
        const { verdict, aheadMs } = apiClock.read();
        return verdict === 'unknown' || aheadMs === null ? null : { ahead_ms: aheadMs };
      },
    },
    {
      name: 'sealing',
      readiness: false,
      check: () => (isClear ? 'warn' : 'pass'),
      details: () => (isClear ? inClear : null),
    },
    {
      name: 'results',
      readiness: false,
      check: () => (pausedSinks() === null ? 'pass' : 'warn'),
      details: pausedSinks,
    },
    ...(reloader === null ? [] : [{ name: 'config', readiness: false, check: () => reloader.health() }]),
  ];
}

/** Null when the list is empty; `more`: there are others that were not counted. */
function shownCounts({ read }: Store): Readonly<Record<string, unknown>> | null {
  const counts = read.attentionCounts({}, mostCounted + 1);
  const counted = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (counted === 0) return null;
  return counted > mostCounted ? { ...counts, more: true } : counts;
}

/** The sinks that take no results at the moment, by name; null: there is none. Their messages may have what others wrote. */
function shownSinks({ read }: Store): Readonly<Record<string, unknown>> | null {
  const paused = read.sinkPauses();
  if (paused.length === 0) return null;
  return Object.fromEntries(
    paused.map(({ sink, reason, sinceMs, waiting }) => [sink, { reason, since: isoTime(sinceMs), waiting }]),
  );
}
