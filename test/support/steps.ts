import { BuyingSteps } from '../../src/buying/steps-sql.ts';
import type { Store } from '../../src/store/store.ts';

const known = new WeakMap<Store, BuyingSteps>();

/** The steps of buying on this outbox, each time the same. */
export function stepsOf(store: Store): BuyingSteps {
  const steps = known.get(store) ?? new BuyingSteps(store.outbox);
  known.set(store, steps);
  return steps;
}

/** Has `stepsOf` return these for a store. */
export function useSteps(store: Store, steps: BuyingSteps): void {
  known.set(store, steps);
}
