import type { ConfigIssue } from './config-issue.ts';
import { schemaNodeAt, type ConfigPath } from './schema-tree.ts';
import { setAt } from './tree.ts';
import { parseYamlValue, type YamlFile } from './yaml-file.ts';

/** Where a value was said: a place in the file, the name of a variable, or a flag. */
export interface Origin {
  readonly kind: 'file' | 'environment' | 'flag';
  readonly place: string;
}

/** The three layers as one tree, and who said what. */
export interface LayeredTree {
  readonly tree: unknown;
  readonly origins: Origins;
  readonly issues: readonly ConfigIssue[];
}

const envPrefix = 'ORDER_SYNC__';

/** Knows the origin of each path. A path that nobody wrote belongs to the nearest one above it that somebody did. */
export class Origins {
  readonly #file: YamlFile;
  readonly #overrides = new Map<string, Origin>();

  constructor(file: YamlFile) {
    this.#file = file;
  }

  override(path: ConfigPath, origin: Origin): void {
    this.#overrides.set(path.join('.'), origin);
  }

  /** Who said exactly this, or something within it; undefined for a default. */
  of(path: ConfigPath): Origin | undefined {
    const key = path.join('.');
    for (let length = path.length; length >= 1; length -= 1) {
      const found = this.#overrides.get(path.slice(0, length).join('.'));
      if (found !== undefined) return found;
    }
    for (const [written, origin] of this.#overrides) if (written.startsWith(`${key}.`)) return origin;
    return this.#file.has(path) ? { kind: 'file', place: this.#file.placeOf(path, 'value') } : undefined;
  }

  /** Where to send a person who must change something at this path: its value, or the word of its key. */
  placeFor(path: ConfigPath, part: 'value' | 'key' = 'value'): string {
    const origin = this.of(path);
    return origin === undefined || origin.kind === 'file' ? this.#file.placeOf(path, part) : origin.place;
  }
}

/** Lays environment and flags over the file. An empty variable counts as not set: compose files make those. */
export function layerSources(
  file: YamlFile,
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string>>,
): LayeredTree {
  const origins = new Origins(file);
  const issues: ConfigIssue[] = [];
  const tree = withoutEmptySections(file.tree, []);
  const lay = (path: ConfigPath, text: string, origin: Origin) => {
    origins.override(path, origin);
    const problem = setAt(tree, path, coerce(path, text));
    if (problem !== undefined) issues.push({ place: origin.place, path: path.join('.'), problem });
  };
  for (const [name, text] of Object.entries(environment).toSorted(byName)) {
    if (!name.startsWith(envPrefix) || text === undefined || text === '') continue;
    lay(pathOf(name.slice(envPrefix.length).toLowerCase().split('__')), text, { kind: 'environment', place: name });
  }
  for (const [name, text] of Object.entries(flags)) {
    const path = pathOf(name.split('.'));
    lay(path, text, { kind: 'flag', place: '--set' });
  }
  return { tree, origins, issues };
}

/** Numbers in order, so that the places of a list come one after the other. */
function byName(left: readonly [string, unknown], right: readonly [string, unknown]): number {
  return left[0].localeCompare(right[0], 'en', { numeric: true });
}

function pathOf(segments: readonly string[]): (string | number)[] {
  return segments.map((segment) => (/^\d{1,3}$/.test(segment) ? Number(segment) : segment));
}

/** Text becomes what the schema wants there: a key of digits stays text, a number becomes one. */
function coerce(path: ConfigPath, text: string): unknown {
  const node = schemaNodeAt(path);
  if (node?.type === 'string') return text;
  return parseYamlValue(text);
}

/** A section whose keys are all commented out reads as null: it says nothing, so it is as if it were absent. */
function withoutEmptySections(value: unknown, path: ConfigPath): unknown {
  if (Array.isArray(value)) return value.map((child, index) => withoutEmptySections(child, [...path, index]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, child]) => child !== null || schemaNodeAt([...path, key])?.properties === undefined)
      .map(([key, child]) => [key, withoutEmptySections(child, [...path, key])]),
  );
}
