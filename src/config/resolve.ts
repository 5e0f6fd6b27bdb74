import { dirname, join, resolve } from 'node:path';
import type { Config, ListenAddress, WebhookIntakeConfig } from './config.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';

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
        transitAllowanceMs: wholesale.limits.transit_allowance_ms,
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
      exposureCap: submit.exposure_cap,
      quietMs: submit.quiet_ms,
      horizonMs: submit.horizon_ms,
      placedDeadlineMs: submit.placed_deadline_ms,
      cancelTries: submit.cancel_tries,
      retryTimeScale: submit.retry_time_scale,
    },
    results: { folder: document.results.folder },
    admin: { listen: toListenAddress(document.admin.listen) },
    log: document.log,
    shutdown: { graceMs: document.shutdown.grace_ms },
    sandbox: document.sandbox,
  };
}

function toWebhookConfig(webhook: ResolvedDocument['intake']['webhook'], secrets: Secrets): WebhookIntakeConfig | null {
  if (webhook === undefined) return null;
  const { limits } = webhook;
  const callerAt = (
    list: string,
    index: number,
    key: string,
    entry: { name: string; source?: string | undefined },
  ) => ({
    name: entry.name,
    secret: secrets.get(`intake.webhook.${list}.${index}.${key}`) ?? '',
    source: entry.source ?? null,
  });
  return {
    listen: toListenAddress(webhook.listen),
    source: webhook.source,
    tokens: webhook.tokens.map((token, index) => callerAt('tokens', index, 'value', token)),
    standardWebhooks: webhook.standard_webhooks.map((entry, index) =>
      callerAt('standard_webhooks', index, 'secret', entry),
    ),
    hmac: webhook.hmac.map((entry, index) => {
      const { header, encoding, prefix } = entry;
      return { ...callerAt('hmac', index, 'secret', entry), header, encoding, prefix };
    }),
    limits: {
      bodyBytes: limits.body_bytes,
      batchLines: limits.batch_lines,
      depth: limits.depth,
      requestsPerMinute: limits.requests_per_minute,
      burst: limits.burst,
      uncommitted: limits.uncommitted,
      connections: limits.connections,
      headersMs: limits.headers_ms,
      requestMs: limits.request_ms,
      waitS: limits.wait_s,
      waiting: limits.waiting,
    },
  };
}

function toListenAddress(text: string): ListenAddress {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
