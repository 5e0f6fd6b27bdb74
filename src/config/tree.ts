import type { ConfigPath } from './schema-tree.ts';

/** A map or a list of a configuration, before anything is known about its content. */
type Branch = Record<string | number, unknown>;

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null;
}

/** What stands at a path; undefined where nothing does. Only own properties count: `constructor` is nobody's key. */
export function valueAt(tree: unknown, path: ConfigPath): unknown {
  let here = tree;
  for (const segment of path) {
    if (!isBranch(here) || !Object.hasOwn(here, segment)) return undefined;
    here = here[segment];
  }
  return here;
}

/** Puts a value at a path and makes what is missing above it. Returns why it cannot, or undefined when it stands. */
export function setAt(tree: unknown, path: ConfigPath, value: unknown): string | undefined {
  let here = tree;
  for (const [index, segment] of path.entries()) {
    if (!isBranch(here) || Array.isArray(here) !== (typeof segment === 'number')) {
      return 'does not fit what stands above it';
    }
    if (Array.isArray(here) && Number(segment) > here.length) {
      return `leaves a gap: the next place of this list is ${here.length}`;
    }
    const next = path[index + 1];
    if (next === undefined) put(here, segment, value);
    else if (valueAt(here, [segment]) === undefined) put(here, segment, typeof next === 'number' ? [] : {});
    here = here[segment];
  }
  return undefined;
}

/** An own property whatever its name: assigned, `__proto__` would change the object instead of being reported. */
function put(branch: Branch, key: string | number, value: unknown): void {
  Object.defineProperty(branch, key, { value, enumerable: true, configurable: true, writable: true });
}
