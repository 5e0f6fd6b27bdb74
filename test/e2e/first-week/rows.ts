import type { StubOrder } from '../../support/shops/shop-order.ts';
import type { StubShop } from '../../storefronts/read-back/stub-shop.ts';

/**
 * What a real shop sends in its first week, and what must become of it. Each row has a shop of its
 * own.
 */
export interface Row {
  readonly name: string;
  /** The documentation, the source or the report that has this form. */
  readonly source: string;
  readonly platform?: 'woocommerce' | 'shopify';
  /** Each begins when everything is settled that the one before, of all rows, has caused. */
  readonly steps: readonly Step[];
  /**
   * Units by order and line, as the supplier sold them. Default: one card of line 315 of order 727.
   */
  readonly bought?: readonly string[];
  /** What needs attention: `<order id, or "shop"> <code>`. Default: nothing. */
  readonly told?: readonly string[];
  /** Texts that must stand in the messages of what needs attention. */
  readonly says?: readonly string[];
  /** Texts that the log of the worker must have about the shop. */
  readonly logs?: readonly string[];
  /** How many times it happened, by the row of the shop. */
  readonly count?: number;
  /** Keys of the shop in the configuration. */
  readonly shop?: Record<string, unknown>;
  /** The SKU map; default: `usualMap`. */
  readonly map?: string;
  /** How many hours ago the shop was connected. Default: 30 days. */
  readonly connectedH?: number;
  /** A shop that is read back, as it is before the worker starts. */
  readonly read?: (stub: StubShop) => void;
}

export interface Delivery {
  /** A function makes it when it is sent. */
  readonly body: unknown;
  readonly topic: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the address of the shop. */
  readonly path?: (usual: string) => string;
}

export type Step =
  | Delivery
  | readonly Delivery[]
  | { readonly skus: string }
  | { readonly inShop: (stub: StubShop) => void };

export const oneCard = ['727/315 1'];
export const nothing: readonly string[] = [];

export const usualMap = `
  STEAM-20: { type: gift_card_order, variant: steam-usd-20 }
  XBOX-25: { type: gift_card_order, variant: xbox-usd-25 }
  APPLE-50: { type: gift_card_order, variant: apple-usd-50 }
`;

const secondsAgo = (hours: number): number =>
  Math.floor((Date.now() - hours * 3_600_000) / 1000) * 1000;
/** A time as WooCommerce writes it. */
export const hoursAgo = (hours: number): string =>
  new Date(secondsAgo(hours)).toISOString().slice(0, 19);
/** The same as Shopify writes it, in the zone of a shop in New York. */
export const zonedHoursAgo = (hours: number): string => `${hoursAgo(hours + 4)}-04:00`;

/** The same order 30 minutes later. */
export const later = { date_modified_gmt: hoursAgo(0.5) };
export const laterStill = { date_modified_gmt: hoursAgo(0.2) };

/** A field of a plugin, of an order or a line. */
export const meta = (key: string, value: unknown): Record<string, unknown> => ({
  id: 9001,
  key,
  value,
});

type Changes = Readonly<Record<string, unknown>>;

export const card = (changes: Changes = {}) => ({
  id: 315,
  name: 'Steam Gift Card 20 USD',
  product_id: 93,
  variation_id: 0,
  quantity: 1,
  tax_class: '',
  subtotal: '20.00',
  total: '20.00',
  sku: 'STEAM-20',
  price: 20,
  parent_name: null,
  meta_data: [],
  ...changes,
});
export const mug = (changes: Changes = {}) =>
  card({ id: 316, name: 'Mug', product_id: 94, sku: 'MUG-1', ...changes });

/** An order of WooCommerce that was paid by card an hour ago. */
export function wooOrder(changes: Changes = {}): Record<string, unknown> {
  const id = Number(changes['id'] ?? 727);
  return {
    id,
    parent_id: 0,
    number: String(id),
    order_key: `wc_order_Zk3y${id}Qx8`,
    created_via: 'checkout',
    version: '9.4.2',
    status: 'processing',
    currency: 'USD',
    date_created_gmt: hoursAgo(1.1),
    date_modified_gmt: hoursAgo(1),
    date_paid_gmt: hoursAgo(1),
    total: '20.00',
    customer_id: id + 9000,
    billing: { first_name: 'Ada', last_name: 'King', email: `ada.${id}@example.com` },
    payment_method: 'stripe',
    payment_method_title: 'Credit / Debit Card',
    transaction_id: `ch_3P${id}LkdIwHu7ix`,
    customer_note: '',
    cart_hash: `b3f9${id}d1c2a7`,
    meta_data: [],
    line_items: [card()],
    shipping_lines: [],
    fee_lines: [],
    coupon_lines: [],
    refunds: [],
    ...changes,
  };
}

/** A webhook of WooCommerce about that order. */
export const woo = (changes: Changes = {}, delivery: Partial<Delivery> = {}): Delivery => ({
  body: wooOrder(changes),
  topic: 'order.updated',
  ...delivery,
});
/** A paid order with this SKU. */
export const wooSku = (sku: unknown): Delivery => woo({ line_items: [card({ sku })] });
/** A paid order with these fields of plugins. */
export const wooMeta = (...fields: readonly Record<string, unknown>[]): Delivery =>
  woo({ meta_data: fields });

export const shopifyCard = (changes: Changes = {}) => ({
  id: 315,
  admin_graphql_api_id: 'gid://shopify/LineItem/315',
  sku: 'STEAM-20',
  title: 'Steam Gift Card',
  variant_title: '20 USD',
  price: '20.00',
  quantity: 1,
  current_quantity: 1,
  fulfillable_quantity: 1,
  fulfillment_status: null,
  gift_card: false,
  product_exists: true,
  product_id: 1,
  variant_id: 2,
  requires_shipping: false,
  properties: [],
  ...changes,
});

/** An order of Shopify that was paid by card an hour ago. */
export function shopifyOrder(changes: Changes = {}): Record<string, unknown> {
  const id = Number(changes['id'] ?? 727);
  return {
    id,
    admin_graphql_api_id: `gid://shopify/Order/${id}`,
    name: `#${id}`,
    order_number: id,
    test: false,
    currency: 'USD',
    financial_status: 'paid',
    fulfillment_status: null,
    created_at: zonedHoursAgo(1),
    processed_at: zonedHoursAgo(1),
    updated_at: zonedHoursAgo(1),
    closed_at: null,
    cancelled_at: null,
    confirmed: true,
    payment_gateway_names: ['shopify_payments'],
    source_name: 'web',
    token: `5a3b${id}c8`,
    cart_token: `hWN2${id}`,
    checkout_id: 37_000_000_000 + id,
    checkout_token: `e41b${id}`,
    email: `ada.${id}@example.com`,
    customer: { id: 7000 + id },
    tags: '',
    note: null,
    note_attributes: [],
    line_items: [shopifyCard()],
    refunds: [],
    ...changes,
  };
}

/** A webhook of Shopify about that order. */
export const shopify = (
  changes: Changes = {},
  topic = 'orders/paid',
  delivery: Partial<Delivery> = {},
): Delivery => ({
  body: shopifyOrder(changes),
  topic,
  ...delivery,
});
export const shopifySku = (sku: unknown): Delivery =>
  shopify({ line_items: [shopifyCard({ sku })] });

/** An order as a stub shop has it; it adds id and times. */
export function inStub(
  order: Record<string, unknown>,
  modifiedMs = Math.floor(Date.now() / 1000) * 1000,
) {
  const { id, ...body } = order;
  return { id: String(id), modifiedMs, body } satisfies Partial<StubOrder>;
}
