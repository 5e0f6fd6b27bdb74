import { isDeepStrictEqual } from 'node:util';
import { assert, OrderSyncError } from '../core/order-sync-error.ts';
import type { Config, LoadedConfig } from './config.ts';
import { digestValues } from './explain.ts';
import { type ConfigDocument, parseDocument, toConfig } from './resolve.ts';
import { isLive } from './schema-tree.ts';
import { isBranch } from './section-check.ts';

/** The outcome of a reload. Keys are named as in the file, with `[]` for the entries of a list. */
export interface ReloadReport {
  /** Keys that take effect now, for example `wholesale.keys[].value`. */
  readonly applied: readonly string[];
  /** Keys that changed, and keep the value in use until a restart. */
  readonly needRestart: readonly string[];
  readonly warnings: readonly string[];
}

/** A reload in sentences. */
export const reloadedTexts = ({
  applied,
  needRestart,
}: Pick<ReloadReport, 'applied' | 'needRestart'>) => [
  applied.length === 0
    ? 'no key has changed that a reload can apply'
    : `in use now: ${applied.join(', ')}`,
  ...(needRestart.length === 0 ? [] : [`in use after a restart: ${needRestart.join(', ')}`]),
];

/** The configuration in use, with its values, where they came from, and their digests. */
export type ConfigInUse = Pick<
  LoadedConfig,
  'config' | 'document' | 'readings' | 'values' | 'digests'
>;

const maxReadings = 5;

/**
 * Reads until two readings in a row agree: while a mounted secret is replaced, a reading may find
 * the old file of one key and the new file of another.
 * @throws OrderSyncError what `load` throws; CONFIG_INVALID when five readings all differ
 */
export function readUntilStable(load: () => LoadedConfig): LoadedConfig {
  let before = readOrRetry(load);
  for (let reading = 2; reading <= maxReadings; reading += 1) {
    const now = readOrRetry(load);
    if (isDeepStrictEqual(before.digests, now.digests)) return now;
    before = now;
  }
  throw new OrderSyncError('CONFIG_INVALID', 'The configuration kept changing while it was read', {
    hint: 'reload again when the program that writes the file has finished',
  });
}

/**
 * While files are replaced, one may be missing for a moment: a reading that fails is repeated once.
 */
function readOrRetry(load: () => LoadedConfig): LoadedConfig {
  try {
    return load();
  } catch {
    return load();
  }
}

/**
 * What a reload changes: the keys that the schema marks as live, without those of sections that are
 * kept as a whole. A change of another key needs a restart: the value in use stays, and every
 * reload until then names the key.
 */
export function planReload(
  running: ConfigInUse,
  next: ConfigInUse,
): ConfigInUse & Omit<ReloadReport, 'warnings'> {
  const kept = keptSections(running.config, next.config);
  const isApplied = (path: string): boolean =>
    isLive(pathOf(path)) && !kept.some((section) => path.startsWith(`${section}.`));
  const document = mergeLive(running.document, next.document, isApplied);
  const readings = new Map([
    ...[...running.readings].filter(([path]) => !isApplied(path)),
    ...[...next.readings].filter(([path]) => isApplied(path)),
  ]);
  const digests = digestValues(document, readings);
  const { data } = parseDocument(document, readings);
  assert(data !== undefined, 'a mix of two valid configurations must be valid');
  return {
    config: toConfig(data),
    document,
    readings,
    values: [
      ...running.values.filter(({ path }) => !isApplied(path)),
      ...next.values.filter(({ path }) => isApplied(path)),
    ],
    digests,
    applied: changedKeys(running.digests, digests),
    needRestart: changedKeys(digests, next.digests),
  };
}

/** The keys of which a value differs, named as in the file, with `[]` for the entries of a list. */
function changedKeys(
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): readonly string[] {
  const paths = [...left.keys(), ...right.keys()].filter(
    (path) => left.get(path) !== right.get(path),
  );
  return [...new Set(paths.map((path) => path.replace(/\.\d+(?=\.|$)/g, '[]')))].toSorted();
}

/**
 * The document in use with the values of the next one where `isApplied`. A list of another length
 * is taken as a whole.
 */
function mergeLive(
  running: ConfigDocument,
  next: ConfigDocument,
  isApplied: (path: string) => boolean,
): ConfigDocument {
  const merge = (from: unknown, to: unknown, path: readonly string[]): unknown => {
    if (Array.isArray(from) && Array.isArray(to) && from.length === to.length)
      return from.map((value, index) => merge(value, to[index], [...path, `${index}`]));
    if (!isSection(from) || !isSection(to)) return isApplied(path.join('.')) ? to : from;
    const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
    const merged = [...keys].map(
      (key) => [key, merge(from[key], to[key], [...path, key])] as const,
    );
    return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both have this type, and each value is that of one of them
  return merge(running, next, []) as ConfigDocument;
}

const isSection = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isBranch(value) && !Array.isArray(value);

/**
 * Sections that stay: no key may be sent to another API, and a reload cannot start or stop a
 * listener or a folder.
 */
function keptSections(running: Config, next: Config): readonly string[] {
  const isSameApi =
    running.wholesale.baseUrl === next.wholesale.baseUrl &&
    running.wholesale.environment === next.wholesale.environment;
  const hasSameListener = (running.intake.webhook === null) === (next.intake.webhook === null);
  const hasSameFolders = namesOf(running) === namesOf(next);
  return [
    ...(isSameApi ? [] : ['wholesale']),
    ...(hasSameListener ? [] : ['intake.webhook']),
    ...(hasSameFolders ? [] : ['intake.folders']),
  ];
}

const namesOf = ({ intake }: Config): string => intake.folders.map(({ name }) => name).join();

const pathOf = (path: string): (string | number)[] =>
  path.split('.').map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment));
