import type { ConfigPath } from './schema-tree.ts';

/** A map or a list in a tree that is not checked yet. */
type Branch = Record<string | number, unknown>;

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null;
}

/** The value at a path, or undefined. Only own properties count: `constructor` is not a key of every map. */
export function valueAt(tree: unknown, path: ConfigPath): unknown {
  let here = tree;
  for (const segment of path) {
    if (!isBranch(here) || !Object.hasOwn(here, segment)) return undefined;
    here = here[segment];
  }
  return here;
}

/** Sets the value at a path and adds the sections above it. Returns the problem when it cannot, else null. */
export function setAt(tree: unknown, path: ConfigPath, value: unknown): string | null {
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
