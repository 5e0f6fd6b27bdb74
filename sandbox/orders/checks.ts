import { type Answer, type Call, type Progress, refusal, required } from './call.ts';
import type { Plan } from './catalogue.ts';
import { stateOf } from './units.ts';
import type { LimitSettings } from '../settings/config.ts';
import { isPurchase } from '../values/operations.ts';
import { answerRepeat } from './purchases.ts';
import { type SandboxState, topupPlans } from './sandbox-state.ts';
import * as z from 'zod';
import { cancelRequest, esimOrderRequest, giftCardOrderRequest, topupRequest } from './wire.ts';

type Check = (call: Call, progress: Progress, state: SandboxState) => Answer | null;

// The checks of the service, in the order in which they run: Spec 7 lists the errors, not their
// precedence. A check returns null to let the call pass, or the answer that ends it. It stores what
// it finds in `progress`, for the checks after it.

/**
 * The checks that need only the headers of a call. They alone also apply to calls that only read.
 */
export const admissionChecks: Readonly<Record<string, Check>> = {
  maintenance: (_call, _progress, state) =>
    state.settings.maintenance
      ? refusal(503, 'api_disabled', 'The API is switched off for maintenance.')
      : null,

  // Spec 5.1, 5.2: the answer does not say whether a key is missing, wrong or revoked.
  key(call, progress, state) {
    const key = call.token === undefined ? undefined : state.accounts.keyOf(call.token);
    if (key === undefined || key.revoked_at !== null) {
      const message =
        'The API key is missing, wrong or revoked. Send "Authorization: Bearer <API_KEY>".';
      return refusal(401, 'invalid_key', message);
    }
    progress.key = key;
    const account = state.accounts.account(key.account);
    if (account !== undefined) progress.account = account;
    return null;
  },

  // Spec 5.6: with an empty list the key works from any address.
  address(call, progress) {
    const allowed = z.array(z.string()).parse(JSON.parse(required(progress.key, 'key').allow_list));
    if (allowed.length === 0 || allowed.includes(call.address)) return null;
    const message = `The key is restricted to other addresses; this call came from ${call.address}.`;
    return refusal(403, 'ip_not_allowed', message);
  },

  account(_call, progress) {
    const { blocked, wholesale } = required(progress.account, 'account');
    if (blocked === 1) return refusal(403, 'account_not_allowed', 'The account is blocked.');
    return wholesale === 1
      ? null
      : refusal(403, 'account_not_allowed', 'The account is not a wholesale account.');
  },

  limits(call, progress, state) {
    const { key } = progress;
    const waitMs = state.limits.take(required(key, 'key').id, call.operation, call.arrivedAt);
    progress.letIn = waitMs === 0;
    return waitMs === 0 ? null : tooManyRequests(state.settings.limits, waitMs);
  },
};

export const orderChecks: Readonly<Record<string, Check>> = {
  request: readRequest,

  reference: answerRepeat,

  // Spec 4, lookup rule 2.
  esim(call, progress, state) {
    if (call.operation !== 'esim_topup' && call.operation !== 'esim_cancel') return null;
    const esim = state.esims.byIccid(required(progress.account, 'account').id, call.subject);
    if (esim === undefined)
      return refusal(404, 'not_found', 'There is no eSIM with that ICCID on the account.');
    progress.esim = esim;
    return null;
  },

  item(call, progress, state) {
    if (call.operation === 'esim_cancel') return null;
    const { item } = required(progress.purchase, 'purchase');
    if (call.operation === 'gift_card_order') {
      const product = state.catalogue.products.get(item);
      if (product === undefined) {
        return refusal(404, 'invalid_variant', `There is no product "${item}" in the catalogue.`);
      }
      progress.product = product;
      return product.website_only
        ? refusal(422, 'not_api_sellable', `"${item}" is sold on the website only.`)
        : null;
    }
    const plan = state.catalogue.plans.get(item);
    if (plan === undefined)
      return refusal(404, 'invalid_plan', `There is no plan "${item}" in the catalogue.`);
    progress.plan = plan;
    // A plan that is off sale is in no list of top-up plans, so a top-up is refused by the check of
    // the state.
    if (call.operation === 'esim_topup' || state.stock.isOnSale(plan)) return null;
    return refusal(422, 'invalid_plan', `The plan "${plan.plan}" is not on sale any more.`);
  },

  state(call, progress, state) {
    if (call.operation === 'esim_cancel') return refuseCancel(call, progress, state);
    if (call.operation !== 'esim_topup') return null;
    const esim = required(progress.esim, 'eSIM');
    const esimState = stateOf(esim, call.arrivedAt);
    if (esimState === 'cancelled' || esimState === 'expired') {
      return refusal(
        422,
        'topup_not_allowed',
        `The eSIM is ${esimState}, so it cannot be topped up.`,
      );
    }
    const plan = required(progress.plan, 'plan');
    if (topupPlans(esim, state).includes(plan)) return null;
    return refusal(
      422,
      'topup_not_allowed',
      `"${plan.plan}" is not one of the eSIM's top-up plans.`,
    );
  },

  quantity(call, progress) {
    if (call.operation === 'esim_cancel') return null;
    const { quantity, days } = required(progress.purchase, 'purchase');
    if (call.operation === 'gift_card_order') {
      const { variant, max_quantity: limit } = required(progress.product, 'product');
      if (quantity <= limit) return null;
      const message = `At most ${limit} of "${variant}" can be ordered at once, not ${quantity}.`;
      return refusal(422, 'limit_exceeded', message);
    }
    if (quantity >= 1 && quantity <= 30) return refuseDays(required(progress.plan, 'plan'), days);
    return refusal(422, 'invalid_plan', `quantity must be 1 to 30, not ${quantity}.`);
  },

  currency(call, progress) {
    if (call.operation === 'esim_cancel') return null;
    const { currency } = required(progress.purchase, 'purchase');
    const { prices } = progress.product ?? required(progress.plan, 'plan');
    const unitMinor = prices.get(currency);
    if (unitMinor === undefined) {
      const message = `It has no price in ${currency}, only in ${[...prices.keys()].join(', ')}.`;
      return refusal(422, 'currency_unavailable', message);
    }
    progress.unitMinor = unitMinor;
    return null;
  },

  refusal(_call, progress) {
    const reason = (progress.product ?? progress.plan)?.refuses;
    return reason === undefined ? null : refusal(422, 'order_refused', reason);
  },

  stock(call, progress, state) {
    if (call.operation !== 'gift_card_order') return null;
    const product = required(progress.product, 'product');
    const { quantity } = required(progress.purchase, 'purchase');
    const available = state.stock.available(product);
    if (available >= quantity) return null;
    return refusal(
      409,
      'out_of_stock',
      `${available} of "${product.variant}" are available, not ${quantity}.`,
    );
  },

  balance(call, progress, state) {
    if (call.operation === 'esim_cancel') return null;
    const { currency, quantity, days } = required(progress.purchase, 'purchase');
    const cost = required(progress.unitMinor, 'price') * quantity * (days ?? 1);
    if (state.accounts.balance(required(progress.account, 'account').id, currency) >= cost)
      return null;
    return refusal(
      402,
      'insufficient_balance',
      `The ${currency} balance does not cover the order.`,
    );
  },
};

/** Spec 7 fixes neither `Retry-After` nor a code. */
function tooManyRequests(
  { requests, orders, window_ms: windowMs }: LimitSettings,
  waitMs: number,
): Answer {
  const message = `Rate limit reached: at most ${requests} requests and ${orders} orders per ${windowMs / 1000} s and key. Wait a few seconds, then retry.`;
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) };
  return { ...refusal(429, 'rate_limited', message), headers };
}

/**
 * Spec 7, `invalid_plan`: `days` is required for a daily plan and must lie in that plan's range.
 */
function refuseDays(plan: Plan, days: number | undefined): Answer | null {
  if (plan.daily === undefined) {
    if (days === undefined) return null;
    return refusal(
      422,
      'invalid_request',
      `days: "${plan.plan}" is not a daily plan, so it takes no days.`,
    );
  }
  const { min_days: min, max_days: max } = plan.daily;
  if (days !== undefined && days >= min && days <= max) return null;
  const message = `"${plan.plan}" is a daily plan: days must be ${min} to ${max}, but it is ${days ?? 'missing'}.`;
  return refusal(422, 'invalid_plan', message);
}

const notCancellable = (message: string): Answer => refusal(409, 'not_cancellable', message);

/**
 * Spec 3: cancelled only if not installed, not topped up, not cancelled, and its state can be
 * checked now.
 */
function refuseCancel(call: Call, progress: Progress, state: SandboxState): Answer | null {
  const esim = required(progress.esim, 'eSIM');
  if (esim.cancelled_at !== null) return notCancellable('The eSIM was already cancelled.');
  if (esim.unchecked_left !== 0) {
    state.esims.update({ ...esim, unchecked_left: Math.max(-1, esim.unchecked_left - 1) });
    return notCancellable(
      'The state of the eSIM could not be checked at this moment. Try again in about a minute.',
    );
  }
  if (esim.installed_at !== null) return notCancellable('The eSIM was already installed.');
  if (esim.topped_up_at !== null) return notCancellable('The eSIM was already topped up.');
  // The spec names no refusal for an expired eSIM. A refund of an eSIM that is of no more use would
  // give money away.
  return stateOf(esim, call.arrivedAt) === 'expired'
    ? notCancellable('The eSIM has expired.')
    : null;
}

const orderRequests = {
  gift_card_order: giftCardOrderRequest,
  esim_order: esimOrderRequest,
  esim_topup: topupRequest,
};

/**
 * Spec 7, `invalid_request`: a field is missing or malformed. Values out of range have codes of
 * their own.
 */
function readRequest(call: Call, progress: Progress): Answer | null {
  const { operation, body } = call;
  if (!isPurchase(operation) && operation !== 'esim_cancel') return null;
  if ('problem' in body) return refusal(422, 'invalid_request', body.problem);
  if (operation === 'esim_cancel') {
    const parsed = cancelRequest.safeParse(body.json);
    return parsed.success ? null : refusal(422, 'invalid_request', firstProblem(parsed.error));
  }
  const parsed = orderRequests[operation].safeParse(body.json);
  if (!parsed.success) return refusal(422, 'invalid_request', firstProblem(parsed.error));
  const order = { quantity: 1, days: undefined, ...parsed.data };
  const { reference, quantity, days, currency } = order;
  const item = 'variant' in order ? order.variant : order.plan;
  progress.purchase = { reference, item, quantity, days, currency };
  return null;
}

function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'The body is malformed.';
  const place = issue.path.length === 0 ? 'body' : issue.path.join('.');
  // The issue can quote a field name of the caller, which can be of any length.
  return `${place}: ${issue.message}`.slice(0, 300);
}
