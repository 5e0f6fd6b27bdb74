import type { ClockReading } from '../core/time/api-time.ts';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { CheckStatus, HealthCheck } from './health-server.ts';
import { keptAnswer } from './kept-answer.ts';

/** How old the counts of the attention list may be, in ms. */
const countsKeptForMs = 1000;

/** The parts that are checked. */
interface CheckedParts {
  readonly store: Store;
  readonly progress: { health(): CheckStatus };
  readonly intake: { status(): { readonly degraded: string | null } };
  readonly webhook: { health(): CheckStatus } | null;
  readonly reloader: { health(): CheckStatus } | null;
  readonly apiClock: { read(): ClockReading };
  readonly clock: Pick<Clock, 'monoMs'>;
}

/** The checks of `/healthz`. Only what keeps the worker from accepting and recording orders makes it unready. */
export function healthChecks(parts: CheckedParts): HealthCheck[] {
  const { store, progress, intake, webhook, reloader, apiClock } = parts;
  const attention = keptAnswer(() => store.read.attentionCounts(), countsKeptForMs, parts.clock);
  const database = async (): Promise<CheckStatus> => {
    await store.checkHealth();
    return 'pass';
  };
  return [
    { name: 'database', readiness: true, check: database },
    // Whether an older copy of the database would be noticed at the next start.
    { name: 'progress_file', readiness: false, check: () => progress.health() },
    { name: 'folder', readiness: false, check: () => (intake.status().degraded === null ? 'pass' : 'fail') },
    ...(webhook === null ? [] : [{ name: 'webhook', readiness: true, check: () => webhook.health() }]),
    {
      name: 'submission',
      readiness: false,
      check: async () => ((await store.submission.pauses.all()).length === 0 ? 'pass' : 'warn'),
    },
    // How many rows of the attention list there are, by kind: what they say is for those who may read the outbox.
    {
      name: 'attention',
      readiness: false,
      check: () => (Object.keys(attention()).length === 0 ? 'pass' : 'warn'),
      details: () => (Object.keys(attention()).length === 0 ? null : attention()),
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
    ...(reloader === null ? [] : [{ name: 'config', readiness: false, check: () => reloader.health() }]),
  ];
}
