import { dirname, join, resolve } from 'node:path';
import type { ResultsSettings } from '../results/settings.ts';
import type { Config } from './config.ts';
import { toListenAddress } from './listen-address.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';
import { toReadBack } from './resolve-read-back.ts';
import { toWebhookConfig, withAbsoluteSkuMaps } from './resolve-webhook.ts';

/** The document with the defaults that depend on other keys; paths are absolute. This is what `--explain` shows. */
export function withDerivedDefaults(document: ConfigDocument, cwd: string) {
  const absolute = (path: string) => resolve(cwd, path);
  const dataDir = absolute(document.data_dir);
  const { inbox: written, work, archive, rejected, ...folder } = document.intake.folder;
  const inbox = absolute(written ?? join(dataDir, 'inbox'));
  return {
    ...document,
    data_dir: dataDir,
    reference: {
      ...document.reference,
      secret_file: absolute(document.reference.secret_file ?? join(dataDir, 'reference.secret')),
    },
    intake: {
      ...document.intake,
      folder: {
        inbox,
        // Beside the inbox, because a claim is a rename and a rename does not cross mounts.
        work: absolute(work ?? join(dirname(inbox), 'work')),
        archive: absolute(archive ?? join(dataDir, 'archive')),
        rejected: absolute(rejected ?? join(dataDir, 'rejected')),
        ...folder,
      },
      webhook: withAbsoluteSkuMaps(document.intake.webhook, absolute),
    },
    results: { ...document.results, folder: absolute(document.results.folder ?? join(dataDir, 'results')) },
  };
}

export type ResolvedDocument = ReturnType<typeof withDerivedDefaults>;

/** From the words of the file to the words of the code. */
export function toConfig(document: ResolvedDocument, secrets: Secrets): Config {
  const { intake, wholesale, submit } = document;
  const { folder } = intake;
  const baseUrl = wholesale.base_url.replace(/\/+$/, '');
  return {
    instance: document.instance,
    dataDir: document.data_dir,
    databasePath: join(document.data_dir, 'order-sync.db'),
    init: document.init,
    reference: { prefix: document.reference.prefix, secretFile: document.reference.secret_file },
    intake: {
      folder: {
        inbox: folder.inbox,
        work: folder.work,
        archive: folder.archive,
        rejected: folder.rejected,
        scanIntervalMs: folder.scan_interval_ms,
        stableObservations: folder.stable_observations,
        stableMs: folder.stable_ms,
        ready: folder.ready,
        source: folder.source,
        columns: folder.columns,
        limits: {
          documentBytes: folder.limits.document_bytes,
          jsonBytes: folder.limits.json_bytes,
          rows: folder.limits.rows,
          rowBytes: folder.limits.row_bytes,
          orderBytes: folder.limits.order_bytes,
          depth: folder.limits.depth,
          minFreeBytes: folder.limits.min_free_bytes,
        },
      },
      webhook: toWebhookConfig(intake.webhook, secrets),
      readBack: toReadBack(intake.webhook, secrets),
    },
    wholesale: {
      environment: wholesale.environment,
      baseUrl,
      upstream: wholesale.environment === 'sandbox' ? 'sandbox' : baseUrl,
      keys: wholesale.keys.map((key, index) => ({
        name: key.name,
        value: secrets.get(`wholesale.keys.${index}.value`) ?? '',
      })),
      limits: {
        windowMs: wholesale.limits.window_ms,
        requests: wholesale.limits.requests,
        orders: wholesale.limits.orders,
        transitMs: wholesale.limits.transit_ms,
      },
      timeouts: {
        connectMs: wholesale.timeouts.connect_ms,
        responseMs: wholesale.timeouts.response_ms,
        totalMs: wholesale.timeouts.total_ms,
      },
      wire: wholesale.wire,
    },
    submit: {
      concurrency: submit.concurrency,
      maxUnknownOutcomes: submit.max_unknown_outcomes,
      settlementDelayMs: submit.settlement_delay_ms,
      referenceExpiryMs: submit.reference_expiry_ms,
      placedDeadlineMs: submit.placed_deadline_ms,
      cancelTries: submit.cancel_tries,
      retryTimeScale: submit.retry_time_scale,
    },
    results: { folder: document.results.folder, callback: toCallback(document, secrets) },
    admin: { listen: toListenAddress(document.admin.listen) },
    log: document.log,
    shutdown: { graceMs: document.shutdown.grace_ms },
    sandbox: document.sandbox,
  };
}

function toCallback({ results }: ResolvedDocument, secrets: Secrets): ResultsSettings['callback'] {
  if (results.callback === undefined) return null;
  const { url, connect_ms: connectMs, total_ms: totalMs } = results.callback;
  return { url, secret: secrets.get('results.callback.secret') ?? '', connectMs, totalMs };
}
