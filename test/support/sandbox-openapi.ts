import * as z from 'zod';
import * as requests from '../../sandbox/orders/wire.ts';
import { isPurchase, type Operation } from '../../sandbox/values/operations.ts';
import * as answers from './sandbox-answers.ts';
import { type ErrorCode, errorRows } from './sandbox-errors.ts';

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

type ApiOperation = OperationEntry & {
  method: 'get' | 'post';
  tag: 'Gift cards & software' | 'eSIMs' | 'Account';
  parameters: Parameter[];
  errors: ErrorCode[];
  /** Status -> what it means. All of them carry `answer`. */
  successes: Record<number, string>;
};

const callErrors = [
  'invalid_key',
  'account_not_allowed',
  'ip_not_allowed',
  'rate_limited',
  'api_disabled',
] as const;
const purchaseErrors = [
  'insufficient_balance',
  'reference_in_use',
  'currency_unavailable',
  'invalid_request',
  'order_refused',
] as const;
const retries =
  'After a timeout, a dropped connection, 429 or 5xx: the same body with the same reference again.';

const giftCardRequest = {
  reference: 'shop-1001-1',
  variant: 'steam-usd-20',
  quantity: 1,
  currency: 'USD',
};
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
    request: requests.giftCardOrderRequest,
    answer: answers.giftCardOrderAnswer,
    errors: ['invalid_variant', 'out_of_stock', 'limit_exceeded', 'not_api_sellable'],
    given: true,
    example: giftCardRequest,
  },
  {
    operation: 'gift_card_lookup',
    path: '/orders/{key}',
    summary: 'Look up a gift card or software order',
    description: 'By order number or reference. Orders of the eSIM family are not found here.',
    answer: answers.giftCardOrderAnswer,
  },
  {
    operation: 'products',
    path: '/products',
    summary: 'List the catalogue of gift cards and software',
    description: 'Everything at once, or page by page.',
    query: [
      parameter('query', 'page', 'From 1.', { type: 'integer', minimum: 1 }, 1),
      parameter(
        'query',
        'per_page',
        'At most 1000.',
        { type: 'integer', minimum: 1, maximum: 1000 },
        50,
      ),
    ],
    answer: answers.productsAnswer,
    errors: ['invalid_request'],
  },
  {
    operation: 'esim_order',
    path: '/esim/orders',
    summary: 'Place an eSIM order',
    description: `\`quantity\` is 1 to 30; \`days\` is required for a daily plan. Counts toward the order limit. ${retries}`,
    request: requests.esimOrderRequest,
    answer: answers.esimOrderAnswer,
    errors: ['invalid_plan'],
    given: true,
    example: esimRequest,
  },
  {
    operation: 'esim_order_lookup',
    path: '/esim/orders/{key}',
    summary: 'Look up an eSIM order or a top-up',
    description: 'By order number or reference. Orders of the gift card family are not found here.',
    answer: answers.esimOrderAnswer,
  },
  {
    operation: 'destinations',
    path: '/esim/destinations',
    summary: 'List the destinations',
    description: 'Countries and regions, with the number of plans on sale.',
    answer: answers.destinationsAnswer,
  },
  {
    operation: 'plans',
    path: '/esim/destinations/{destination}/plans',
    summary: 'List the plans of a destination',
    description: 'Plans that went off sale are not listed.',
    answer: answers.plansAnswer,
  },
  {
    operation: 'esim',
    path: '/esim/esims/{iccid}',
    summary: 'Show an eSIM',
    description: 'Its state, and what is needed to install it.',
    answer: answers.esimUnit,
  },
  {
    operation: 'topups',
    path: '/esim/esims/{iccid}/topups',
    summary: "List an eSIM's top-up plans",
    description: 'Only these plans are accepted for a top-up.',
    answer: answers.topupsAnswer,
    given: true,
  },
  {
    operation: 'esim_topup',
    path: '/esim/esims/{iccid}/topups',
    summary: 'Top up an eSIM',
    description: `Carries a reference and counts toward the order limit. ${retries}`,
    request: requests.topupRequest,
    answer: answers.esimOrderAnswer,
    errors: ['invalid_plan', 'topup_not_allowed'],
    example: topupBody,
  },
  {
    operation: 'esim_cancel',
    path: '/esim/esims/{iccid}/cancel',
    summary: 'Cancel an eSIM and get its price back',
    description:
      'Carries no reference; a second cancel answers 409 `not_cancellable`. Counts toward the order limit.',
    request: requests.cancelRequest,
    answer: answers.cancelAnswer,
    errors: ['invalid_request', 'not_cancellable'],
    example: {},
  },
  {
    operation: 'balances',
    path: '/balances',
    summary: 'Show the balances',
    description: 'One for each currency. A key can spend them, never add to them.',
    answer: answers.balancesAnswer,
  },
];

/** Every operation, in the order in which the document and its page show them. */
export const apiOperations: ApiOperation[] = entries.map(complete);

function parameter(
  place: 'path' | 'query',
  name: string,
  description: string,
  schema: object,
  example: unknown,
) {
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

const requestId = {
  description: 'Names this call in the request log of the sandbox.',
  schema: { type: 'string' },
};
const schemaPath = '#/components/schemas/';

/** What `sandbox/http/openapi.yaml` must say, made from the schemas that check the requests. */
export function sandboxDocument(): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of apiOperations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wholesale Ordering API (sandbox)',
      version: '1.0.0',
      description:
        'Buy gift cards, software keys and eSIMs from the balances of a wholesale account. Amounts are decimal text. Per key: 60 requests and 20 orders, top-ups and cancels a minute. Operations marked as assumed are not shown in the specification of the service.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This sandbox' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Gift cards & software', description: 'Endpoints without a prefix.' },
      { name: 'eSIMs', description: 'Endpoints below /esim.' },
      { name: 'Account', description: 'What a key may know about its account.' },
    ],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' },
      },
      schemas: namedSchemas(),
    },
  };
}

function describe(operation: ApiOperation): object {
  const { request, answer, parameters, given, example } = operation;
  const assumed =
    given === true ? '' : ' Method and path are assumed: the specification does not show them.';
  const successes = Object.entries(operation.successes).map(([status, description]) => [
    status,
    { description, headers: { 'Request-Id': requestId }, content: jsonContent(answer) },
  ]);
  return {
    operationId: operation.operation,
    summary: operation.summary,
    description: operation.description + assumed,
    tags: [operation.tag],
    parameters,
    ...(request === undefined
      ? {}
      : {
          requestBody: {
            // A cancel has no fields, so it may come without a body.
            required: operation.operation !== 'esim_cancel',
            content: jsonContent(request, { example }),
          },
        }),
    responses: { ...Object.fromEntries(successes), ...errorResponses(operation) },
  };
}

/** One response for each status, with the codes that it can carry. */
function errorResponses({ errors }: ApiOperation): Record<string, object> {
  const byStatus = Map.groupBy(
    errorRows.filter(({ code }) => errors.includes(code)),
    ({ status }) => status,
  );
  return Object.fromEntries(
    [...byStatus].map(([status, rows]) => [
      String(status),
      {
        description: rows.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join(' '),
        headers: {
          'Request-Id': requestId,
          ...(status === 429
            ? { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'string' } } }
            : {}),
        },
        content: jsonContent(answers.errorAnswer),
      },
    ]),
  );
}

function jsonContent(schema: z.ZodType, examples: object = {}): object {
  const id = answers.wireSchemas.get(schema)?.id;
  if (id === undefined) throw new Error('every schema of the document must have a name');
  return { 'application/json': { schema: { $ref: schemaPath + id }, ...examples } };
}

/**
 * Where one schema is part of another, the document has a $ref. `$schema` and `$id` are for files
 * of their own.
 */
function namedSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(answers.wireSchemas, {
    uri: (id) => schemaPath + id,
    io: 'input',
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _own, ...schema }]) => [
      id,
      schema,
    ]),
  );
}
