import { dirname, join, resolve } from 'node:path';
import type { z } from 'zod';
import { defaultScanning } from '../intake/folder/settings.ts';
import { alertPace, callbackTimeouts } from '../results/settings.ts';
import { shopsOf } from '../storefronts/settings.ts';
import { defaultSubmitLimits } from '../buying/decision/settings.ts';
import { databaseName } from './layers.ts';
import { schemaTree, type SchemaNode } from './schema-tree.ts';
import { configSchema } from './schema.ts';
import { type Branch, type ConfigPath, isBranch, valueAt } from './section-check.ts';

/**
 * The tree with every default, and with absolute paths. `--explain` shows it. A mistake in it stays
 * as it is.
 */
export type ConfigDocument = Branch;

export function completeDocument(tree: unknown, cwd: string): ConfigDocument {
  const document: ConfigDocument = { ...asBranch(completed(schemaTree, tree, cwd)) };
  const usual = (path: ConfigPath, value: string | number): string => {
    const section = valueAt(document, path.slice(0, -1));
    const key = path.at(-1) ?? '';
    if (isBranch(section) && section[key] === undefined) section[key] = value;
    return String(valueAt(document, path));
  };
  const dataDir = String(document['data_dir']);
  const secretFile = usual(['reference', 'secret_file'], join(dataDir, 'reference.secret'));
  usual(['reference', 'progress_folder'], dirname(secretFile));
  usual(['backup', 'folder'], join(dataDir, 'backups'));
  usual(['results', 'folder'], join(dataDir, 'results'));
  // The budget of every key can be used up while each call takes 10 s: at 20 orders a minute, a key
  // has 3 calls under way then. The rest is for lookups, and for outcomes that are unknown.
  usual(
    ['submit', 'concurrency'],
    4 + 4 * Math.max(1, listAt(document, ['wholesale', 'keys']).length),
  );
  for (const index of listAt(document, ['intake', 'folders']).keys()) {
    const at = ['intake', 'folders', index];
    const name = String(valueAt(document, [...at, 'name']));
    usual([...at, 'source'], name);
    const inbox = usual([...at, 'inbox'], join(dataDir, name === 'folder' ? '' : name, 'inbox'));
    for (const beside of ['archive', 'rejected'])
      usual([...at, beside], join(dirname(inbox), beside));
  }
  return document;
}

function completed(node: SchemaNode, value: unknown, cwd: string): unknown {
  const given = value === undefined ? node.default : value;
  if (node.path === true && typeof given === 'string' && given !== '') return resolve(cwd, given);
  const { items, properties } = node;
  if (Array.isArray(given))
    return items === undefined ? given : given.map((entry) => completed(items, entry, cwd));
  if (!isBranch(given) || properties === undefined) return given;
  const keys = new Set([...Object.keys(properties), ...Object.keys(given)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, completed(properties[key] ?? {}, valueAt(given, [key]), cwd)]),
  );
}

const asBranch = (value: unknown): Branch => (isBranch(value) ? value : {});

function listAt(document: ConfigDocument, path: ConfigPath): readonly unknown[] {
  const list = valueAt(document, path);
  return Array.isArray(list) ? list : [];
}

/** What was read from files and variables, by the path of its key: secrets, and certificates. */
export type Readings = ReadonlyMap<string, string>;

export function parseDocument(document: ConfigDocument, readings: Readings) {
  const full = structuredClone(document);
  for (const [path, text] of readings) {
    const segments = path.split('.');
    const section = valueAt(full, segments.slice(0, -1));
    if (isBranch(section)) section[segments.at(-1) ?? ''] = text;
  }
  // For one document, to compile the parsers takes longer than to read without them.
  return configSchema.safeParse(full, { jitless: true });
}

/** The configuration as the code uses it, with what no key sets. */
export function toConfig({ trial, ...parsed }: z.output<typeof configSchema>) {
  const { intake, wholesale, submit, results, alerts, admin } = parsed;
  const scale = trial.timeScale;
  const isSandbox = wholesale.environment === 'sandbox';
  const pace = { createsInbox: parsed.init === 'if-missing', ...defaultScanning(scale) };
  return {
    ...parsed,
    databasePath: join(parsed.dataDir, databaseName),
    intake: {
      folders: intake.folders.map((folder) => ({ ...folder, ...pace })),
      webhook: intake.webhook ?? null,
      shops: intake.webhook === undefined ? [] : shopsOf(intake.webhook, scale),
    },
    wholesale: {
      ...wholesale,
      limits: { ...wholesale.limits, windowMs: trial.windowMs, transitMs: trial.transitMs },
      upstream: isSandbox ? 'sandbox' : wholesale.baseUrl,
    },
    submit: {
      ...submit,
      ...defaultSubmitLimits,
      maxUnknownOutcomes: submit.concurrency,
      retryTimeScale: scale,
    },
    results: {
      ...results,
      callbacks: results.callbacks.map((callback) => ({ ...callback, ...callbackTimeouts(scale) })),
    },
    alerts: alerts.map((alert) => ({ ...alert, ...alertPace(scale) })),
    admin: { ...admin, isTrial: isSandbox },
  };
}
