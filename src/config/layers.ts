import type { ConfigIssue } from './config-issue.ts';
import { schemaNodeAt } from './schema-tree.ts';
import { type Branch, type ConfigPath, isBranch, valueAt } from './section-check.ts';
import { parseYamlValue, type YamlFile } from './yaml-file.ts';

/** Who set a value: a place in the file, the name of a variable, or a flag. */
interface Origin {
  readonly kind: 'file' | 'environment' | 'flag';
  readonly place: string;
}

/** File, environment and flags as one tree, with the origin of each value. */
export interface LayeredTree {
  readonly tree: unknown;
  readonly origins: Origins;
  readonly issues: readonly ConfigIssue[];
}

const envPrefix = 'ORDER_SYNC__';

/** The origin of each path. */
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
    for (const [written, origin] of this.#overrides) if (written.startsWith(`${key}.`)) return origin;
    return this.#file.has(path) ? { kind: 'file', place: this.#file.placeOf(path, 'value') } : undefined;
  }

  /** Where to correct this path: its value or its key. For a path that is not set, the nearest section above it. */
  placeFor(path: ConfigPath, part: 'value' | 'key' = 'value'): string {
    const origin = this.of(path);
    return origin === undefined || origin.kind === 'file' ? this.#file.placeOf(path, part) : origin.place;
  }

  issueAt(path: ConfigPath, problem: string, part: 'value' | 'key' = 'value'): ConfigIssue {
    return { place: this.placeFor(path, part), path: path.join('.'), problem };
  }
}

/** Lets the environment override the file, and flags both. An empty variable is ignored: compose files set those. */
export function layerSources(
  file: YamlFile,
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string>>,
): LayeredTree {
  const origins = new Origins(file);
  const issues: ConfigIssue[] = [];
  const tree = withoutEmptySections(file.tree, []);
  const set = (path: ConfigPath, text: string, origin: Origin) => {
    origins.override(path, origin);
    const problem = setAt(tree, path, coerce(path, text));
    if (problem !== null) issues.push({ place: origin.place, path: path.join('.'), problem });
  };
  // Sorted after the others are left out: to compare by number, the language rules are loaded, which takes a while.
  const ours = Object.entries(environment).filter(([name]) => name.startsWith(envPrefix));
  for (const [name, text] of ours.toSorted(byName)) {
    if (text === undefined || text === '') continue;
    set(pathOf(name.slice(envPrefix.length).toLowerCase().split('__')), text, { kind: 'environment', place: name });
  }
  for (const [name, text] of Object.entries(flags)) {
    const path = pathOf(name.split('.'));
    set(path, text, { kind: 'flag', place: '--set' });
  }
  return { tree, origins, issues };
}

/** Sorts by number, because the entries of a list must be added in order. */
function byName(left: readonly [string, unknown], right: readonly [string, unknown]): number {
  return left[0].localeCompare(right[0], 'en', { numeric: true });
}

function pathOf(segments: readonly string[]): (string | number)[] {
  return segments.map((segment) => (/^\d{1,3}$/.test(segment) ? Number(segment) : segment));
}

/** Where the schema wants text, digits stay text. Anything else is read as YAML. */
function coerce(path: ConfigPath, text: string): unknown {
  const node = schemaNodeAt(path);
  if (node?.type === 'string') return text;
  return parseYamlValue(text);
}

/** YAML reads a section whose keys are all commented out as null. It is removed, as if it were not there. */
function withoutEmptySections(value: unknown, path: ConfigPath): unknown {
  if (Array.isArray(value)) return value.map((child, index) => withoutEmptySections(child, [...path, index]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, child]) => child !== null || schemaNodeAt([...path, key])?.properties === undefined)
      .map(([key, child]) => [key, withoutEmptySections(child, [...path, key])]),
  );
}

/** Sets the value at a path and adds the sections above it. Returns the problem when it cannot, else null. */
function setAt(tree: unknown, path: ConfigPath, value: unknown): string | null {
  let here = tree;
  for (const [index, segment] of path.entries()) {
    if (!isBranch(here) || Array.isArray(here) !== (typeof segment === 'number')) {
      return `cannot be set, because ${describe(path.slice(0, index), here)}`;
    }
    if (Array.isArray(here) && Number(segment) > here.length) {
      return `leaves a gap in its list: the next index is ${here.length}`;
    }
    const next = path[index + 1];
    if (next === undefined) put(here, segment, value);
    else if (valueAt(here, [segment]) === undefined) put(here, segment, typeof next === 'number' ? [] : {});
    here = here[segment];
  }
  return null;
}

function describe(path: ConfigPath, value: unknown): string {
  const kind = Array.isArray(value) ? 'a list' : isBranch(value) ? 'a map of keys' : 'a single value';
  return `${path.length === 0 ? 'the configuration' : path.join('.')} is ${kind}`;
}

/** Defines an own property whatever its name: to assign `__proto__` would change the object, and nobody would see it. */
function put(branch: Branch, key: string | number, value: unknown): void {
  Object.defineProperty(branch, key, { value, enumerable: true, configurable: true, writable: true });
}
