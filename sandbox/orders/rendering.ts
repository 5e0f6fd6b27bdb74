import { toDecimal } from '../values/money.ts';
import { isoTime } from '../values/clock.ts';
import type { Plan, Product } from './catalogue.ts';
import { type Esim, stateOf } from './units.ts';
import type { Order } from './orders.ts';
import type { SandboxState } from './sandbox-state.ts';

/** The body that shows an order of either family. */
export function renderOrder(order: Order, state: SandboxState, now: number): object {
  const { status, item, days, iccid } = order;
  if (order.family === 'gift_card') {
    const codes: unknown = status === 'completed' ? JSON.parse(order.codes) : [];
    return { ...orderFields(order), variant: item, codes };
  }
  const toppedUp = iccid === null ? undefined : state.esims.byIccid(order.account, iccid);
  const esims =
    iccid === null
      ? state.esims.ofOrder(order.number)
      : [toppedUp].filter((esim) => esim !== undefined);
  return {
    ...orderFields(order),
    plan: item,
    ...(days === null ? {} : { days }),
    ...(iccid === null ? {} : { iccid }),
    esims: status === 'pending' ? [] : esims.map((esim) => renderEsim(esim, now)),
  };
}

function orderFields({ number, reference, status, currency, quantity, ...order }: Order) {
  return {
    number,
    reference,
    status,
    currency,
    total: toDecimal(order.cost_minor, currency),
    ...(order.refunded_minor === 0
      ? {}
      : { refunded_amount: toDecimal(order.refunded_minor, currency) }),
    quantity,
    created_at: isoTime(order.created_at),
  };
}

export function renderEsim(esim: Esim, now: number) {
  const { iccid, plan, smdp_address, matching_id } = esim;
  return {
    iccid,
    state: stateOf(esim, now),
    plan,
    smdp_address,
    matching_id,
    lpa: `LPA:1$${smdp_address}$${matching_id}`,
    installed: esim.installed_at !== null,
    topped_up: esim.topped_up_at !== null,
    created_at: isoTime(esim.created_at),
    expires_at: isoTime(esim.expires_at),
  };
}

export function renderProduct(product: Product, stock: number) {
  const { variant, name, brand, category, max_quantity, website_only } = product;
  const prices = renderPrices(product.prices);
  return {
    variant,
    name,
    brand,
    category,
    prices,
    stock,
    max_quantity,
    website_only,
    api_sellable: !website_only,
  };
}

export function renderPlan({
  plan,
  name,
  destination,
  prices,
  data_mb,
  unlimited,
  daily,
  validity_days,
}: Plan) {
  return {
    plan,
    name,
    destination,
    prices: renderPrices(prices),
    data_mb: unlimited ? null : (data_mb ?? null),
    unlimited,
    daily: daily !== undefined,
    ...daily,
    ...(validity_days === undefined ? {} : { validity_days }),
  };
}

function renderPrices(prices: ReadonlyMap<string, number>): Record<string, string> {
  return Object.fromEntries(
    [...prices].map(([currency, minor]) => [currency, toDecimal(minor, currency)]),
  );
}
