import { OrderSyncError } from '../core/order-sync-error.ts';
import type { WebhookSettings } from '../intake/http/settings.ts';
import type { Config, LoadedConfig } from './config.ts';
import { isLive } from './schema-tree.ts';

/** What a reload did. Keys are named as in the file, with `[]` for the entries of a list. */
export interface ReloadReport {
  readonly applied: readonly string[];
  /** Keys that changed, and take effect only after a restart. */
  readonly needRestart: readonly string[];
  readonly warnings: readonly string[];
}

/** The configuration in use, with its values, where they came from, and their digests. */
export type ConfigInUse = Pick<LoadedConfig, 'config' | 'values' | 'digests'>;

interface ReloadPlan extends ConfigInUse {
  /** Keys that take effect now, for example `wholesale.keys[].value`. */
  readonly applied: readonly string[];
  /** Keys that changed, and keep the value in use until a restart. */
  readonly needRestart: readonly string[];
}

const maxReadings = 5;

/**
 * Reads until two readings in a row agree: while a mounted secret is replaced, a reading may find the old file of one key
 * and the new file of another.
 * @throws OrderSyncError what `load` throws; CONFIG_INVALID when five readings all differ
 */
export function readUntilStable(load: () => LoadedConfig): LoadedConfig {
  let before = readOrRetry(load);
  for (let reading = 2; reading <= maxReadings; reading += 1) {
    const now = readOrRetry(load);
    if (isSame(before.digests, now.digests)) return now;
    before = now;
  }
  throw new OrderSyncError('CONFIG_INVALID', 'The configuration kept changing while it was read', {
    hint: 'reload it again when the program that writes it has finished',
  });
}

/** While files are replaced, one may be missing for a moment: a reading that fails is repeated once. */
function readOrRetry(load: () => LoadedConfig): LoadedConfig {
  try {
    return load();
  } catch {
    return load();
  }
}

function isSame(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  return left.size === right.size && [...left].every(([path, digest]) => right.get(path) === digest);
}

/**
 * What a reload changes: the keys that the schema marks as live. A change of another key needs a restart: the value in
 * use stays, and every reload until then names the key.
 */
export function planReload(running: ConfigInUse, next: ConfigInUse): ReloadPlan {
  const kept = keptSections(running.config, next.config);
  const isKept = (name: string): boolean => kept.some((section) => name.startsWith(`${section}.`));
  const applied: string[] = [];
  const needRestart: string[] = [];
  const before = byName(running.digests);
  const after = byName(next.digests);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(name)?.text === after.get(name)?.text) continue;
    const path = after.get(name)?.path ?? before.get(name)?.path ?? [];
    (isLive(path) && !isKept(name) ? applied : needRestart).push(name);
  }
  const digests = new Map(
    [...running.digests]
      .filter(([path]) => needRestart.includes(nameOf(path)))
      .concat([...next.digests].filter(([path]) => !needRestart.includes(nameOf(path)))),
  );
  const values = [
    ...running.values.filter(({ path }) => needRestart.includes(nameOf(path))),
    ...next.values.filter(({ path }) => !needRestart.includes(nameOf(path))),
  ];
  const config = liveConfig(running.config, next.config, kept);
  return { config, values, digests, applied: applied.toSorted(), needRestart: needRestart.toSorted() };
}

/**
 * Sections that keep all their values although they have live keys. The keys of another API must not be sent to the one in
 * use. A reload cannot start or stop a listener.
 */
function keptSections(running: Config, next: Config): readonly string[] {
  const isSameApi =
    running.wholesale.baseUrl === next.wholesale.baseUrl &&
    running.wholesale.environment === next.wholesale.environment;
  const hasSameListener = (running.intake.webhook === null) === (next.intake.webhook === null);
  return [...(isSameApi ? [] : ['wholesale']), ...(hasSameListener ? [] : ['intake.webhook'])];
}

function liveConfig(running: Config, next: Config, kept: readonly string[]): Config {
  const { scanIntervalMs, columns, currency, skuMap, limits } = next.intake.folder;
  const { concurrency, maxUnknownOutcomes } = next.submit;
  const { keys, limits: budget } = next.wholesale;
  const wholesale = kept.includes('wholesale')
    ? running.wholesale
    : {
        ...running.wholesale,
        keys,
        limits: { ...running.wholesale.limits, requests: budget.requests, orders: budget.orders },
      };
  return {
    ...running,
    disk: next.disk,
    intake: {
      folder: { ...running.intake.folder, scanIntervalMs, columns, currency, skuMap, limits },
      webhook: liveWebhook(running.intake.webhook, next.intake.webhook),
      shops: kept.includes('intake.webhook') ? running.intake.shops : next.intake.shops,
    },
    wholesale,
    submit: { ...running.submit, concurrency, maxUnknownOutcomes },
    results: { ...running.results, callbacks: next.results.callbacks },
    admin: { ...next.admin, listen: running.admin.listen },
    log: { ...running.log, level: next.log.level },
  };
}

function liveWebhook(running: WebhookSettings | null, next: WebhookSettings | null): WebhookSettings | null {
  if (running === null || next === null) return running;
  const { uncommitted, connections, connectionsPerAddress, unverifiedBytes, verifiedBytes } = running.limits;
  const { headersMs, requestMs, waiting } = running.limits;
  const bytes = { unverifiedBytes, verifiedBytes };
  return {
    ...next,
    listen: running.listen,
    limits: {
      ...next.limits,
      uncommitted,
      connections,
      connectionsPerAddress,
      ...bytes,
      headersMs,
      requestMs,
      waiting,
    },
  };
}

/** The key at a path, whatever the entry of a list: `wholesale.keys.0.value` is `wholesale.keys[].value`. */
const nameOf = (path: string): string => path.replace(/\.\d+(?=\.|$)/g, '[]');

/** All digests of a key as one text, with their paths: a list in another order has changed, too. */
function byName(digests: ReadonlyMap<string, string>): Map<string, { path: (string | number)[]; text: string }> {
  const found = new Map<string, { path: (string | number)[]; text: string }>();
  for (const [path, digest] of digests) {
    const name = nameOf(path);
    const segments = path.split('.').map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment));
    found.set(name, { path: segments, text: `${found.get(name)?.text ?? ''}${path}=${digest}\n` });
  }
  return found;
}
