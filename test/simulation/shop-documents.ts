import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ShopOrderPlan } from './intake-plan.ts';

/** One state of an order, as its shop has it. */
export interface ShopState {
  readonly plan: ShopOrderPlan;
  readonly status: 'unpaid' | 'paid' | 'cancelled' | 'refunded';
  /** By the clock of the shop, in seconds. */
  readonly modifiedS: number;
  readonly paidS: number;
  /** How many units of each line were refunded, by line id. */
  readonly refunded: ReadonlyMap<string, number>;
  /** The order as the shop shows it, with what was written into it; absent: nothing is written into its orders. */
  readonly shown?: string;
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);

const skuOf = ({ variant, plan }: AcceptableLine): string => (variant ?? plan ?? '').toUpperCase();

/** A shop sells things that have nothing to do with the worker, too. */
const shirt = { id: 999, sku: 'SHIRT', quantity: 1, current_quantity: 1 } as const;

const wooStatus = { unpaid: 'pending', paid: 'processing', cancelled: 'cancelled', refunded: 'refunded' } as const;

function wooOrder({ plan, status, modifiedS, paidS, refunded }: ShopState): Record<string, unknown> {
  const [first] = plan.lines;
  return {
    id: Number(first?.orderId),
    number: first?.orderId,
    status: wooStatus[status],
    currency: first?.currency,
    date_paid_gmt: status === 'unpaid' ? null : timeOf(paidS),
    date_modified_gmt: timeOf(modifiedS),
    line_items: [
      ...plan.lines.map((line) => ({
        id: Number(line.lineId),
        sku: skuOf(line),
        quantity: line.quantity ?? 1,
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

function shopifyOrder({ plan, status, modifiedS, paidS, refunded }: ShopState): Record<string, unknown> {
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
    processed_at: `${timeOf(paidS)}+00:00`,
    updated_at: `${timeOf(modifiedS)}+00:00`,
    line_items: [
      ...plan.lines.map((line) => ({
        id: Number(line.lineId),
        sku: skuOf(line),
        quantity: line.quantity ?? 1,
        current_quantity: (line.quantity ?? 1) - (refunded.get(line.lineId) ?? 0),
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
  return state.shown ?? JSON.stringify(state.plan.platform === 'woocommerce' ? wooOrder(state) : shopifyOrder(state));
}
