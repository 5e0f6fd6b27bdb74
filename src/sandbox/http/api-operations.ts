import type * as z from 'zod';
import { isPurchase, type Operation } from '../values/operations.ts';
import type { ErrorCode } from '../orders/answers.ts';
import * as wire from '../orders/wire.ts';

type Parameter = ReturnType<typeof parameter>;

/** The facts of an operation from which its documentation follows. */
type OperationEntry = {
  operation: Exclude<Operation, 'unknown'>;
  path: string;
  summary: string;
  description: string;
  query?: Parameter[];
  request?: z.ZodType;
  answer: z.ZodType;
  /** The errors that only this operation has. */
  errors?: ErrorCode[];
  /** True when the spec shows this method and path; false when they are an assumption. */
  given?: boolean;
  /** Of the request. */
  example?: object;
};

export type ApiOperation = OperationEntry & {
  method: 'get' | 'post';
  tag: 'Gift cards & software' | 'eSIMs' | 'Account';
  parameters: Parameter[];
  errors: ErrorCode[];
  /** Status -> what it means. All of them carry `answer`. */
  successes: Record<number, string>;
};

const callErrors = ['invalid_key', 'account_not_allowed', 'ip_not_allowed', 'rate_limited', 'api_disabled'] as const;
const purchaseErrors = [
  'insufficient_balance',
  'reference_in_use',
  'currency_unavailable',
  'invalid_request',
  'order_refused',
] as const;
const retries = 'After a timeout, a dropped connection, 429 or 5xx: the same body with the same reference again.';

const giftCardRequest = { reference: 'shop-1001-1', variant: 'steam-usd-20', quantity: 1, currency: 'USD' };
const esimRequest = { reference: 'shop-1001-2', plan: 'es-5gb-30d', quantity: 1, currency: 'EUR' };
const topupBody = { reference: 'shop-1001-3', plan: 'es-1gb-7d', currency: 'USD' };

const text = { type: 'string', minLength: 1 };
const pathParameters = [
  parameter('path', 'key', 'The order number or your reference.', text, giftCardRequest.reference),
  parameter('path', 'iccid', 'The eSIM.', text, '8999901000000000013'),
  parameter('path', 'destination', 'The destination.', text, 'spain'),
];

const entries: OperationEntry[] = [
  {
    operation: 'gift_card_order',
    path: '/orders',
    summary: 'Place a gift card or software order',
    description: `Spends money from the balance of \`currency\`. Counts toward the order limit. ${retries}`,
    request: wire.giftCardOrderRequest,
    answer: wire.giftCardOrderAnswer,
    errors: ['invalid_variant', 'out_of_stock', 'limit_exceeded', 'not_api_sellable'],
    given: true,
    example: giftCardRequest,
  },
  {
    operation: 'gift_card_lookup',
    path: '/orders/{key}',
    summary: 'Look up a gift card or software order',
    description: 'By order number or reference. Orders of the eSIM family are not found here.',
    answer: wire.giftCardOrderAnswer,
  },
  {
    operation: 'products',
    path: '/products',
    summary: 'List the catalogue of gift cards and software',
    description: 'Everything at once, or page by page.',
    query: [
      parameter('query', 'page', 'From 1.', { type: 'integer', minimum: 1 }, 1),
      parameter('query', 'per_page', 'At most 1000.', { type: 'integer', minimum: 1, maximum: 1000 }, 50),
    ],
    answer: wire.productsAnswer,
    errors: ['invalid_request'],
  },
  {
    operation: 'esim_order',
    path: '/esim/orders',
    summary: 'Place an eSIM order',
    description: `\`quantity\` is 1 to 30; \`days\` is required for a daily plan. Counts toward the order limit. ${retries}`,
    request: wire.esimOrderRequest,
    answer: wire.esimOrderAnswer,
    errors: ['invalid_plan'],
    given: true,
    example: esimRequest,
  },
  {
    operation: 'esim_order_lookup',
    path: '/esim/orders/{key}',
    summary: 'Look up an eSIM order or a top-up',
    description: 'By order number or reference. Orders of the gift card family are not found here.',
    answer: wire.esimOrderAnswer,
  },
  {
    operation: 'destinations',
    path: '/esim/destinations',
    summary: 'List the destinations',
    description: 'Countries and regions, with the number of plans on sale.',
    answer: wire.destinationsAnswer,
  },
  {
    operation: 'plans',
    path: '/esim/destinations/{destination}/plans',
    summary: 'List the plans of a destination',
    description: 'Plans that went off sale are not listed.',
    answer: wire.plansAnswer,
  },
  {
    operation: 'esim',
    path: '/esim/esims/{iccid}',
    summary: 'Show an eSIM',
    description: 'Its state, and what is needed to install it.',
    answer: wire.esimUnit,
  },
  {
    operation: 'topups',
    path: '/esim/esims/{iccid}/topups',
    summary: "List an eSIM's top-up plans",
    description: 'Only these plans are accepted for a top-up.',
    answer: wire.topupsAnswer,
    given: true,
  },
  {
    operation: 'esim_topup',
    path: '/esim/esims/{iccid}/topups',
    summary: 'Top up an eSIM',
    description: `Carries a reference and counts toward the order limit. ${retries}`,
    request: wire.topupRequest,
    answer: wire.esimOrderAnswer,
    errors: ['invalid_plan', 'topup_not_allowed'],
    example: topupBody,
  },
  {
    operation: 'esim_cancel',
    path: '/esim/esims/{iccid}/cancel',
    summary: 'Cancel an eSIM and get its price back',
    description: 'Carries no reference; a second cancel answers 409 `not_cancellable`. Counts toward the order limit.',
    request: wire.cancelRequest,
    answer: wire.cancelAnswer,
    errors: ['invalid_request', 'not_cancellable'],
    example: {},
  },
  {
    operation: 'balances',
    path: '/balances',
    summary: 'Show the balances',
    description: 'One for each currency. A key can spend them, never add to them.',
    answer: wire.balancesAnswer,
  },
];

/** Every operation, in the order in which the document and its page show them. */
export const apiOperations: ApiOperation[] = entries.map(complete);

function parameter(place: 'path' | 'query', name: string, description: string, schema: object, example: unknown) {
  return { name, in: place, description, schema, required: place === 'path', example };
}

function complete(entry: OperationEntry): ApiOperation {
  const { operation, path } = entry;
  const family = path.startsWith('/esim/') ? 'eSIMs' : 'Gift cards & software';
  const purchase = isPurchase(operation);
  const parameters = pathParameters.filter(({ name }) => path.includes(`{${name}}`));
  return {
    ...entry,
    method: entry.request === undefined ? 'get' : 'post',
    tag: operation === 'balances' ? 'Account' : family,
    parameters: [...parameters, ...(entry.query ?? [])],
    successes: purchase
      ? { 201: 'Bought.', 200: 'The reference was used before: that order in its current state.' }
      : { 200: 'The answer.' },
    errors: [
      ...callErrors,
      ...(purchase ? purchaseErrors : []),
      // The resource in the path may be missing.
      ...(parameters.length > 0 ? (['not_found'] as const) : []),
      ...(entry.errors ?? []),
    ],
  };
}
