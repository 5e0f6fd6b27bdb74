import type * as z from 'zod';
import type { Destination, Plan, Product } from '../orders/catalogue.ts';
import { isoTime } from '../clock.ts';
import type { Code } from '../orders/codes.ts';
import { type Esim, stateOf } from '../orders/esims.ts';
import { toDecimal } from '../account/money.ts';
import type { Order } from '../orders/orders.ts';
import type {
  codeUnit,
  destinationsAnswer,
  esimOrderAnswer,
  esimUnit,
  giftCardOrderAnswer,
  planUnit,
  productUnit,
} from './wire.ts';

export function renderGiftCardOrder(order: Order, codes: Code[]): z.output<typeof giftCardOrderAnswer> {
  return {
    ...orderFacts(order),
    variant: order.item,
    codes: order.status === 'completed' ? codes.map(renderCode) : [],
  };
}

export function renderEsimOrder(order: Order, esims: Esim[], now: number): z.output<typeof esimOrderAnswer> {
  return {
    ...orderFacts(order),
    plan: order.item,
    ...(order.days === null ? {} : { days: order.days }),
    ...(order.iccid === null ? {} : { iccid: order.iccid }),
    esims: order.status === 'pending' ? [] : esims.map((esim) => renderEsim(esim, now)),
  };
}

function orderFacts(order: Order) {
  return {
    number: order.number,
    reference: order.reference ?? '',
    status: order.status,
    currency: order.currency,
    total: toDecimal(order.cost_minor, order.currency),
    ...(order.refunded_minor === 0 ? {} : { refunded_amount: toDecimal(order.refunded_minor, order.currency) }),
    quantity: order.quantity,
    created_at: isoTime(order.created_at),
  };
}

function renderCode(code: Code): z.output<typeof codeUnit> {
  return {
    code: code.code,
    serial: code.serial,
    ...(code.pin === null ? {} : { pin: code.pin }),
    ...(code.url === null ? {} : { url: code.url }),
    ...(code.expires_at === null ? {} : { expires_at: isoTime(code.expires_at) }),
  };
}

export function renderEsim(esim: Esim, now: number): z.output<typeof esimUnit> {
  return {
    iccid: esim.iccid,
    state: stateOf(esim, now),
    plan: esim.plan,
    smdp_address: esim.smdp_address,
    matching_id: esim.matching_id,
    lpa: `LPA:1$${esim.smdp_address}$${esim.matching_id}`,
    installed: esim.installed_at !== null,
    topped_up: esim.topped_up_at !== null,
    created_at: isoTime(esim.created_at),
    expires_at: isoTime(esim.expires_at),
  };
}

export function renderProduct(product: Product, stock: number): z.output<typeof productUnit> {
  return {
    variant: product.variant,
    name: product.name,
    brand: product.brand,
    category: product.category,
    prices: renderPrices(product.prices),
    stock,
    max_quantity: product.max_quantity,
    website_only: product.website_only,
    api_sellable: !product.website_only,
  };
}

export function renderPlan(plan: Plan): z.output<typeof planUnit> {
  return {
    plan: plan.plan,
    name: plan.name,
    destination: plan.destination,
    prices: renderPrices(plan.prices),
    data_mb: plan.unlimited ? null : (plan.data_mb ?? null),
    unlimited: plan.unlimited,
    daily: plan.daily !== undefined,
    ...(plan.daily === undefined ? {} : plan.daily),
    ...(plan.validity_days === undefined ? {} : { validity_days: plan.validity_days }),
  };
}

export function renderDestination(
  place: Destination,
  plansOnSale: number,
): z.output<typeof destinationsAnswer>['destinations'][number] {
  return { destination: place.destination, name: place.name, countries: place.countries, plans: plansOnSale };
}

function renderPrices(prices: ReadonlyMap<string, number>): Record<string, string> {
  return Object.fromEntries([...prices].map(([currency, minor]) => [currency, toDecimal(minor, currency)]));
}
