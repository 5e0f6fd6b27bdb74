import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ShopOrderPlan } from './intake-plan.ts';
import { wallStartMs } from './virtual-time.ts';

/** One state of an order, as its shop has it. */
export interface ShopState {
  readonly plan: ShopOrderPlan;
  readonly status: 'unpaid' | 'paid' | 'cancelled' | 'refunded';
  /** By the clock of the shop, in seconds. */
  readonly modifiedS: number;
  readonly paidS: number;
  /** How many units of each line were refunded, by line id. */
  readonly refunded: ReadonlyMap<string, number>;
  /** How many units more of the first line it has than it was sold with; absent: none. */
  readonly more?: number;
  /** It is the other sale to which the shop gave the ids of this one. */
  readonly isGivenAgain?: boolean;
  /**
   * The order as the shop shows it, with what was written into it; absent: nothing is written into
   * its orders.
   */
  readonly shown?: string;
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);

/** The SKU of a line as the map has it. */
export const mappedSku = ({ variant, plan }: AcceptableLine): string =>
  (variant ?? plan ?? '').toUpperCase();

const fullWidth = (sku: string): string =>
  sku.replaceAll(/./g, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfe_e0));

/** How people, shops and spreadsheets write a SKU. */
const spellings: readonly ((sku: string) => string)[] = [
  (sku) => sku.toLowerCase(),
  (sku) => ` ${sku} `,
  (sku) => `&#${sku.codePointAt(0)};${sku.slice(1)}`,
  (sku) => `${sku.slice(0, 2)}\u{200b}${sku.slice(2)}`,
  (sku) => `'${sku}`,
  fullWidth,
];

/** SKUs that are easily mistaken for one of the map. */
const nearOnes: readonly ((sku: string) => string)[] = [
  (sku) => `${sku} (Copy)`,
  (sku) => `${sku.slice(0, 2)}-${sku.slice(2)}`,
  (sku) => `${sku.toLowerCase()}-copy-1`,
  (sku) => `${sku[1]}${sku[0]}${sku.slice(2)}`,
];

/** The SKU of a line as its shop shows it. */
function skuOf(line: AcceptableLine, { lines, oddity }: ShopOrderPlan): string {
  const sku = mappedSku(line);
  const index = lines.indexOf(line);
  if (oddity?.kind === 'spelled')
    return spellings[(oddity.way + index) % spellings.length]?.(sku) ?? sku;
  return oddity?.kind === 'near' && index === 0
    ? (nearOnes[oddity.way % nearOnes.length]?.(sku) ?? sku)
    : sku;
}

/** How many units of a line the order has. */
export function piecesOf(
  line: AcceptableLine,
  { plan, more = 0 }: Pick<ShopState, 'plan' | 'more'>,
): number {
  return (line.quantity ?? 1) + (plan.lines.indexOf(line) === 0 ? more : 0);
}

/** An order that was sold before is as old in each of its states. */
const ageS = ({ oddity }: ShopOrderPlan): number =>
  oddity?.kind === 'sold_before' ? oddity.hours * 3600 : 0;

/** What tells a sale from another one with the same ids, as WooCommerce shows it. */
function saleOf({ plan, paidS, isGivenAgain = false }: ShopState): Record<string, unknown> {
  const { oddity } = plan;
  const hasKey = oddity?.kind !== 'given_again' || oddity.by === 'key';
  const made = timeOf(
    isGivenAgain ? paidS : Math.floor((wallStartMs + plan.atMs) / 1000) - ageS(plan),
  );
  return {
    ...(hasKey ? { order_key: isGivenAgain ? 'wc_order_second' : 'wc_order_first' } : {}),
    date_created_gmt: made,
    customer_id: isGivenAgain ? 6 : 5,
  };
}

/** By what an order of WooCommerce names another one. */
function wooMarks({ oddity, payment }: ShopOrderPlan): Record<string, unknown> {
  const copied = oddity?.kind === 'copy' ? oddity : null;
  return {
    ...(payment === undefined ? {} : { transaction_id: payment }),
    ...(copied?.by === 'part_of' ? { parent_id: Number(copied.of) } : {}),
    ...(copied?.by === 'names'
      ? { meta_data: [{ id: 1, key: '_copied_from', value: copied.of }] }
      : {}),
  };
}

function shopifyMarks({ oddity, payment }: ShopOrderPlan): Record<string, unknown> {
  return {
    ...(payment === undefined ? {} : { checkout_token: payment }),
    ...(oddity?.kind === 'copy' && oddity.by !== 'payment'
      ? { tags: `vip, copy-of-${oddity.of}` }
      : {}),
  };
}

/** A shop sells things that have nothing to do with the worker, too. */
const shirt = { id: 999, sku: 'SHIRT', quantity: 1, current_quantity: 1 } as const;

const wooStatus = {
  unpaid: 'pending',
  paid: 'processing',
  cancelled: 'cancelled',
  refunded: 'refunded',
} as const;

function wooOrder(state: ShopState): Record<string, unknown> {
  const { plan, status, modifiedS, paidS, refunded } = state;
  const [first] = plan.lines;
  return {
    id: Number(first?.orderId),
    number: first?.orderId,
    status: wooStatus[status],
    currency: first?.currency,
    ...saleOf(state),
    ...wooMarks(plan),
    date_paid_gmt: status === 'unpaid' ? null : timeOf(paidS - ageS(plan)),
    date_modified_gmt: timeOf(modifiedS),
    line_items: [
      ...plan.lines.map((line) => ({
        id: Number(line.lineId),
        sku: skuOf(line, plan),
        quantity: piecesOf(line, state),
        meta_data: [],
      })),
      ...(plan.isOursOnly === true ? [] : [shirt]),
    ],
    // The order does not say which lines a refund is for.
    refunds: [...refunded.keys()].map((lineId) => ({ id: Number(lineId) + 5000 })),
  };
}

/** The refunds of an order of WooCommerce, as its API shows them. */
export function wooRefunds({ refunded }: ShopState): readonly Record<string, unknown>[] {
  return [...refunded].map(([lineId, quantity]) => ({
    id: Number(lineId) + 5000,
    line_items: [{ quantity: -quantity, meta_data: [{ key: '_refunded_item_id', value: lineId }] }],
  }));
}

function shopifyOrder(state: ShopState): Record<string, unknown> {
  const { plan, status, modifiedS, paidS, refunded } = state;
  const [first] = plan.lines;
  const paid = refunded.size > 0 ? 'partially_refunded' : 'paid';
  const financial = { unpaid: 'pending', paid, cancelled: paid, refunded: 'refunded' } as const;
  return {
    id: Number(first?.orderId),
    name: `#${first?.orderId}`,
    currency: first?.currency,
    financial_status: financial[status],
    cancelled_at: status === 'cancelled' ? `${timeOf(modifiedS)}Z` : null,
    test: false,
    ...shopifyMarks(plan),
    // Without it, nobody knows when an order was paid that was placed before.
    ...(ageS(plan) > 0 ? { fulfillment_status: 'fulfilled' } : {}),
    processed_at: `${timeOf(paidS - ageS(plan))}+00:00`,
    updated_at: `${timeOf(modifiedS)}+00:00`,
    line_items: [
      ...plan.lines.map((line) => ({
        id: Number(line.lineId),
        sku: skuOf(line, plan),
        // A piece that staff remove stays in the quantity.
        quantity: Math.max(line.quantity ?? 1, piecesOf(line, state)),
        current_quantity: piecesOf(line, state) - (refunded.get(line.lineId) ?? 0),
        properties: [],
      })),
      ...(plan.isOursOnly === true ? [] : [shirt]),
    ],
    refunds: [...refunded].map(([lineId, quantity]) => ({
      refund_line_items: [{ line_item_id: Number(lineId), quantity }],
    })),
  };
}

/** The body of the webhook about a state. */
export function shopDocument(state: ShopState): string {
  return (
    state.shown ??
    JSON.stringify(state.plan.platform === 'woocommerce' ? wooOrder(state) : shopifyOrder(state))
  );
}
