import type * as z from 'zod';
import type { ErrorCode } from './answers.ts';
import type { Operation } from '../orders/operations.ts';
import {
  balancesAnswer,
  cancelAnswer,
  cancelRequest,
  destinationsAnswer,
  esimOrderAnswer,
  esimOrderRequest,
  esimUnit,
  giftCardOrderAnswer,
  giftCardOrderRequest,
  plansAnswer,
  productsAnswer,
  topupRequest,
  topupsAnswer,
} from './wire.ts';

export type DocumentedOperation = {
  operation: Exclude<Operation, 'unknown'>;
  method: 'get' | 'post';
  path: string;
  tag: 'Gift cards & software' | 'eSIMs' | 'Account';
  summary: string;
  description: string;
  parameters?: Array<{
    name: string;
    in: 'path' | 'query';
    description: string;
    schema: object;
    example: string | number;
  }>;
  request?: z.ZodType;
  /** Status -> what it means. The same schema for all of them. */
  successes: Record<number, string>;
  answer: z.ZodType;
  errors: ErrorCode[];
  /** Does the spec show this method and path? Otherwise they are an assumption. */
  given: boolean;
};

const ofEveryCall: ErrorCode[] = [
  'invalid_key',
  'account_not_allowed',
  'ip_not_allowed',
  'rate_limited',
  'api_disabled',
];
const ofEveryPurchase: ErrorCode[] = [
  ...ofEveryCall,
  'insufficient_balance',
  'reference_in_use',
  'currency_unavailable',
  'invalid_request',
  'order_refused',
];
const text = { type: 'string', minLength: 1 };
const key = {
  name: 'key',
  in: 'path' as const,
  description: 'The order number or your reference.',
  schema: text,
  example: 'shop-1001-1',
};
const iccid = {
  name: 'iccid',
  in: 'path' as const,
  description: 'The eSIM.',
  schema: text,
  example: '8999901000000000013',
};
const bought = { 201: 'Bought.', 200: 'The reference was used before: the answer of that order.' };
const retries = 'After a timeout, a dropped connection, 429 or 5xx: the same body with the same reference again.';

/** Every operation, in the order in which the document and its page show them. */
export const documentedOperations: DocumentedOperation[] = [
  {
    operation: 'gift_card_order',
    method: 'post',
    path: '/orders',
    tag: 'Gift cards & software',
    summary: 'Place a gift card or software order',
    description: `Spends money from the balance of \`currency\`. Counts toward the order limit. ${retries}`,
    request: giftCardOrderRequest,
    successes: bought,
    answer: giftCardOrderAnswer,
    errors: [...ofEveryPurchase, 'invalid_variant', 'out_of_stock', 'limit_exceeded', 'not_api_sellable'],
    given: true,
  },
  {
    operation: 'gift_card_lookup',
    method: 'get',
    path: '/orders/{key}',
    tag: 'Gift cards & software',
    summary: 'Look up a gift card or software order',
    description: 'By order number or reference. Orders of the eSIM family are not found here.',
    parameters: [key],
    successes: { 200: 'The order.' },
    answer: giftCardOrderAnswer,
    errors: [...ofEveryCall, 'not_found'],
    given: false,
  },
  {
    operation: 'products',
    method: 'get',
    path: '/products',
    tag: 'Gift cards & software',
    summary: 'List the catalogue of gift cards and software',
    description: 'Everything at once, or page by page.',
    parameters: [
      { name: 'page', in: 'query', description: 'From 1.', schema: { type: 'integer', minimum: 1 }, example: 1 },
      {
        name: 'per_page',
        in: 'query',
        description: 'At most 1000.',
        schema: { type: 'integer', minimum: 1, maximum: 1000 },
        example: 50,
      },
    ],
    successes: { 200: 'The products.' },
    answer: productsAnswer,
    errors: [...ofEveryCall, 'invalid_request'],
    given: false,
  },
  {
    operation: 'esim_order',
    method: 'post',
    path: '/esim/orders',
    tag: 'eSIMs',
    summary: 'Place an eSIM order',
    description: `\`quantity\` is 1 to 30; \`days\` is required for a daily plan. Counts toward the order limit. ${retries}`,
    request: esimOrderRequest,
    successes: bought,
    answer: esimOrderAnswer,
    errors: [...ofEveryPurchase, 'invalid_plan'],
    given: true,
  },
  {
    operation: 'esim_order_lookup',
    method: 'get',
    path: '/esim/orders/{key}',
    tag: 'eSIMs',
    summary: 'Look up an eSIM order or a top-up',
    description: 'By order number or reference. Orders of the gift card family are not found here.',
    parameters: [key],
    successes: { 200: 'The order.' },
    answer: esimOrderAnswer,
    errors: [...ofEveryCall, 'not_found'],
    given: false,
  },
  {
    operation: 'destinations',
    method: 'get',
    path: '/esim/destinations',
    tag: 'eSIMs',
    summary: 'List the destinations',
    description: 'Countries and regions, with the number of plans on sale.',
    successes: { 200: 'The destinations.' },
    answer: destinationsAnswer,
    errors: ofEveryCall,
    given: false,
  },
  {
    operation: 'plans',
    method: 'get',
    path: '/esim/destinations/{destination}/plans',
    tag: 'eSIMs',
    summary: 'List the plans of a destination',
    description: 'Plans that went off sale are not listed.',
    parameters: [{ name: 'destination', in: 'path', description: 'The destination.', schema: text, example: 'spain' }],
    successes: { 200: 'The plans.' },
    answer: plansAnswer,
    errors: [...ofEveryCall, 'not_found'],
    given: false,
  },
  {
    operation: 'esim',
    method: 'get',
    path: '/esim/esims/{iccid}',
    tag: 'eSIMs',
    summary: 'Show an eSIM',
    description: 'Its state, and what is needed to install it.',
    parameters: [iccid],
    successes: { 200: 'The eSIM.' },
    answer: esimUnit,
    errors: [...ofEveryCall, 'not_found'],
    given: false,
  },
  {
    operation: 'topups',
    method: 'get',
    path: '/esim/esims/{iccid}/topups',
    tag: 'eSIMs',
    summary: "List an eSIM's top-up plans",
    description: 'Only these plans are accepted for a top-up.',
    parameters: [iccid],
    successes: { 200: 'The top-up plans.' },
    answer: topupsAnswer,
    errors: [...ofEveryCall, 'not_found'],
    given: true,
  },
  {
    operation: 'esim_topup',
    method: 'post',
    path: '/esim/esims/{iccid}/topups',
    tag: 'eSIMs',
    summary: 'Top up an eSIM',
    description: `Carries a reference and counts toward the order limit. ${retries}`,
    parameters: [iccid],
    request: topupRequest,
    successes: bought,
    answer: esimOrderAnswer,
    errors: [...ofEveryPurchase, 'not_found', 'invalid_plan', 'topup_not_allowed'],
    given: false,
  },
  {
    operation: 'esim_cancel',
    method: 'post',
    path: '/esim/esims/{iccid}/cancel',
    tag: 'eSIMs',
    summary: 'Cancel an eSIM and get its price back',
    description: 'Carries no reference; a second cancel answers 409 `not_cancellable`. Counts toward the order limit.',
    parameters: [iccid],
    request: cancelRequest,
    successes: { 200: 'Cancelled and refunded.' },
    answer: cancelAnswer,
    errors: [...ofEveryCall, 'not_found', 'invalid_request', 'not_cancellable'],
    given: false,
  },
  {
    operation: 'balances',
    method: 'get',
    path: '/balances',
    tag: 'Account',
    summary: 'Show the balances',
    description: 'One for each currency. A key can spend them, never add to them.',
    successes: { 200: 'The balances.' },
    answer: balancesAnswer,
    errors: ofEveryCall,
    given: false,
  },
];
