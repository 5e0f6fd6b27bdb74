import type { Store } from '../../src/store/store.ts';

type Step = (...values: unknown[]) => unknown;

/**
 * A store whose every step, of every role but the reader, runs through `wrap`. A step is named by its path in the
 * store, for example `intake.acceptBatch`.
 */
export function wrappedStore(store: Store, wrap: (name: string, step: Step) => Step): Store {
  return wrapped(store, '', wrap);
}

function wrapped<T extends object>(role: T, prefix: string, wrap: (name: string, step: Step) => Step): T {
  // Each step and each role is wrapped once.
  const known = new Map<string, unknown>();
  return new Proxy(role, {
    get: (target, key) => {
      if (typeof key === 'string' && known.has(key)) return known.get(key);
      const value: unknown = Reflect.get(target, key);
      if (typeof key !== 'string' || key === 'read') return value;
      const isRole = typeof value === 'object' && value !== null;
      if (!isRole && typeof value !== 'function') return value;
      const name = `${prefix}${key}`;
      const made = isRole
        ? wrapped(value, `${name}.`, wrap)
        : wrap(name, (...values) => Reflect.apply(value, target, values));
      known.set(key, made);
      return made;
    },
  });
}
