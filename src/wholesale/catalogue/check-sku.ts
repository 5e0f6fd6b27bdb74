import { orderLimits } from '../../core/order/order-request.ts';
import type { Purchase } from '../../core/order/purchase.ts';
import type { Plan, Product } from './catalogue-item.ts';

/** What the supplier's catalogue says about a gift card or software product. */
export interface ProductFacts extends Pick<Product, 'variant' | 'sellable' | 'maxQuantity'> {
  /** The currencies that it has a price in; empty when the catalogue shows no prices. */
  readonly currencies: readonly string[];
}

/** What it says about an eSIM plan. */
export interface PlanFacts extends Pick<Plan, 'plan' | 'sellable' | 'daily' | 'minDays' | 'maxDays'> {
  readonly currencies: readonly string[];
}

/** The wanted items that the catalogue has. A missing item is not for sale, unless the catalogue was not read whole. */
export interface CatalogueFacts {
  readonly products: readonly ProductFacts[];
  readonly plans: readonly PlanFacts[];
  /** Why the catalogue of products was not read to its end; null when it was, or when every item was found. */
  readonly productsProblem: string | null;
  readonly plansProblem: string | null;
}

/** What one piece of a SKU in a shop's cart buys. */
export type SoldItem =
  | (Pick<Purchase, 'currency'> & {
      readonly type: 'gift_card_order';
      readonly variant: string;
      readonly quantity: number;
    })
  | (Pick<Purchase, 'days' | 'currency'> & {
      readonly type: 'esim_order';
      readonly plan: string;
      readonly quantity: number;
    })
  | (Pick<Purchase, 'days' | 'currency'> & {
      readonly type: 'esim_topup';
      readonly plan: string;
    });

/** `problem`: the API would reject an order of it; `unknown`: the catalogue does not say. */
export type SkuVerdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'problem' | 'unknown'; readonly code: string; readonly message: string };

const good: SkuVerdict = { kind: 'good' };
const problem = (code: string, message: string): SkuVerdict => ({ kind: 'problem', code, message });
const unknown = (code: string, message: string): SkuVerdict => ({ kind: 'unknown', code, message });

/** Whether the supplier would sell this item, by what its catalogue says. The codes are those of Spec 7. */
export function checkSku(item: SoldItem, catalogue: CatalogueFacts): SkuVerdict {
  switch (item.type) {
    case 'gift_card_order': {
      const product = catalogue.products.find(({ variant }) => variant === item.variant);
      if (product !== undefined) return checkProduct(item, product);
      if (catalogue.productsProblem !== null) return unknown('not_read', catalogue.productsProblem);
      return problem('invalid_variant', `the catalogue has no variant "${item.variant}"`);
    }
    case 'esim_order': {
      const plan = catalogue.plans.find((it) => it.plan === item.plan);
      if (plan !== undefined) return checkPlan(item, plan);
      if (catalogue.plansProblem !== null) return unknown('not_read', catalogue.plansProblem);
      return problem('invalid_plan', `no destination of the catalogue has a plan "${item.plan}"`);
    }
    case 'esim_topup':
      return unknown('per_esim', 'top-up plans depend on the eSIM, so the catalogue does not list them');
  }
}

function checkProduct(item: Extract<SoldItem, { type: 'gift_card_order' }>, product: ProductFacts): SkuVerdict {
  if (!product.sellable) return problem('not_api_sellable', `"${item.variant}" is sold on the website only`);
  if (product.maxQuantity !== null && item.quantity > product.maxQuantity) {
    const rule = `one piece buys ${item.quantity}, but one order may have at most ${product.maxQuantity} of "${item.variant}"`;
    return problem('limit_exceeded', rule);
  }
  return checkCurrency(item.currency, product.currencies, item.variant);
}

function checkPlan(item: Extract<SoldItem, { type: 'esim_order' }>, plan: PlanFacts): SkuVerdict {
  const { days } = item;
  if (!plan.sellable) return problem('not_api_sellable', `"${item.plan}" cannot be ordered`);
  if (plan.daily && days === null) return problem('days_missing', `"${item.plan}" is sold by the day: set \`days\``);
  if (!plan.daily && days !== null) {
    return unknown('days_not_daily', `the catalogue does not call "${item.plan}" a daily plan, but \`days\` is set`);
  }
  if (item.quantity > orderLimits.esimQuantity) {
    const rule = `one piece buys ${item.quantity} eSIMs, but one order may have at most ${orderLimits.esimQuantity}`;
    return problem('limit_exceeded', rule);
  }
  const isShort = days !== null && plan.minDays !== null && days < plan.minDays;
  const isLong = days !== null && plan.maxDays !== null && days > plan.maxDays;
  if (isShort || isLong) {
    const range = `${plan.minDays ?? 1} to ${plan.maxDays ?? 'any number of'}`;
    return problem('days_out_of_range', `"${item.plan}" is sold for ${range} days, not for ${days}`);
  }
  return checkCurrency(item.currency, plan.currencies, item.plan);
}

/** Without a currency of its own, an item is bought in that of each order: there is nothing to compare. */
function checkCurrency(currency: string | null, known: readonly string[], name: string): SkuVerdict {
  if (currency === null || known.length === 0 || known.includes(currency)) return good;
  return problem('currency_unavailable', `"${name}" has no price in ${currency}, only in ${known.join(', ')}`);
}
