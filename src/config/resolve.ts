import { dirname, join, resolve } from 'node:path';
import { camelKeys } from '../core/settings/schema-values.ts';
import { defaultScanning, type FolderSettings } from '../intake/folder/settings.ts';
import { defaultWebhookLimits, usualSource, type WebhookSettings } from '../intake/http/settings.ts';
import { defaultParseLimits } from '../intake/orders/settings.ts';
import { alertPace, type AlertSettings, callbackTimeouts, type ResultsSettings } from '../results/settings.ts';
import { findGroup } from '../ops/system-groups.ts';
import { resolveShops, withAbsolutePaths } from '../storefronts/settings.ts';
import { defaultSubmitLimits } from '../submit/settings.ts';
import { databaseName } from './layers.ts';
import type { ConfigDocument } from './schema.ts';

/** Adds the defaults that depend on other keys and makes paths absolute. `--explain` shows this document. */
export function withDerivedDefaults(document: ConfigDocument, cwd: string) {
  const { reference, intake, backup, submit, wholesale, results } = document;
  const absolute = (path: string): string => resolve(cwd, path);
  const dataDir = absolute(document.data_dir);
  const within = (name: string, path = join(dataDir, name)): string => absolute(path);
  const secretFile = within('reference.secret', reference.secret_file);
  return {
    ...document,
    data_dir: dataDir,
    reference: {
      ...reference,
      secret_file: secretFile,
      progress_folder: absolute(reference.progress_folder ?? dirname(secretFile)),
    },
    intake: {
      folders: intake.folders.map(({ name, source: named = name, archive, rejected, sku_map: skuMap, ...folder }) => {
        const sources = [named].flat();
        const inbox = within(join(name === 'folder' ? '' : name, 'inbox'), folder.inbox);
        const beside = (part: string): string => join(dirname(inbox), part);
        return {
          ...folder,
          name,
          source: sources[0] ?? name,
          sources,
          inbox,
          archive: absolute(archive ?? beside('archive')),
          rejected: absolute(rejected ?? beside('rejected')),
          sku_map: skuMap && absolute(skuMap),
        };
      }),
      webhook: intake.webhook && withAbsolutePaths(intake.webhook, absolute),
    },
    backup: { ...backup, folder: within('backups', backup.folder) },
    // The budget of every key can be used up while each call takes 10 s: at 20 orders a minute, a key has 3 calls under way
    // then. The rest is for lookups, and for outcomes that are unknown.
    submit: { ...submit, concurrency: submit.concurrency ?? 4 + 4 * Math.max(1, wholesale.keys.length) },
    wholesale: { ...wholesale, ca_file: wholesale.ca_file && absolute(wholesale.ca_file) },
    results: { ...results, folder: within('results', results.folder) },
  };
}

export type ResolvedDocument = ReturnType<typeof withDerivedDefaults>;

/** What a configuration needs beside its document. */
export interface Readings {
  /** By the path of their key. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The content of `wholesale.ca_file`. */
  readonly ca: string | null;
}

/** The configuration as the code uses it: keys in camelCase, secrets read, and what no key sets. */
export function toConfig(document: ResolvedDocument, { secrets, ca }: Readings) {
  const { trial, ...others } = document;
  const { disk, intake, wholesale, submit, results, alerts, upkeep, seal, retention, admin, sandbox } = others;
  const { webhook, folders } = intake;
  const scale = trial.time_scale;
  const { base_url, keys, wire, ca_file: _read, limits, ...upstream } = wholesale;
  const baseUrl = base_url.replace(/(?<!\/)\/+$/, '');
  const secretAt = (path: string): string => secrets.get(path) ?? '';
  return {
    ...camelKeys(others),
    databasePath: join(document.data_dir, databaseName),
    /** With less free space no new orders are taken in, or nothing is sent: every call must be recorded. */
    disk: { minFreeBytes: disk.min_free_bytes, sendingMinFreeBytes: disk.min_free_bytes / 2 },
    intake: {
      folders: folders.map((folder) => {
        return toFolderSettings(folder, { createsInbox: document.init === 'if-missing', ...defaultScanning(scale) });
      }),
      webhook: toWebhookSettings(webhook, secretAt),
      shops: webhook === undefined ? [] : resolveShops(webhook, (path) => secrets.get(`intake.webhook.${path}`), scale),
    },
    wholesale: {
      ...camelKeys(upstream),
      limits: { ...limits, windowMs: trial.window_ms, transitMs: trial.transit_ms },
      baseUrl,
      ca,
      upstream: wholesale.environment === 'sandbox' ? 'sandbox' : baseUrl,
      keys: keys.map(({ name }, index) => ({ name, value: secretAt(`wholesale.keys.${index}.value`) })),
      /** As written: `readWire` checks it. */
      wire,
    },
    submit: {
      ...camelKeys(submit),
      ...defaultSubmitLimits,
      maxUnknownOutcomes: submit.concurrency,
      retryTimeScale: scale,
    },
    results: toResultsSettings(results, { secretAt, scale }),
    seal: { keys: seal.keys.map(({ id }, index) => ({ id, value: secretAt(`seal.keys.${index}.value`) })) },
    alerts: toAlertSettings(alerts, secretAt, scale),
    /** Cron expressions in UTC; null: never. */
    upkeep: {
      backupSchedule: upkeep.backup_schedule === 'off' ? null : upkeep.backup_schedule,
      checkSchedule: upkeep.check_schedule === 'off' ? null : upkeep.check_schedule,
    },
    retention: { codesDays: retention.codes_days ?? null },
    admin: {
      listen: toListenAddress(admin.listen),
      tokens: byName(admin.tokens, 'admin.tokens', secretAt).map(({ name, role, secrets: own }) => {
        return { name, role, secrets: own };
      }),
      hosts: admin.hosts,
      isTrial: wholesale.environment === 'sandbox',
    },
    /** As written. Only the sandbox and the demo read it. */
    sandbox,
  };
}

type SecretAt = (path: string) => string;

function toAlertSettings(alerts: ResolvedDocument['alerts'], secretAt: SecretAt, scale: number): AlertSettings[] {
  return alerts.map(({ name, format, secrets, on }, index) => ({
    name,
    url: secretAt(`alerts.${index}.url`),
    format,
    secrets: secrets.map((_, at) => secretAt(`alerts.${index}.secrets.${at}.value`)),
    on,
    ...alertPace(scale),
  }));
}

const gidOf = (group: string | undefined): number | null => (group === undefined ? null : findGroup(group));

function toFolderSettings(
  folder: ResolvedDocument['intake']['folders'][number],
  given: Pick<FolderSettings, 'createsInbox'> & ReturnType<typeof defaultScanning>,
): FolderSettings {
  const { group, currency = null, sku_map: skuMap = null, allow_mangled_ids: allowMangledIds, ...others } = folder;
  return {
    ...others,
    ...given,
    gid: gidOf(group),
    // Beside the inbox: the worker claims a file by renaming it, and a rename cannot cross mounts.
    work: join(dirname(others.inbox), 'work'),
    currency,
    skuMap,
    allowMangledIds,
    limits: defaultParseLimits,
  };
}

function toResultsSettings(
  results: ResolvedDocument['results'],
  { secretAt, scale }: { secretAt: SecretAt; scale: number },
): ResultsSettings {
  const gid = gidOf(results.group);
  return {
    folder: results.folder,
    access: { mode: gid === null ? 0o600 : 0o640, gid },
    keepDays: results.keep_days ?? null,
    callbacks: results.callbacks.map(({ name, url, secrets, sources = null, events = null }, index) => ({
      name,
      url,
      secrets: secrets.map((_, at) => secretAt(`results.callbacks.${index}.secrets.${at}.value`)),
      sources,
      events,
      ...callbackTimeouts(scale),
    })),
  };
}

function toWebhookSettings(webhook: ResolvedDocument['intake']['webhook'], secretAt: SecretAt): WebhookSettings | null {
  if (webhook === undefined) return null;
  const { listen, tokens, standard_webhooks: signers, limits } = webhook;
  const at = 'intake.webhook';
  return {
    listen: toListenAddress(listen),
    source: usualSource,
    tokens: byName(tokens, `${at}.tokens`, secretAt).map(({ name, scopes, sources = [name], secrets }) => {
      return { name, secrets, scopes, sources };
    }),
    standardWebhooks: signers.map(({ name, source = null }, index) => {
      return { name, secret: secretAt(`${at}.standard_webhooks.${index}.secret`), source };
    }),
    limits: {
      ...defaultWebhookLimits,
      bodyBytes: limits.body_bytes,
      requestsPerMinute: limits.requests_per_minute,
      burst: Math.ceil(limits.requests_per_minute / 6),
    },
  };
}

/** Tokens with all their secrets: those of one name are the old and the new one of a rotation. */
function byName<Token extends { readonly name: string }>(
  tokens: readonly Token[],
  path: string,
  secretAt: SecretAt,
): readonly (Token & { readonly secrets: readonly string[] })[] {
  const found = new Map<string, Token & { secrets: string[] }>();
  for (const [index, token] of tokens.entries()) {
    const entry = found.get(token.name) ?? { ...token, secrets: [] };
    entry.secrets.push(secretAt(`${path}.${index}.value`));
    found.set(token.name, entry);
  }
  return [...found.values()];
}

/** Splits `host:port`. An IPv6 host loses its brackets. */
function toListenAddress(text: string): { readonly host: string; readonly port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
