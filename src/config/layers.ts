import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf, OrderSyncError } from '../core/order-sync-error.ts';
import type { ConfigIssue } from './config-issue.ts';
import { schemaNodeAt } from './schema-tree.ts';
import { type Branch, type ConfigPath, isBranch, valueAt } from './section-check.ts';
import { findUnusedVariables } from './unused-variables.ts';
import { parseYamlValue, readYaml, type YamlFile } from './yaml-file.ts';

export interface ConfigSources {
  /** The file. Default: that of the variable ORDER_SYNC_CONFIG, else `config/order-sync.yaml`. */
  readonly file?: string | undefined;
  /** Dotted path to text, from `--set`. They override the environment. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths start, also those in the file. Default: the current working directory. */
  readonly cwd?: string;
  /**
   * Default true. False: no secret is read, so that somebody who may not read them can look into
   * the outbox.
   */
  readonly secrets?: boolean;
}

export const databaseName = 'order-sync.db';

const defaultFile = 'config/order-sync.yaml';

/**
 * The program brings this one along. It spends no money, so that it may stand in for a missing file
 * of the same name.
 */
const demoFile = 'config/sandbox.yaml';
const ownDemoFile = resolve(import.meta.dirname, '../..', demoFile);

export const exampleFile = resolve(import.meta.dirname, '../../config/order-sync.example.yaml');

const envPrefix = 'ORDER_SYNC__';

/** Who set a value: a place in the file, the name of a variable, or a flag. */
export interface Origin {
  readonly kind: 'file' | 'environment' | 'flag';
  readonly place: string;
}

export class Origins {
  readonly #file: YamlFile;
  readonly #overrides = new Map<string, Origin>();

  constructor(file: YamlFile) {
    this.#file = file;
  }

  override(path: ConfigPath, origin: Origin): void {
    this.#overrides.set(path.join('.'), origin);
  }

  /** Who set this path, a section above it, or a key within it; undefined for a default. */
  of(path: ConfigPath): Origin | undefined {
    const key = path.join('.');
    for (let length = path.length; length >= 1; length -= 1) {
      const found = this.#overrides.get(path.slice(0, length).join('.'));
      if (found !== undefined) return found;
    }
    for (const [written, origin] of this.#overrides)
      if (written.startsWith(`${key}.`)) return origin;
    return this.#file.has(path)
      ? { kind: 'file', place: this.#file.placeOf(path, 'value') }
      : undefined;
  }

  /**
   * An issue where its value or its key can be corrected. For a path that is not set, the nearest
   * section above it.
   */
  issueAt(path: ConfigPath, problem: string, part: 'value' | 'key' = 'value'): ConfigIssue {
    const origin = this.of(path);
    const isInFile = origin === undefined || origin.kind === 'file';
    return {
      place: isInFile ? this.#file.placeOf(path, part) : origin.place,
      path: path.join('.'),
      problem,
    };
  }
}

export function configFileOf({ file, environment = process.env }: ConfigSources): string {
  return file ?? (environment['ORDER_SYNC_CONFIG'] || defaultFile);
}

/**
 * Reads the file, the environment and the flags into one tree, with the origin of each value. The
 * environment overrides the file, and flags both. An empty variable is ignored: compose files set
 * those. Only names are checked yet.
 * @throws OrderSyncError CONFIG_INVALID when the file cannot be read, or is not YAML
 */
export function readLayers({
  environment = process.env,
  cwd = process.cwd(),
  flags = {},
  ...given
}: ConfigSources) {
  const name = configFileOf({ ...given, environment });
  const file = readYaml(name, readConfigFile(name, cwd));
  const origins = new Origins(file);
  const { issues, warnings } = findUnusedVariables(environment);
  const tree = withoutEmptySections(file.tree, []);
  const set = (segments: readonly string[], text: string, origin: Origin) => {
    const path = segments.map((segment) => (/^\d{1,3}$/.test(segment) ? Number(segment) : segment));
    origins.override(path, origin);
    // Where the schema wants text, digits stay text. Anything else is read as YAML.
    const value = schemaNodeAt(path)?.type === 'string' ? text : parseYamlValue(text);
    const problem = setAt(tree, path, value);
    if (problem !== null) issues.push({ place: origin.place, path: path.join('.'), problem });
  };
  // Sorted after the others are left out: to compare by number, the language rules are loaded,
  // which takes a while.
  const ours = Object.entries(environment).filter(([variable]) => variable.startsWith(envPrefix));
  for (const [place, text] of ours.toSorted(byName)) {
    if (text === undefined || text === '') continue;
    set(place.slice(envPrefix.length).toLowerCase().split('__'), text, {
      kind: 'environment',
      place,
    });
  }
  for (const [key, text] of Object.entries(flags))
    set(key.split('.'), text, { kind: 'flag', place: '--set' });
  return { file: name, cwd, tree, origins, issues, warnings };
}

/**
 * The folder of the outbox, for a command that only looks: it works although a mistake elsewhere
 * would keep a worker from starting. Null: not given, or there are mistakes in names, which may
 * hide the folder that was meant.
 */
export function givenDataDir(sources: ConfigSources): string | null {
  const { tree, cwd, issues } = readLayers(sources);
  const given = valueAt(tree, ['data_dir']);
  return typeof given === 'string' && given !== '' && issues.length === 0
    ? resolve(cwd, given)
    : null;
}

function readConfigFile(name: string, cwd: string): string {
  const path = resolve(cwd, name);
  try {
    return readFileSync(name === demoFile && !existsSync(path) ? ownDemoFile : path, 'utf8');
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT';
    const problem = isMissing ? 'does not exist' : 'cannot be read';
    const hint = isMissing
      ? 'name a config file with --config FILE or ORDER_SYNC_CONFIG, or write one with `order-sync init --example` (the demo uses config/sandbox.yaml)'
      : 'make this file readable for the user that runs order-sync';
    throw new OrderSyncError('CONFIG_INVALID', `The config file ${name} ${problem}`, {
      hint,
      cause: error,
    });
  }
}

/** Sorts by number, because the entries of a list must be added in order. */
function byName(left: readonly [string, unknown], right: readonly [string, unknown]): number {
  return left[0].localeCompare(right[0], 'en', { numeric: true });
}

/**
 * YAML reads a section whose keys are all commented out as null. It is removed, as if it were not
 * there.
 */
function withoutEmptySections(value: unknown, path: ConfigPath): unknown {
  if (Array.isArray(value))
    return value.map((child, index) => withoutEmptySections(child, [...path, index]));
  if (!isBranch(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, child]) => child !== null || schemaNodeAt([...path, key])?.properties === undefined,
      )
      .map(([key, child]) => [key, withoutEmptySections(child, [...path, key])]),
  );
}

/**
 * Sets the value at a path and adds the sections above it. Returns the problem when it cannot, else
 * null.
 */
function setAt(tree: unknown, path: ConfigPath, value: unknown): string | null {
  let here = tree;
  for (const [index, segment] of path.entries()) {
    if (!isBranch(here) || Array.isArray(here) !== (typeof segment === 'number')) {
      return `cannot be set, because ${describe(path.slice(0, index), here)}`;
    }
    if (Array.isArray(here) && Number(segment) > here.length) {
      return `leaves a gap in the list: the next index is ${here.length}`;
    }
    const next = path[index + 1];
    if (next === undefined) put(here, segment, value);
    else if (valueAt(here, [segment]) === undefined)
      put(here, segment, typeof next === 'number' ? [] : {});
    here = here[segment];
  }
  return null;
}

function describe(path: ConfigPath, value: unknown): string {
  const kind = Array.isArray(value)
    ? 'a list'
    : isBranch(value)
      ? 'a map of keys'
      : 'a single value';
  return `${path.length === 0 ? 'the configuration' : path.join('.')} is ${kind}`;
}

/**
 * Defines an own property whatever its name: to assign `__proto__` would change the object, and
 * nobody would see it.
 */
function put(branch: Branch, key: string | number, value: unknown): void {
  Object.defineProperty(branch, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
