/** A type of JSON, as the public schemas name them. */
type Type = 'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string';
type Fields = Readonly<Record<string, readonly Type[]>>;

/**
 * The fields of an order that the worker reads, or that the stub shops show, with their types as
 * the platforms publish them. `required`: the fields that the worker reads.
 */
export interface PublicSchema {
  readonly source: string;
  readonly order: Fields;
  readonly line: Fields;
  readonly refund: Fields;
  readonly refundLine: Fields;
  readonly required: { readonly order: readonly string[]; readonly line: readonly string[] };
}

const text: readonly Type[] = ['string'];
const integer: readonly Type[] = ['integer'];
const list: readonly Type[] = ['array'];
const textOrNull: readonly Type[] = ['string', 'null'];

export const wooCommerceSchema: PublicSchema = {
  source:
    'woocommerce/woocommerce, get_item_schema and get_formatted_item_data of class-wc-rest-orders-v2-controller.php and class-wc-rest-order-refunds-v2-controller.php; the v3 controllers inherit them',
  order: {
    id: integer,
    number: text,
    status: text,
    currency: text,
    date_created_gmt: textOrNull,
    date_modified: textOrNull,
    date_modified_gmt: textOrNull,
    // The schema says date-time; wc_rest_prepare_date_response returns null for a date that was
    // never set.
    date_paid_gmt: textOrNull,
    meta_data: list,
    line_items: list,
    refunds: list,
  },
  // A quantity has type integer in the schema, and a fraction where a plugin allows it (#52198).
  // `sku` is null once the product is deleted.
  line: { id: integer, sku: textOrNull, quantity: ['integer', 'number'], meta_data: list },
  refund: { id: integer, line_items: list, reason: text, total: text },
  refundLine: { id: integer, quantity: ['integer', 'number'], meta_data: list },
  required: {
    order: [
      'id',
      'number',
      'status',
      'currency',
      'date_modified_gmt',
      'date_paid_gmt',
      'line_items',
      'refunds',
    ],
    line: ['id', 'sku', 'quantity', 'meta_data'],
  },
};

export const shopifySchema: PublicSchema = {
  source:
    'gadget-inc/shopify-webhook-schemas, schemas/2026-04/orders/updated.json and refunds/create.json; shopify.dev, Admin REST, order',
  order: {
    id: integer,
    name: text,
    currency: text,
    financial_status: text,
    cancelled_at: textOrNull,
    closed_at: textOrNull,
    test: ['boolean'],
    created_at: text,
    processed_at: text,
    updated_at: text,
    line_items: list,
    refunds: list,
  },
  line: {
    id: integer,
    // The order resource shows null for a line without a variant.
    sku: textOrNull,
    quantity: integer,
    current_quantity: integer,
    gift_card: ['boolean'],
    properties: list,
  },
  refund: { id: integer, refund_line_items: list },
  refundLine: { id: integer, line_item_id: integer, quantity: integer },
  required: {
    order: [
      'id',
      'name',
      'currency',
      'financial_status',
      'cancelled_at',
      'test',
      'processed_at',
      'updated_at',
      'refunds',
    ],
    line: ['id', 'sku', 'quantity', 'current_quantity', 'gift_card', 'properties'],
  },
};

function typeOf(value: unknown): Type {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  const type = typeof value;
  return type === 'number' || type === 'boolean' || type === 'object' ? type : 'string';
}

/**
 * In what an object disagrees with published fields: an unknown field, another type, or a field
 * that is missing.
 */
export function disagreements(
  value: object,
  fields: Fields,
  required: readonly string[] = [],
): readonly string[] {
  const shown = Object.entries(value).flatMap(([name, part]: [string, unknown]) => {
    const types = fields[name];
    if (types === undefined) return [`${name} is no published field`];
    return types.includes(typeOf(part))
      ? []
      : [`${name} is ${typeOf(part)}, published as ${types.join(' or ')}`];
  });
  return [
    ...shown,
    ...required.filter((name) => !(name in value)).map((name) => `${name} is missing`),
  ];
}
