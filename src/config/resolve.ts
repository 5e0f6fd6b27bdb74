import { dirname, join, resolve } from 'node:path';
import type { AdminSettings } from '../admin/settings.ts';
import type { WebhookSettings } from '../intake/http/settings.ts';
import type { AlertSettings, ResultsSettings } from '../results/settings.ts';
import { findGroup } from '../ops/system-groups.ts';
import { resolveShops, withAbsolutePaths } from '../storefronts/settings.ts';
import { camelKeys } from '../core/settings/camel-keys.ts';
import { databaseName, type Config } from './config.ts';
import type { ConfigDocument } from './schema.ts';
import type { Secrets } from './secrets.ts';

/** The keys of a token that hold secrets. */
const tokenSecrets = ['value', 'previous_value'] as const;

type WebhookDocument = ConfigDocument['intake']['webhook'];

/** Adds the defaults that depend on other keys and makes paths absolute. `--explain` shows this document. */
export function withDerivedDefaults(document: ConfigDocument, cwd: string) {
  const absolute = (path: string) => resolve(cwd, path);
  const dataDir = absolute(document.data_dir);
  const { inbox: givenInbox, work, archive, rejected, sku_map: skuMap, ...folder } = document.intake.folder;
  const secretFile = absolute(document.reference.secret_file ?? join(dataDir, 'reference.secret'));
  const inbox = absolute(givenInbox ?? join(dataDir, 'inbox'));
  return {
    ...document,
    data_dir: dataDir,
    reference: {
      ...document.reference,
      secret_file: secretFile,
      progress_folder: absolute(document.reference.progress_folder ?? dirname(secretFile)),
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
        ...(skuMap === undefined ? {} : { sku_map: absolute(skuMap) }),
      },
      webhook: withAbsoluteSkuMaps(document.intake.webhook, absolute),
    },
    backup: { ...document.backup, folder: absolute(document.backup.folder ?? join(dataDir, 'backups')) },
    submit: submitDefaults(document),
    wholesale: withAbsoluteCaFile(document.wholesale, absolute),
    results: {
      ...document.results,
      folder: absolute(document.results.folder ?? join(dataDir, 'results')),
      customer: withAbsoluteTemplates(document.results.customer, absolute),
    },
  };
}

function withAbsoluteCaFile(wholesale: ConfigDocument['wholesale'], absolute: (path: string) => string) {
  return wholesale.ca_file === undefined ? wholesale : { ...wholesale, ca_file: absolute(wholesale.ca_file) };
}

/**
 * The budget of every key can be used up while each call takes 10 s: at 20 orders a minute, a key has 3 calls under way
 * then. The rest is for lookups, and for outcomes that are unknown.
 */
function submitDefaults({ submit, wholesale }: ConfigDocument) {
  const concurrency = submit.concurrency ?? 4 + 4 * Math.max(1, wholesale.keys.length);
  return { ...submit, concurrency, max_unknown_outcomes: submit.max_unknown_outcomes ?? concurrency };
}

function withAbsoluteSkuMaps(webhook: WebhookDocument, absolute: (path: string) => string): WebhookDocument {
  if (webhook === undefined) return undefined;
  return withAbsolutePaths(webhook, absolute);
}

type CustomerDocument = ConfigDocument['results']['customer'];

function withAbsoluteTemplates(customer: CustomerDocument, absolute: (path: string) => string): CustomerDocument {
  if (customer?.templates === undefined) return customer;
  return { ...customer, templates: absolute(customer.templates) };
}

export type ResolvedDocument = ReturnType<typeof withDerivedDefaults>;

/**
 * The configuration as the code uses it: keys in camelCase, secrets read.
 * @param ca the content of `wholesale.ca_file`
 */
export function toConfig(document: ResolvedDocument, secrets: Secrets, ca: string | null): Config {
  const { disk, intake, wholesale, results, alerts, upkeep, seal, retention, admin, sandbox, ...others } = document;
  const { webhook } = intake;
  const { columns, currency = null, sku_map: skuMap = null, ...folder } = intake.folder;
  const { base_url, keys, wire, ca_file: _read, ...upstream } = wholesale;
  const baseUrl = base_url.replace(/(?<!\/)\/+$/, '');
  return {
    ...camelKeys(others),
    databasePath: join(document.data_dir, databaseName),
    disk: { minFreeBytes: disk.min_free_bytes, sendingMinFreeBytes: disk.min_free_bytes / 2 },
    intake: {
      folder: { ...camelKeys(folder), columns, currency, skuMap },
      webhook: toWebhookSettings(webhook, secrets),
      shops: webhook === undefined ? [] : resolveShops(webhook, (path) => secrets.get(`intake.webhook.${path}`)),
    },
    wholesale: {
      ...camelKeys(upstream),
      baseUrl,
      ca,
      upstream: wholesale.environment === 'sandbox' ? 'sandbox' : baseUrl,
      keys: keys.map(({ name }, index) => ({ name, value: secrets.get(`wholesale.keys.${index}.value`) ?? '' })),
      wire,
    },
    results: {
      folder: results.folder,
      access: toFileAccess(results),
      keepDays: results.keep_days ?? null,
      callbacks: toCallbacks(results.callbacks, secrets),
      customer: toCustomer(results.customer),
    },
    seal: { keys: seal.keys.map(({ id }, index) => ({ id, value: secrets.get(`seal.keys.${index}.value`) ?? '' })) },
    alerts: toAlerts(alerts, secrets),
    upkeep: {
      backupSchedule: upkeep.backup_schedule === 'off' ? null : upkeep.backup_schedule,
      checkSchedule: upkeep.check_schedule === 'off' ? null : upkeep.check_schedule,
    },
    retention: { codesDays: retention.codes_days ?? null },
    admin: toAdminSettings(admin, secrets),
    sandbox,
  };
}

/** `checkResultsGroup` has found the group before. */
function toFileAccess({ file_mode: mode, group }: ResolvedDocument['results']): ResultsSettings['access'] {
  const gid = group === undefined ? null : findGroup(group);
  return { mode: Number.parseInt(mode ?? (gid === null ? '0600' : '0640'), 8), gid };
}

function toCallbacks(
  callbacks: ResolvedDocument['results']['callbacks'],
  secrets: Secrets,
): ResultsSettings['callbacks'] {
  return callbacks.map(
    ({ name, url, secrets: listed, sources = null, events = null, connect_ms, total_ms }, index) => ({
      name,
      url,
      secrets: listed.map((_, at) => secrets.get(`results.callbacks.${index}.secrets.${at}.value`) ?? ''),
      sources,
      events,
      connectMs: connect_ms,
      totalMs: total_ms,
    }),
  );
}

function toAlerts(alerts: ResolvedDocument['alerts'], secrets: Secrets): readonly AlertSettings[] {
  return alerts.map(({ name, format, secrets: listed, on, interval_min: intervalMin }, index) => ({
    name,
    url: secrets.get(`alerts.${index}.url`) ?? '',
    format,
    secrets: listed.map((_, at) => secrets.get(`alerts.${index}.secrets.${at}.value`) ?? ''),
    on,
    intervalMs: intervalMin * 60_000,
    connectMs: 5000,
    totalMs: 15_000,
  }));
}

function toCustomer(customer: CustomerDocument): ResultsSettings['customer'] {
  if (customer === undefined) return null;
  const { templates = null, qr_png: qrPng, qr_svg: qrSvg } = customer;
  return { templates, qrPng, qrSvg };
}

function toWebhookSettings(webhook: WebhookDocument, secrets: Secrets): WebhookSettings | null {
  if (webhook === undefined) return null;
  const { listen, source, tokens, standard_webhooks, limits } = webhook;
  const secretAt = (path: string): string => secrets.get(`intake.webhook.${path}`) ?? '';
  const callerOf = (entry: { name: string; source?: string | undefined }, secretPath: string) => ({
    name: entry.name,
    secret: secretAt(secretPath),
    source: entry.source ?? null,
  });
  return {
    listen: toListenAddress(listen),
    source,
    tokens: tokens.map(({ name, scopes, sources = [name] }, index) => {
      const values = tokenSecrets.map((key) => secretAt(`tokens.${index}.${key}`));
      return { name, secrets: values.filter((value) => value !== ''), scopes, sources };
    }),
    standardWebhooks: standard_webhooks.map((entry, index) => callerOf(entry, `standard_webhooks.${index}.secret`)),
    limits: camelKeys(limits),
  };
}

function toAdminSettings({ listen, tokens, hosts }: ResolvedDocument['admin'], secrets: Secrets): AdminSettings {
  const secretsAt = (index: number): string[] =>
    tokenSecrets.flatMap((key) => secrets.get(`admin.tokens.${index}.${key}`) ?? []);
  return {
    listen: toListenAddress(listen),
    tokens: tokens.map(({ name, role }, index) => ({ name, role, secrets: secretsAt(index) })),
    hosts,
  };
}

/** Splits `host:port`. An IPv6 host loses its brackets. */
function toListenAddress(text: string): { readonly host: string; readonly port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
