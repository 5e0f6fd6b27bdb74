import type { WholesaleClient } from '../../wholesale/client.ts';
import type { WalkCall, WalkStep } from '../../wholesale/catalogue/catalogue-walk.ts';
import type { CatalogueFacts, Plan, Product } from '../../wholesale/catalogue/catalogue-item.ts';
import { budgetedRead, readWhenFree, type CallDeps } from './budgeted-read.ts';

interface CatalogueDeps extends CallDeps {
  readonly wholesale: Pick<WholesaleClient, 'products' | 'destinations' | 'plans' | 'topups'>;
}

interface CatalogueQuestion {
  readonly variants: readonly string[];
  readonly plans: readonly string[];
  readonly iccid?: string | undefined;
  /** When to stop, in ms from now: a big catalogue on a small budget takes long. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

interface Walk<T> {
  readonly done: boolean;
  readonly incomplete: string | null;
  read(call: WalkCall): Promise<WalkStep<T>>;
}

/**
 * Reads a list to its end, or until nothing is wanted any more. Returns why it stopped earlier;
 * null when it did not.
 */
type Search = <T>(
  walk: Walk<T>,
  wanted: ReadonlySet<string>,
  onItem: (item: T) => void,
) => Promise<string | null>;

function searchWithin(deps: CatalogueDeps, { withinMs, signal }: CatalogueQuestion): Search {
  const { clock } = deps;
  const untilMs = clock.steadyMs() + withinMs;
  return async (walk, wanted, onItem) => {
    while (!walk.done && wanted.size > 0) {
      const isOver = signal.aborted || clock.steadyMs() >= untilMs;
      const read = () =>
        budgetedRead(deps, {
          call: (keyValue) => walk.read({ keyValue, signal }),
          outcomeOf: (step) => (step.kind === 'failed' ? step.outcome : null),
        });
      const step = isOver ? null : await readWhenFree(clock, read, untilMs, signal);
      if (step === null) return 'the request budget had no free slot in time';
      if (step.kind === 'page') for (const item of step.items) onItem(item);
      else if (step.outcome.row !== 'rate_limited') return step.outcome.message;
    }
    return wanted.size > 0 ? walk.incomplete : null;
  };
}

/**
 * Looks up items in the supplier's catalogue, on the request budget, and reads no more pages than
 * needed. Spends no money. Never throws because of an answer of the API: `productsProblem` and
 * `plansProblem` say what could not be read.
 */
export async function readCatalogue(
  deps: CatalogueDeps,
  question: CatalogueQuestion,
): Promise<CatalogueFacts> {
  const search = searchWithin(deps, question);
  const wanted = new Set(question.variants);
  const products: Product[] = [];
  const productsProblem = await search(deps.wholesale.products(), wanted, (product) => {
    if (wanted.delete(product.variant)) products.push(product);
  });
  const { iccid } = question;
  if (iccid === undefined)
    return {
      products,
      productsProblem,
      ...(await readPlans(deps, search, new Set(question.plans))),
    };
  const plans: Plan[] = [];
  const walk = deps.wholesale.topups(iccid);
  const plansProblem = await search(walk, new Set([iccid]), (plan) => plans.push(plan));
  return { products, productsProblem, plans, plansProblem };
}

/**
 * Plans are listed by destination, so destinations are read one after the other until all plans are
 * found.
 */
async function readPlans(
  { wholesale }: CatalogueDeps,
  search: Search,
  wanted: Set<string>,
): Promise<Pick<CatalogueFacts, 'plans' | 'plansProblem'>> {
  const plans: Plan[] = [];
  const destinations: string[] = [];
  let plansProblem = await search(wholesale.destinations(), wanted, (item) =>
    destinations.push(item.destination),
  );
  for (const destination of plansProblem === null ? destinations : []) {
    plansProblem = await search(wholesale.plans(destination), wanted, (item) => {
      if (wanted.delete(item.plan)) plans.push(item);
    });
    if (plansProblem !== null) break;
  }
  return { plans, plansProblem };
}
