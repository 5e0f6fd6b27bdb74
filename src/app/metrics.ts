import { runChecks, type HealthCheck } from '../admin/health-server.ts';
import type { GaugeSources } from '../admin/metrics/worker-gauges.ts';
import { WorkerMetrics } from '../admin/metrics/worker-metrics.ts';
import type { Config } from '../config/config.ts';
import { newestBackupMs } from '../store/sqlite/backup.ts';
import type { Store } from '../store/store.ts';
import type { ApiClock } from '../submit/api-clock.ts';
import type { BudgetGate } from '../submit/budget-gate.ts';
import type { WebhookIntake } from '../intake/http/webhook-intake.ts';
import type { ConfigReloader } from './config-reloader.ts';
import { resultSinks } from './result-sinks.ts';
import type { Upkeep } from './upkeep.ts';
import type { CurrentConfig, WorkerDeps } from './worker-deps.ts';

/** What the metrics are read from at each scrape. */
interface MeasuredParts {
  readonly store: Store;
  readonly gate: BudgetGate;
  readonly webhook: WebhookIntake | null;
  readonly apiClock: ApiClock;
  readonly reloader: ConfigReloader | null;
  readonly checks: readonly HealthCheck[];
  readonly upkeep: Upkeep;
  /** Callers that the admin server refused. */
  readonly refusedByAdmin: () => ReadonlyMap<string, number>;
}

/** The metrics of the worker. They count from the start on; `watchParts` tells them what to read at a scrape. */
export function buildMetrics({ version, clock }: WorkerDeps, current: CurrentConfig): WorkerMetrics {
  const metrics = new WorkerMetrics({
    version,
    node: process.version,
    sources: () => configuredSources(current.config),
    clock,
  });
  metrics.events.knowSinks(sinkNames(current.config));
  return metrics;
}

export function watchParts(
  metrics: WorkerMetrics,
  parts: MeasuredParts,
  deps: WorkerDeps,
  current: CurrentConfig,
): void {
  const { store, gate, webhook, apiClock, reloader, checks, upkeep, refusedByAdmin } = parts;
  const sources: GaugeSources = {
    read: store.read,
    pauses: () => store.submission.pauses.all(),
    checks: () => runChecks(checks),
    budget: () => gate.usage().map((usage) => ({ ...usage, rateLimited: gate.rateLimitedTotal(usage.keyName) })),
    sinks: () => {
      const names = sinkNames(current.config);
      metrics.events.knowSinks(names);
      return names;
    },
    disk: async () => ({
      ...(await store.fileSizes()),
      freeBytes: await store.freeBytes(),
      minFreeBytes: current.config.disk.minFreeBytes,
    }),
    clockAheadMs: () => apiClock.read().aheadMs,
    refusedCallers: () => ({
      admin: refusedByAdmin(),
      ...(webhook === null ? {} : { webhook: webhook.refusedCallers }),
    }),
    reload: () => reloader?.last() ?? null,
    upkeep: () => upkeep.results,
    lastBackupMs: () => newestBackupMs(current.config.backup.folder),
    nowMs: () => deps.clock.wallMs(),
  };
  metrics.watch(sources);
}

const sinkNames = (config: Config): readonly string[] => resultSinks(config).map(({ name }) => name);

/** The sources that the configuration names. Files may name any other. */
function configuredSources({ intake: { folder, webhook, shops } }: Config): readonly string[] {
  const callers = webhook?.standardWebhooks ?? [];
  const named = [
    folder.source,
    webhook?.source ?? null,
    ...(webhook?.tokens ?? []).flatMap(({ sources }) => sources),
    ...callers.map(({ source }) => source),
    ...shops.map(({ source }) => source),
  ];
  return [...new Set(named.filter((source) => source !== null))];
}
