import { OrderSyncError } from '../core/order-sync-error.ts';
import type { WebhookSettings } from '../intake/http/settings.ts';
import type { Config, LoadedConfig } from './config.ts';
import { isLive } from './schema-tree.ts';

/** What a reload did. Names of keys are those of the file, without the places of lists. */
export interface ReloadReport {
  readonly applied: readonly string[];
  /** Changed in the file, and in use only after a restart. */
  readonly needRestart: readonly string[];
  readonly warnings: readonly string[];
}

/** A configuration in use, and what its values were when they were taken up. */
export type ConfigInUse = Pick<LoadedConfig, 'config' | 'digests'>;

export interface ReloadPlan extends ConfigInUse {
  /** Keys that change now, without the places of lists, for example `wholesale.keys[].value`. */
  readonly applied: readonly string[];
  /** Keys that changed, and stay as they are until the worker is started again. */
  readonly needRestart: readonly string[];
}

const mostReadings = 5;

/**
 * Reads until two readings in a row agree: while a mounted secret is swapped, one reading may see the old file of one
 * key and the new file of another. Throws what the reading throws; CONFIG_INVALID when it never comes to rest.
 */
export function readSteadily(load: () => LoadedConfig): LoadedConfig {
  let before = readPatiently(load);
  for (let reading = 2; reading <= mostReadings; reading += 1) {
    const now = readPatiently(load);
    if (isSame(before.digests, now.digests)) return now;
    before = now;
  }
  throw new OrderSyncError('CONFIG_INVALID', 'The configuration changed again and again while it was read', {
    hint: 'reload it when whatever writes it has finished',
  });
}

/** In the middle of a swap a file may be missing for a moment: a reading that fails is repeated once. */
function readPatiently(load: () => LoadedConfig): LoadedConfig {
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
 * What a reload changes: the keys that are marked in the schema, and nothing else. What needs a restart keeps the value
 * that is in use, and is named at every reload until then.
 */
export function planReload(running: ConfigInUse, next: ConfigInUse): ReloadPlan {
  const heldBack = heldBackSections(running.config, next.config);
  const isHeldBack = (name: string): boolean => heldBack.some((section) => name.startsWith(`${section}.`));
  const applied: string[] = [];
  const needRestart: string[] = [];
  const before = byName(running.digests);
  const after = byName(next.digests);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(name)?.text === after.get(name)?.text) continue;
    const path = after.get(name)?.path ?? before.get(name)?.path ?? [];
    (isLive(path) && !isHeldBack(name) ? applied : needRestart).push(name);
  }
  const digests = new Map(
    [...running.digests]
      .filter(([path]) => needRestart.includes(nameOf(path)))
      .concat([...next.digests].filter(([path]) => !needRestart.includes(nameOf(path)))),
  );
  const config = liveConfig(running.config, next.config, heldBack);
  return { config, digests, applied: applied.toSorted(), needRestart: needRestart.toSorted() };
}

/**
 * Sections of which nothing is taken over although parts of them could be: the keys of another address are never sent
 * to the old one, and a listener does not come and go.
 */
function heldBackSections(running: Config, next: Config): readonly string[] {
  const isSameSupplier =
    running.wholesale.baseUrl === next.wholesale.baseUrl &&
    running.wholesale.environment === next.wholesale.environment;
  const isSameDoor = (running.intake.webhook === null) === (next.intake.webhook === null);
  const isSamePost = (running.results.callback === null) === (next.results.callback === null);
  return [
    ...(isSameSupplier ? [] : ['wholesale']),
    ...(isSameDoor ? [] : ['intake.webhook']),
    ...(isSamePost ? [] : ['results.callback']),
  ];
}

function liveConfig(running: Config, next: Config, heldBack: readonly string[]): Config {
  const { scanIntervalMs, columns, limits } = next.intake.folder;
  const { concurrency, maxUnknownOutcomes } = next.submit;
  const { keys, limits: budget } = next.wholesale;
  const wholesale = heldBack.includes('wholesale')
    ? running.wholesale
    : {
        ...running.wholesale,
        keys,
        limits: { ...running.wholesale.limits, requests: budget.requests, orders: budget.orders },
      };
  return {
    ...running,
    intake: {
      folder: { ...running.intake.folder, scanIntervalMs, columns, limits },
      webhook: liveWebhook(running.intake.webhook, next.intake.webhook),
      readBack: heldBack.includes('intake.webhook') ? running.intake.readBack : next.intake.readBack,
    },
    wholesale,
    submit: { ...running.submit, concurrency, maxUnknownOutcomes },
    results: heldBack.includes('results.callback')
      ? running.results
      : { ...running.results, callback: next.results.callback },
    log: { ...running.log, level: next.log.level },
  };
}

function liveWebhook(running: WebhookSettings | null, next: WebhookSettings | null): WebhookSettings | null {
  if (running === null || next === null) return running;
  const { uncommitted, connections, headersMs, requestMs, waiting } = running.limits;
  return {
    ...next,
    listen: running.listen,
    limits: { ...next.limits, uncommitted, connections, headersMs, requestMs, waiting },
  };
}

/** The name of a key without the places of lists: `wholesale.keys.0.value` is `wholesale.keys[].value`. */
const nameOf = (path: string): string => path.replace(/\.\d+(?=\.|$)/g, '[]');

/** All values of a name as one text, with their places: a list that was put into another order has changed, too. */
function byName(digests: ReadonlyMap<string, string>): Map<string, { path: (string | number)[]; text: string }> {
  const found = new Map<string, { path: (string | number)[]; text: string }>();
  for (const [path, digest] of digests) {
    const name = nameOf(path);
    const segments = path.split('.').map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment));
    found.set(name, { path: segments, text: `${found.get(name)?.text ?? ''}${path}=${digest}\n` });
  }
  return found;
}
