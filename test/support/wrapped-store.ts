import type { Store } from '../../src/store/store.ts';
import { stepsOf, useSteps } from './steps.ts';

type Step = (...values: unknown[]) => unknown;

/**
 * A store whose every step, of every role but the reader, runs through `wrap`, and so do the steps
 * of buying on it. A step is named by its path, for example `intake.acceptBatch` or
 * `buying.closeAttempt`.
 */
export function wrappedStore(store: Store, wrap: (name: string, step: Step) => Step): Store {
  const made = wrapped(store, '', wrap);
  useSteps(made, wrapped(stepsOf(store), 'buying.', wrap));
  return made;
}

function wrapped<T extends object>(
  role: T,
  prefix: string,
  wrap: (name: string, step: Step) => Step,
): T {
  // Each step and each role is wrapped once.
  const known = new Map<string, unknown>();
  return new Proxy(role, {
    get: (target, key) => {
      if (typeof key === 'string' && known.has(key)) return known.get(key);
      const value: unknown = Reflect.get(target, key);
      if (typeof key !== 'string' || key === 'read' || key === 'outbox') return value;
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
