import { dirname, join, resolve } from 'node:path';
import type { ResultsSettings } from '../results/settings.ts';
import { camelKeys } from './camel-keys.ts';
import type { Config } from './config.ts';
import { toListenAddress } from './listen-address.ts';
import { resolveShops } from '../storefronts/settings.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';
import { toWebhookConfig, withAbsoluteSkuMaps } from './resolve-webhook.ts';

/** Adds the defaults that depend on other keys and makes paths absolute. `--explain` shows this document. */
export function withDerivedDefaults(document: ConfigDocument, cwd: string) {
  const absolute = (path: string) => resolve(cwd, path);
  const dataDir = absolute(document.data_dir);
  const { inbox: givenInbox, work, archive, rejected, ...folder } = document.intake.folder;
  const inbox = absolute(givenInbox ?? join(dataDir, 'inbox'));
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
        // Beside the inbox: the worker claims a file by renaming it, and a rename cannot cross mounts.
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

/** The configuration as the code uses it: keys in camelCase, secrets read. */
export function toConfig(document: ResolvedDocument, secrets: Secrets): Config {
  const { intake, wholesale, results, admin, sandbox, ...others } = document;
  const { webhook } = intake;
  const { columns, ...folder } = intake.folder;
  const { base_url, keys, wire, ...upstream } = wholesale;
  const baseUrl = base_url.replace(/\/+$/, '');
  return {
    ...camelKeys(others),
    databasePath: join(document.data_dir, 'order-sync.db'),
    intake: {
      folder: { ...camelKeys(folder), columns },
      webhook: toWebhookConfig(webhook, secrets),
      shops: webhook === undefined ? [] : resolveShops(webhook, (path) => secrets.get(`intake.webhook.${path}`)),
    },
    wholesale: {
      ...camelKeys(upstream),
      baseUrl,
      upstream: wholesale.environment === 'sandbox' ? 'sandbox' : baseUrl,
      keys: keys.map(({ name }, index) => ({ name, value: secrets.get(`wholesale.keys.${index}.value`) ?? '' })),
      wire,
    },
    results: { folder: results.folder, callback: toCallback(results.callback, secrets) },
    admin: { listen: toListenAddress(admin.listen) },
    sandbox,
  };
}

function toCallback(callback: ResolvedDocument['results']['callback'], secrets: Secrets): ResultsSettings['callback'] {
  if (callback === undefined) return null;
  const { url, connect_ms: connectMs, total_ms: totalMs } = callback;
  return { url, secret: secrets.get('results.callback.secret') ?? '', connectMs, totalMs };
}
