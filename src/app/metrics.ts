import { WorkerMetrics } from '../admin/metrics/worker-metrics.ts';
import { usualSource } from '../intake/http/settings.ts';
import type { Config } from '../config/config.ts';
import type { Admin, AdminDeps } from './admin.ts';
import { resultSinks } from './open-outbox.ts';
import type { Upkeep } from './upkeep.ts';
import type { CurrentConfig, PartDeps, WorkerDeps, WorkerParts } from './worker-deps.ts';

/**
 * The metrics of the worker. They count from the start on; `watchParts` tells them what to read at
 * a scrape.
 */
export function buildMetrics(
  { version, clock }: Pick<WorkerDeps, 'version' | 'clock'>,
  current: CurrentConfig,
): WorkerMetrics {
  const sources = () => configuredSources(current.config);
  const metrics = new WorkerMetrics({ version, node: process.version, sources, clock });
  metrics.events.knowSinks(sinkNames(current.config));
  return metrics;
}

export function watchParts(
  { metrics, clock }: PartDeps,
  { store, submission, webhook }: WorkerParts,
  { admin, ...own }: Pick<AdminDeps, 'reloader' | 'checks'> & { upkeep: Upkeep; admin: Admin },
  current: CurrentConfig,
): void {
  metrics.watch({
    ...submission,
    ...own,
    store,
    clock,
    config: () => current.config,
    sinks: () => {
      const names = sinkNames(current.config);
      metrics.events.knowSinks(names);
      return names;
    },
    listeners: () => (webhook === null ? { admin } : { admin, webhook }),
  });
}

const sinkNames = (config: Config): readonly string[] =>
  resultSinks(config).map(({ name }) => name);

/** The sources that the configuration names. JSON files may name any other. */
function configuredSources({ intake: { folders, webhook, shops } }: Config): readonly string[] {
  const { tokens, standardWebhooks } = webhook ?? { tokens: [], standardWebhooks: [] };
  const bound = [...standardWebhooks, ...shops].map((caller) => caller.source);
  const named = [
    webhook === null ? null : usualSource,
    ...bound,
    ...[...folders, ...tokens].flatMap(({ sources }) => sources),
  ];
  return [...new Set(named.filter((name) => name !== null))];
}
