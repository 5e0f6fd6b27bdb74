import type { WholesaleClient } from '../wholesale/client.ts';
import type { WalkCall, WalkStep } from '../wholesale/catalogue/catalogue-walk.ts';
import type { CatalogueFacts, PlanFacts, ProductFacts } from '../wholesale/catalogue/check-sku.ts';
import { budgetedRead, type CallDeps } from './budgeted-read.ts';

export interface CatalogueDeps extends CallDeps {
  readonly wholesale: Pick<WholesaleClient, 'products' | 'destinations' | 'plans'>;
}

interface CatalogueQuestion {
  readonly variants: readonly string[];
  readonly plans: readonly string[];
  /** When to stop, in ms from now: a big catalogue on a small budget takes long. */
  readonly withinMs: number;
  readonly signal?: AbortSignal;
}

interface Walk<T> {
  readonly done: boolean;
  readonly incomplete: string | null;
  read(call: WalkCall): Promise<WalkStep<T>>;
}

/** How often a slot is tried to get while the budget is used up. */
const slotRetryMs = 250;

/**
 * Looks up items in the supplier's catalogue, on the request budget, and reads no more pages than needed. Spends no money.
 * Never throws because of an answer of the API: `productsProblem` and `plansProblem` say what could not be read.
 */
export async function readCatalogue(deps: CatalogueDeps, question: CatalogueQuestion): Promise<CatalogueFacts> {
  const reading = new Reading(deps, question);
  const wantedVariants = new Set(question.variants);
  const products = new Map<string, ProductFacts>();
  const productsProblem = await reading.search(deps.wholesale.products(), wantedVariants, (product) => {
    if (!wantedVariants.delete(product.variant)) return;
    const { variant, sellable, maxQuantity } = product;
    products.set(variant, { variant, sellable, maxQuantity, currencies: Object.keys(product.prices) });
  });
  const wantedPlans = new Set(question.plans);
  const plans = new Map<string, PlanFacts>();
  const plansProblem = await searchPlans(deps, reading, wantedPlans, plans);
  return { products: [...products.values()], plans: [...plans.values()], productsProblem, plansProblem };
}

/** Plans are listed by destination, so destinations are read one after the other until all plans are found. */
async function searchPlans(
  deps: CatalogueDeps,
  reading: Reading,
  wanted: Set<string>,
  found: Map<string, PlanFacts>,
): Promise<string | null> {
  const destinations: string[] = [];
  const problem = await reading.search(deps.wholesale.destinations(), wanted, ({ destination }) => {
    destinations.push(destination);
  });
  if (problem !== null) return problem;
  for (const destination of destinations) {
    const trouble = await reading.search(deps.wholesale.plans(destination), wanted, (item) => {
      if (!wanted.delete(item.plan)) return;
      const { plan, sellable, daily, minDays, maxDays } = item;
      found.set(plan, { plan, sellable, daily, minDays, maxDays, currencies: Object.keys(item.prices) });
    });
    if (trouble !== null) return trouble;
  }
  return null;
}

class Reading {
  readonly #deps: CatalogueDeps;
  readonly #signal: AbortSignal | undefined;
  readonly #deadlineMs: number;

  constructor(deps: CatalogueDeps, question: CatalogueQuestion) {
    this.#deps = deps;
    this.#signal = question.signal;
    this.#deadlineMs = deps.clock.monoMs() + question.withinMs;
  }

  /** Reads a list to its end, or until nothing is wanted any more. Returns why it stopped earlier; null when it did not. */
  async search<T>(walk: Walk<T>, wanted: ReadonlySet<string>, onItem: (item: T) => void): Promise<string | null> {
    while (!walk.done && wanted.size > 0) {
      const step = await this.#page(walk);
      if (step === null) return 'the request budget had no slot left in time';
      if (step.kind === 'failed') {
        if (step.outcome.row === 'rate_limited') continue;
        return step.outcome.message;
      }
      for (const item of step.items) onItem(item);
    }
    return wanted.size > 0 ? walk.incomplete : null;
  }

  /** Reads the next page as soon as a slot is free; null when none was before the deadline. */
  async #page<T>(walk: Walk<T>): Promise<WalkStep<T> | null> {
    const { clock } = this.#deps;
    const signal = this.#signal === undefined ? {} : { signal: this.#signal };
    while (!this.#signal?.aborted && clock.monoMs() < this.#deadlineMs) {
      const read = await budgetedRead<WalkStep<T>>(this.#deps, {
        call: (keyValue) => walk.read({ keyValue, ...signal }),
        outcomeOf: (step) => (step.kind === 'failed' ? step.outcome : null),
      });
      if (read !== null) return read.answer;
      await clock.sleep(slotRetryMs, this.#signal);
    }
    return null;
  }
}
