import { orderLimits } from '../../core/order/order-request.ts';
import type { Sku } from '../../core/order/sku.ts';
import type { CatalogueFacts, Plan, Product } from './catalogue-item.ts';

/** `problem`: the API would reject an order of it; `unknown`: the catalogue does not say. */
type SkuVerdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'problem' | 'unknown'; readonly code: string; readonly message: string };

const good: SkuVerdict = { kind: 'good' };
const problem = (code: string, message: string): SkuVerdict => ({ kind: 'problem', code, message });
const unknown = (code: string, message: string): SkuVerdict => ({ kind: 'unknown', code, message });

/**
 * Whether the supplier would sell this SKU, by what its catalogue says. The codes are those of Spec
 * 7.
 * @param shopCurrency the balance that is charged where the SKU names none; null: that of each
 * order, not checked
 */
export function checkSku(
  sku: Sku,
  shopCurrency: string | null,
  catalogue: CatalogueFacts,
): SkuVerdict {
  const currency = sku.currency ?? shopCurrency;
  switch (sku.type) {
    case 'gift_card_order': {
      const product = catalogue.products.find(({ variant }) => variant === sku.variant);
      if (product !== undefined)
        return checkProduct(sku.quantity, product) ?? checkCurrency(currency, product, sku.variant);
      if (catalogue.productsProblem !== null) return unknown('not_read', catalogue.productsProblem);
      return problem('invalid_variant', `the catalogue has no variant "${sku.variant}"`);
    }
    case 'esim_order': {
      const plan = catalogue.plans.find((it) => it.plan === sku.plan);
      if (plan !== undefined)
        return (
          checkPlan(sku.quantity, sku.days ?? null, plan) ?? checkCurrency(currency, plan, sku.plan)
        );
      if (catalogue.plansProblem !== null) return unknown('not_read', catalogue.plansProblem);
      return problem('invalid_plan', `no destination of the catalogue has a plan "${sku.plan}"`);
    }
    case 'esim_topup':
      return unknown(
        'per_esim',
        'top-up plans depend on the eSIM, so the catalogue does not list them',
      );
  }
}

function checkProduct(
  quantity: number,
  { variant, sellable, maxQuantity }: Product,
): SkuVerdict | null {
  if (!sellable) return problem('not_api_sellable', `"${variant}" is sold on the website only`);
  if (maxQuantity === null || quantity <= maxQuantity) return null;
  const rule = `one piece in the shop buys ${quantity}, but one order may have at most ${maxQuantity} of "${variant}"`;
  return problem('limit_exceeded', rule);
}

function checkPlan(quantity: number, days: number | null, facts: Plan): SkuVerdict | null {
  const { plan, sellable, daily, minDays, maxDays } = facts;
  if (!sellable) return problem('not_api_sellable', `"${plan}" cannot be ordered`);
  if (daily && days === null)
    return problem('days_missing', `"${plan}" is sold by the day: set \`days\``);
  if (!daily && days !== null) {
    return unknown(
      'days_not_daily',
      `the catalogue does not call "${plan}" a daily plan, but \`days\` is set`,
    );
  }
  if (quantity > orderLimits.esimQuantity) {
    const rule = `one piece in the shop buys ${quantity} eSIMs, but one order may have at most ${orderLimits.esimQuantity}`;
    return problem('limit_exceeded', rule);
  }
  if (days === null || (days >= (minDays ?? days) && days <= (maxDays ?? days))) return null;
  const range = `${minDays ?? 1} to ${maxDays ?? 'any number of'}`;
  return problem('days_out_of_range', `"${plan}" is sold for ${range} days, not for ${days}`);
}

function checkCurrency(
  currency: string | null,
  { currencies }: Product | Plan,
  name: string,
): SkuVerdict {
  if (currency === null || currencies.length === 0 || currencies.includes(currency)) return good;
  return problem(
    'currency_unavailable',
    `"${name}" has no price in ${currency}, only in ${currencies.join(', ')}`,
  );
}
