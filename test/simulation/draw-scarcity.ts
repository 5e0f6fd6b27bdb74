import type { OrderRules } from '../../src/core/order/order-request.ts';
import type { Product } from './sim-account.ts';
import type { OrderBatch, RunPlan } from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Little stock of each gift card, and orders that accept a part of what they ask for. */
export function withScarceStock(random: SeededRandom, plan: RunPlan): RunPlan {
  const products = new Map<string, Product>();
  for (const [name, product] of plan.account.products) {
    // Drawn for every product, so that one product does not change the draws of another.
    const units = random.int(0, 8);
    const untilMs = random.pick(
      Number.POSITIVE_INFINITY,
      plan.faultsOffMs,
      random.int(0, plan.faultsOffMs),
    );
    const refusals = random.chance(0.7) ? [] : product.refusals;
    products.set(
      name,
      name.startsWith('card') ? { ...product, refusals, stock: { units, untilMs } } : product,
    );
  }
  const batches = plan.batches.map((batch): OrderBatch => {
    const lines = batch.lines.map((line) => {
      const partial = random.chance(0.7);
      const quantity = random.pick(2, 3, 4, 5, 8);
      if (!partial || line.operation === 'esim_cancel') return line;
      const rules: OrderRules = { ...line.rules, partial: true };
      return line.operation === 'gift_card_order'
        ? { ...line, rules, quantity }
        : { ...line, rules };
    });
    return { ...batch, lines };
  });
  return { ...plan, account: { ...plan.account, products }, batches };
}
