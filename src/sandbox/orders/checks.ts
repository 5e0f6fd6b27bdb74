import { type Answer, refusal } from '../http/answers.ts';
import { canonicalAddress } from '../account/addresses.ts';
import { type Call, found, type Progress } from './call.ts';
import type { Plan } from './catalogue.ts';
import type { CheckName } from './check-order.ts';
import { stateOf } from './esims.ts';
import { movesMoney } from './operations.ts';
import { repeatOf } from './repeats.ts';
import { readRequest } from '../http/request-reading.ts';
import type { Shelf } from './sandbox-state.ts';

type Check = (call: Call, progress: Progress, shelf: Shelf) => Answer | null;

/**
 * Each check of the service, by name: null lets the call pass on, an answer ends it. They run in the order of
 * `checks` in the config, and write what they find into the progress for those after them.
 */
export const checks: Record<CheckName, Check> = {
  maintenance: (_call, _progress, shelf) =>
    shelf.settings.maintenance ? refusal(503, 'api_disabled', 'The API is switched off for maintenance.') : null,

  // Spec 5.1, 5.2: missing, wrong and revoked keys are not told apart.
  key(call, progress, shelf) {
    const token = /^Bearer +(\S+) *$/i.exec(call.authorization ?? '')?.[1];
    const key = token === undefined ? undefined : shelf.accounts.keyOf(token);
    if (key === undefined || key.revoked_at !== null) {
      return refusal(
        401,
        'invalid_key',
        'The API key is missing, wrong or revoked. Send "Authorization: Bearer <API_KEY>".',
      );
    }
    progress.key = key;
    const account = shelf.accounts.account(key.account);
    if (account !== undefined) progress.account = account;
    return null;
  },

  // Spec 5.6: an empty list lets the key work from any address.
  address(call, progress, shelf) {
    const allowed = shelf.accounts.addressesOf(found(progress.key, 'key').id);
    if (allowed.length === 0 || allowed.includes(canonicalAddress(call.address))) return null;
    return refusal(
      403,
      'ip_not_allowed',
      `The key is restricted to other addresses; this call came from ${call.address}.`,
    );
  },

  account(_call, progress) {
    const account = found(progress.account, 'account');
    if (account.blocked === 1) return refusal(403, 'account_not_allowed', 'The account is blocked.');
    return account.wholesale === 1
      ? null
      : refusal(403, 'account_not_allowed', 'The account is not a wholesale account.');
  },

  limits(call, progress, shelf) {
    const spending = movesMoney(call.operation);
    const refused = shelf.limits.take(found(progress.key, 'key').id, spending, call.arrivedAt);
    progress.limited = refused !== null;
    progress.requestCounted = refused === null;
    progress.orderCounted = refused === null && spending;
    return refused;
  },

  request: readRequest,

  reference: repeatOf,

  // Spec 4, lookup rule 2.
  esim(call, progress, shelf) {
    if (call.operation !== 'esim_topup' && call.operation !== 'esim_cancel') return null;
    const esim = shelf.esims.byIccid(found(progress.account, 'account').id, call.subject);
    if (esim === undefined) return refusal(404, 'not_found', 'There is no eSIM with that ICCID on the account.');
    progress.esim = esim;
    return null;
  },

  item(call, progress, shelf) {
    if (call.operation === 'esim_cancel') return null;
    const purchase = found(progress.purchase, 'purchase');
    if (call.operation === 'gift_card_order') {
      const product = shelf.catalogue.products.get(purchase.item);
      if (product === undefined)
        return refusal(404, 'invalid_variant', `There is no product "${purchase.item}" in the catalogue.`);
      progress.product = product;
      if (!product.website_only) return null;
      return refusal(422, 'not_api_sellable', `"${purchase.item}" is sold on the website only.`);
    }
    const plan = shelf.catalogue.plans.get(purchase.item);
    if (plan === undefined)
      return refusal(404, 'invalid_plan', `There is no plan "${purchase.item}" in the catalogue.`);
    progress.plan = plan;
    // A plan that went off sale is in nobody's top-up list, so a top-up learns of it from the check of the state.
    if (call.operation === 'esim_topup' || shelf.isOnSale(plan)) return null;
    return refusal(422, 'invalid_plan', `The plan "${plan.plan}" is not on sale any more.`);
  },

  state(call, progress, shelf) {
    if (call.operation === 'esim_cancel') return cancelRefusal(call, progress, shelf);
    if (call.operation !== 'esim_topup') return null;
    const esim = found(progress.esim, 'eSIM');
    const state = stateOf(esim, call.arrivedAt);
    if (state === 'cancelled' || state === 'expired') {
      return refusal(422, 'topup_not_allowed', `The eSIM is ${state}, so it cannot be topped up.`);
    }
    const plan = found(progress.plan, 'plan');
    if (shelf.topupsOf(esim).includes(plan)) return null;
    return refusal(422, 'topup_not_allowed', `"${plan.plan}" is not one of the eSIM's top-up plans.`);
  },

  quantity(call, progress) {
    if (call.operation === 'esim_cancel') return null;
    const { quantity, days } = found(progress.purchase, 'purchase');
    if (call.operation === 'gift_card_order') {
      const { variant, max_quantity: limit } = found(progress.product, 'product');
      if (quantity <= limit) return null;
      return refusal(
        422,
        'limit_exceeded',
        `At most ${limit} of "${variant}" can be ordered at once, not ${quantity}.`,
      );
    }
    if (quantity < 1 || quantity > 30) {
      return refusal(422, 'invalid_plan', `quantity must be 1 to 30, not ${quantity}.`);
    }
    return daysRefusal(found(progress.plan, 'plan'), days);
  },

  currency(call, progress) {
    if (call.operation === 'esim_cancel') return null;
    const { currency } = found(progress.purchase, 'purchase');
    const item = progress.product ?? found(progress.plan, 'plan');
    const unitMinor = item.prices.get(currency);
    if (unitMinor !== undefined) {
      progress.unitMinor = unitMinor;
      return null;
    }
    return refusal(
      422,
      'currency_unavailable',
      `It has no price in ${currency}, only in ${[...item.prices.keys()].join(', ')}.`,
    );
  },

  refusal(_call, progress) {
    const reason = (progress.product ?? progress.plan)?.refuses;
    return reason === undefined ? null : refusal(422, 'order_refused', reason);
  },

  stock(call, progress, shelf) {
    if (call.operation !== 'gift_card_order') return null;
    const product = found(progress.product, 'product');
    const { quantity } = found(progress.purchase, 'purchase');
    const available = shelf.stock.available(product);
    if (available >= quantity) return null;
    return refusal(409, 'out_of_stock', `${available} of "${product.variant}" are available, not ${quantity}.`);
  },

  balance(call, progress, shelf) {
    if (call.operation === 'esim_cancel') return null;
    const { currency, quantity, days } = found(progress.purchase, 'purchase');
    const cost = found(progress.unitMinor, 'price') * quantity * (days ?? 1);
    if (shelf.accounts.balance(found(progress.account, 'account').id, currency) >= cost) return null;
    return refusal(402, 'insufficient_balance', `The ${currency} balance does not cover the order.`);
  },
};

/** Spec 7, `invalid_plan`: `days` is required for a daily plan and must lie in that plan's range. */
function daysRefusal(plan: Plan, days: number | undefined): Answer | null {
  if (plan.daily === undefined) {
    if (days === undefined) return null;
    return refusal(422, 'invalid_request', `days: "${plan.plan}" is not a daily plan, so it takes no days.`);
  }
  const { min_days: min, max_days: max } = plan.daily;
  if (days !== undefined && days >= min && days <= max) return null;
  const given = days === undefined ? 'missing' : String(days);
  return refusal(
    422,
    'invalid_plan',
    `"${plan.plan}" is a daily plan: days must be ${min} to ${max}, but it is ${given}.`,
  );
}

/** Spec 3: cancelled only if not installed, not topped up, not cancelled, and its state can be checked now. */
function cancelRefusal(call: Call, progress: Progress, shelf: Shelf): Answer | null {
  const esim = found(progress.esim, 'eSIM');
  const messages = shelf.settings.messages;
  if (esim.cancelled_at !== null) return notCancellable(messages.cancel_cancelled);
  if (esim.unchecked_left !== 0) {
    shelf.esims.setUnchecked(esim, esim.unchecked_left > 0 ? esim.unchecked_left - 1 : -1);
    return notCancellable(messages.cancel_unchecked);
  }
  if (esim.installed_at !== null) return notCancellable(messages.cancel_installed);
  if (esim.topped_up_at !== null) return notCancellable(messages.cancel_topped_up);
  // The spec names no refusal for an expired eSIM; refunding what can no longer be used would give money away.
  return stateOf(esim, call.arrivedAt) === 'expired' ? notCancellable(messages.cancel_expired) : null;
}

function notCancellable(message: string): Answer {
  return refusal(409, 'not_cancellable', message);
}
