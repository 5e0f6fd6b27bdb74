import type { Logger } from 'pino';
import { Loop } from '../../ops/loop.ts';
import type { CatalogueFacts } from '../../wholesale/catalogue/catalogue-item.ts';
import { readCatalogue } from '../proofs/read-catalogue.ts';
import type { PriceGuard, readWatched } from './unit-costs-sql.ts';

const [firstAfterMs, intervalMs, withinMs] = [300_000, 3_600_000, 600_000];

type CatalogueDeps = Parameters<typeof readCatalogue>[0];

interface PriceWatchDeps extends CatalogueDeps {
  readonly steps: CatalogueDeps['steps'] & {
    watchedProducts(): Promise<ReturnType<typeof readWatched>>;
    rememberPrices(facts: CatalogueFacts, guard: PriceGuard): Promise<boolean>;
  };
  readonly logger: Logger;
  readonly maxRisePercent: () => number;
  /** A product is paused from now on. */
  readonly onPaused: () => Promise<void>;
}

/**
 * Reads once an hour what the products cost in the catalogue that were bought before, so that a
 * price that rises is known before the next order. A price that cannot be read stays.
 */
export function priceWatch(deps: PriceWatchDeps): Loop {
  const { clock, steps } = deps;
  let isFirst = true;
  const round = async (signal: AbortSignal): Promise<number> => {
    const waits = isFirst || deps.pauses.isAccountPaused();
    isFirst = false;
    if (waits) return firstAfterMs;
    const watched = await steps.watchedProducts();
    const facts = await readCatalogue(deps, { ...watched, withinMs, signal });
    const problem = facts.productsProblem ?? facts.plansProblem;
    if (problem !== null)
      deps.logger.info({ problem }, 'not all prices of the catalogue were read');
    const guard = { maxRisePercent: deps.maxRisePercent(), nowMs: clock.wallMs() };
    if (await steps.rememberPrices(facts, guard)) await deps.onPaused();
    return intervalMs;
  };
  return new Loop({ clock, round });
}
