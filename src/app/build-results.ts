import { mkdirSync } from 'node:fs';
import { readable, runChecks, type HealthCheck } from '../admin/health-server.ts';
import type { Config } from '../config/config.ts';
import { checkReason } from '../core/operator/health-reasons.ts';
import { readArchivedCsv } from '../intake/folder/archived-csv.ts';
import { AlertLoop } from '../results/alerts/alert-loop.ts';
import type { Trouble } from '../results/alerts/conditions.ts';
import { callbackSink } from '../results/callback-sink.ts';
import { CsvSink, type ReadOriginal } from '../results/csv-results.ts';
import type { FileSink, Sink } from '../results/delivery-loop.ts';
import { folderSink, ResultFolder } from '../results/result-folder.ts';
import { WriteBack } from '../results/write-back.ts';
import type { ShopConnections } from '../storefronts/shop-connections.ts';
import { ShopWriteBack, writeBackName } from '../storefronts/write-back.ts';
import type { Store } from '../store/store.ts';
import { writtenShops } from './open-outbox.ts';
import type { BuiltResults, CurrentConfig, PartDeps, WorkerDeps } from './worker-deps.ts';

export function buildResults(
  deps: PartDeps,
  store: Store,
  current: CurrentConfig,
  connections: ShopConnections,
): BuiltResults {
  const { config, clock, random, version } = deps;
  const { folder, access } = config.results;
  const { retryTimeScale } = config.submit;
  const logger = deps.logger.child({ component: 'results' });
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  const resultFolder = new ResultFolder(folder, access);
  const files = folderSink(resultFolder);
  const { folders } = config.intake;
  const readOriginal: ReadOriginal = (file, use) => {
    const { archive = null } = folders.find(({ name }) => name === file.folder) ?? {};
    return readArchivedCsv(archive, file, use);
  };
  const csv = new CsvSink({ store, clock, folder: resultFolder, readOriginal });
  const sinksOf = ({ results, intake }: Config): readonly (Sink | FileSink)[] => [
    files,
    csv,
    ...results.callbacks.map((given) => {
      const receiver = () =>
        current.config.results.callbacks.find(({ name }) => name === given.name) ?? given;
      return callbackSink({ endpoint: given.name, receiver, clock, version, retryTimeScale });
    }),
    ...writtenShops(intake.shops).map((given) => {
      const name = writeBackName(given);
      const shop = () =>
        current.config.intake.shops.find((other) => writeBackName(other) === name) ?? null;
      return new ShopWriteBack(name, {
        shop,
        store: store.storefronts,
        connections,
        clock,
        logger,
        retryTimeScale,
      });
    }),
  ];
  const { events } = deps.metrics;
  const onDeliveryEnded = events.deliveryEnded.bind(events);
  const deliveries = new WriteBack(
    { store, clock, random, logger, onDeliveryEnded },
    sinksOf(config),
  );
  return { deliveries, resultFolder, sinksOf };
}

export async function buildAlerts(
  { config, clock, random, version, logger: parent }: WorkerDeps,
  store: Store,
  checks: readonly HealthCheck[],
  current: CurrentConfig,
): Promise<readonly AlertLoop[]> {
  const { instance, alerts } = config;
  const pagesUrl = () => current.config.admin.hosts.map((host) => `https://${host}`)[0] ?? null;
  await store.alerts.keep(alerts.map(({ name }) => name));
  const logger = parent.child({ component: 'alerts' });
  const troubles = () => troublesOf(checks);
  const deps = { store, clock, random, logger, version, instance, pagesUrl, troubles };
  return alerts.map((settings) => new AlertLoop(settings, deps));
}

/** The lists have the rows behind these warnings, and codes in clear are no news. */
const shownByRows = new Set(['submission', 'attention', 'results', 'sealing', 'lookups']);

/** The checks that people are told about, with what to do first. */
export async function troublesOf(checks: readonly HealthCheck[]): Promise<readonly Trouble[]> {
  const results = await runChecks(checks);
  return checks.flatMap(({ name, details }) => {
    const status = results[name] ?? 'fail';
    const known = { ...readable(details) };
    // Anybody may call the webhook: refused callers are in health only.
    const isElsewhere = shownByRows.has(name) || (name === 'webhook' && !('reason' in known));
    if (status === 'pass' || (status === 'warn' && isElsewhere)) return [];
    return [{ check: name, isFailed: status === 'fail', text: checkReason(name, status, known) }];
  });
}
