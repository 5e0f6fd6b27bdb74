import { parse } from 'yaml';
import type { WireOverrides } from '../../../src/wholesale/connector/wire.ts';
import {
  behaviours,
  type Asked,
  type Behaviour,
  type Call,
  type Json,
  type SoldOrder,
  type Switches,
} from './shape-server.ts';

/** One API that the specification allows, and the mapping that fits it. */
export interface Shape {
  readonly name: string;
  readonly switches: Switches;
  readonly wire: WireOverrides;
  readonly currency: string;
  /** What is read as the cost of an order. */
  readonly cost: (order: SoldOrder) => string;
  readonly product: (name: Behaviour, family: 'card' | 'sim') => string;
  /** `reference.prefix` of the installation. */
  readonly prefix: string;
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

function asked(
  body: Json,
  fields: { product: readonly string[]; currency: string },
  given: Partial<Asked> = {},
): Asked | null {
  const product = fields.product.map((name) => text(body[name])).find(Boolean) ?? '';
  const quantity = typeof body['quantity'] === 'number' ? body['quantity'] : Number.NaN;
  const read = {
    product,
    quantity,
    currency: text(body[fields.currency]),
    reference: text(body['reference']),
    ...given,
  };
  return read.product === '' ||
    read.reference === '' ||
    read.currency === '' ||
    !Number.isInteger(read.quantity)
    ? null
    : read;
}
const askedOfA = (body: Json, given?: Partial<Asked>) =>
  asked(body, { product: ['variant', 'plan'], currency: 'currency' }, given);
const askedOfB = (body: Json, given?: Partial<Asked>) =>
  asked(body, { product: ['sku', 'bundle'], currency: 'wallet' }, given);

const cards = (order: SoldOrder, whole: boolean) =>
  whole ? order.units.map(({ code, pin }) => ({ code, pin })) : [];
const sims = (order: SoldOrder, whole: boolean) =>
  whole ? order.units.map(({ iccid, lpa }) => ({ iccid, lpa })) : [];
const fieldsA = ({ number, reference, currency, quantity }: SoldOrder, whole: boolean) => {
  return {
    number: `N-${number}`,
    reference,
    status: whole ? 'completed' : 'processing',
    total: '18.90',
    currency,
    quantity,
  };
};
const unitsA = (order: SoldOrder, whole: boolean) =>
  order.family === 'gift_card' ? { codes: cards(order, whole) } : { esims: sims(order, whole) };
const showA = (order: SoldOrder, whole: boolean): Json => ({
  ...fieldsA(order, whole),
  ...unitsA(order, whole),
});
const keyInPath = ({ path }: Call): string => decodeURIComponent(path.split('/').at(-1) ?? '');
const errorBody = (_http: number, code: string) => ({
  error: { code, message: `refused: ${code}` },
});

const switchesA: Switches = {
  ask: ({ body }) => askedOfA(body),
  show: showA,
  read: (call, find) =>
    /\/orders\/[^/]+$/.test(call.path) && call.method === 'GET' ? find(keyInPath(call)) : null,
  refuse: errorBody,
  soldHttp: () => 201,
  retryAfter: { 'retry-after': '1' },
  everySlow: false,
  again: null,
  names: {},
};

const orderB = (order: SoldOrder, whole: boolean): Json => {
  const { number, reference, currency, quantity, units, family } = order;
  const head = {
    order_number: number,
    client_reference: reference,
    state: whole ? 'COMPLETED' : 'PROCESSING',
  };
  const charge = { minor: 1890 * quantity, currency };
  const items = whole ? units.map(({ code, pin }) => ({ pin: code, security: pin })) : [];
  const [first] = units;
  const sim =
    whole && first
      ? { sim: { iccid: first['iccid'], smdp: first['smdp'], matching: first['matching'] } }
      : {};
  return {
    ...head,
    charge,
    created: 1_790_000_000 + number,
    ...(family === 'gift_card' ? { items } : sim),
  };
};
const switchesB: Switches = {
  ...switchesA,
  ask: ({ body }) => askedOfB(body),
  show: (order, whole, how) => ({
    data: how === 'lookup' ? [orderB(order, whole)] : orderB(order, whole),
  }),
  read: ({ path, query, method }, find) =>
    path.endsWith('/orders') && method === 'GET' ? find(query.get('reference')) : null,
  soldHttp: (whole) => (whole ? 200 : 202),
  retryAfter: { 'x-ratelimit-reset': '1' },
};
const mappingB = `
gift_card_order: { body: { reference: "{reference}", sku: "{variant}", quantity: "{quantity}", wallet: "{currency}" } }
esim_order: { body: { reference: "{reference}", bundle: "{plan}", quantity: "{quantity}", wallet: "{currency}", days: "{days}" } }
lookup:
  gift_card: { path: "/orders?reference={key}" }
  esim: { path: "/esim/orders?reference={key}" }
answer:
  number: [order_number]
  reference: [client_reference]
  status: [state]
  cost: [charge.minor]
  currency: [charge.currency]
  money_minor_digits: 2
  codes: { lists: [items], positions: [], code: [pin], pin: [security] }
  esims: { lists: [], single: [sim], smdp_address: [smdp], matching_id: [matching] }
`;

function merged(base: Json, more: Json): Json {
  const isMap = (value: unknown): value is Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const both = Object.entries(more).map(([name, value]) => {
    const before = base[name];
    return [name, isMap(before) && isMap(value) && name !== 'body' ? merged(before, value) : value];
  });
  return { ...base, ...Object.fromEntries(both) };
}
const shape = (
  base: 'A' | 'B',
  name: string,
  yaml = '',
  switches: Partial<Switches> = {},
  more: Partial<Shape> = {},
): Shape => {
  const read = (source: string): Json => parse(source) ?? {};
  return {
    name,
    switches: { ...(base === 'A' ? switchesA : switchesB), ...switches },
    wire: merged(base === 'A' ? {} : read(mappingB), read(yaml)),
    currency: 'USD',
    cost: ({ quantity }) => (base === 'A' ? '18.90' : (18.9 * quantity).toFixed(2)),
    product: (behaviour, family) => `${family}-${behaviour}`,
    prefix: 'os',
    ...more,
  };
};

/** Shows gift card units in another way. */
const cardsAs = (
  of: (units: readonly Json[], order: SoldOrder) => Json,
): Pick<Switches, 'show'> => ({
  show: (order, whole) =>
    order.family === 'esim'
      ? showA(order, whole)
      : { ...fieldsA(order, whole), ...of(cards(order, whole), order) },
});
const wrapped = (wrap: (order: Json) => Json): Pick<Switches, 'show'> => ({
  show: (order, whole) => wrap(showA(order, whole)),
});
const inOrder = (of: (call: Call) => Asked | null): Pick<Switches, 'ask'> => ({ ask: of });
const needsHeader = (
  base: Switches,
  name: string,
  value: (call: Call) => string,
  reads = true,
): Partial<Switches> => ({
  ask: (call) => (call.headers[name] === value(call) ? base.ask(call) : null),
  read: (call, find) =>
    !reads || call.headers[name] === value(call)
      ? base.read(call, find)
      : { http: 422, body: errorBody(422, 'invalid_request') },
});
const orderOf = (body: Json): Json =>
  typeof body['order'] === 'object' && body['order'] !== null ? { ...body['order'] } : {};
const firstItem = ({ items }: Json): Json => (Array.isArray(items) ? { ...items[0] } : {});
const codes = (fields: string) => `answer: { codes: { ${fields} } }`;
const numbers: Readonly<Record<string, Behaviour>> = Object.fromEntries(
  behaviours.map((name, index) => [String(700 + index), name]),
);
const numberOf = (name: Behaviour): string =>
  Object.entries(numbers).find(([, one]) => one === name)?.[0] ?? '';
const withoutUnits = ({ items: _items, sim: _sim, ...order }: Json): Json => order;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const withoutLookups = `
lookup:
  gift_card: { path: off, accepted: { path: "/orders?reference={reference}" } }
  esim: { path: off, accepted: { path: "/esim/orders?reference={reference}" } }`;

/** The API answers these wholly: each order is delivered, refused or waits as it should. */
export const wholeShapes: readonly Shape[] = [
  shape('B', 'base'),
  shape(
    'A',
    'itemstrap',
    codes('lists: [delivery]'),
    cardsAs((units, { product, quantity }) => ({
      items: [{ code: product, quantity }],
      delivery: units,
    })),
  ),
  shape('B', 'dupconflict', '', { again: [409, 'order_exists'] }),
  shape(
    'A',
    'top1',
    `${codes('lists: [codes, $]')}\nignored: [total]`,
    cardsAs((units) => (units.length === 1 ? { ...units[0] } : { codes: units })),
  ),
  shape(
    'A',
    'jsonapi',
    'answer: { envelopes: [data.attributes, data] }',
    wrapped(({ number, ...attributes }) => ({ data: { type: 'order', id: number, attributes } })),
  ),
  shape(
    'A',
    'nestedunits',
    '',
    cardsAs((units, { product }) => ({ items: [{ variant: product, codes: units }] })),
  ),
  shape(
    'A',
    'itemunits',
    codes('lists: [codes, deliveries]'),
    cardsAs((units) => ({ lines: [{ deliveries: units }] })),
  ),
  shape(
    'A',
    'plainlist',
    '',
    cardsAs((units) => ({ codes: units.map(({ code }) => code) })),
  ),
  shape(
    'A',
    'oddunit',
    codes('code: [voucher_code], pin: [security_no]'),
    cardsAs((units) => ({
      codes: units.map(({ code, pin }) => ({ voucher_code: code, security_no: pin })),
    })),
  ),
  shape(
    'A',
    'secretnested',
    codes('code: [secret.value], pin: [secret.pin]'),
    cardsAs((units) => ({
      codes: units.map(({ code, pin }) => ({ secret: { value: code, pin } })),
    })),
  ),
  shape('A', 'esimnested', 'answer: { esims: { lpa: [activation.code] } }', {
    show: (order, whole) =>
      order.family === 'gift_card'
        ? showA(order, whole)
        : {
            ...fieldsA(order, whole),
            esims: sims(order, whole).map(({ iccid, lpa }) => ({
              iccid,
              activation: { code: lpa },
            })),
          },
  }),
  shape(
    'A',
    'statusnum',
    'answer: { status_words: { done: ["2"], pending: ["1"] } }',
    wrapped((order) => ({ ...order, status: order['status'] === 'completed' ? 2 : 1 })),
  ),
  shape(
    'A',
    'statuswords',
    'answer: { status_words: { done: [SHIPPED], pending: [IN_PREPARATION] } }',
    wrapped((order) => ({
      ...order,
      status: order['status'] === 'completed' ? 'SHIPPED' : 'IN_PREPARATION',
    })),
  ),
  shape('A', 'async', '', { everySlow: true }),
  shape(
    'A',
    'include',
    'lookup: { gift_card: { path: "/orders/{key}?include=codes" }, esim: { path: "/esim/orders/{key}?include=codes" } }',
    {
      show: (order, whole, how) => showA(order, whole && how === 'lookup'),
      read: (call, find) => {
        const found = find(keyInPath(call));
        return found === null || call.query.get('include') === 'codes'
          ? found
          : { http: 200, body: fieldsA(found, true) };
      },
    },
  ),
  shape(
    'A',
    'email',
    `
gift_card_order: { body: { reference: "{reference}", variant: "{variant}", quantity: "{quantity}", currency: "{currency}", customer_email: a@b.example } }
esim_order: { body: { reference: "{reference}", plan: "{plan}", quantity: "{quantity}", currency: "{currency}", days: "{days}", customer_email: a@b.example } }`,
    inOrder(({ body }) => (body['customer_email'] === 'a@b.example' ? askedOfA(body) : null)),
  ),
  shape(
    'A',
    'successflag',
    '',
    wrapped((order) => ({ success: true, order })),
  ),
  shape(
    'B',
    'jpy',
    'answer: { money_minor_digits: { USD: 2, JPY: 0 } }',
    {},
    { currency: 'JPY', cost: ({ quantity }) => String(1890 * quantity) },
  ),
  shape(
    'B',
    'numberonly',
    `
lookup:
  gift_card: { path: off, accepted: { path: "/orders/{number}" } }
  esim: { path: off, accepted: { path: "/esim/orders/{number}" } }`,
    {
      show: (order, whole) => ({ data: orderB(order, whole) }),
      read: (call, find) => (/^\d+$/.test(keyInPath(call)) ? find(keyInPath(call)) : null),
    },
  ),
  shape(
    'B',
    'postsearch',
    `
lookup:
  gift_card: { method: POST, path: /orders/search, body: { reference: "{key}" } }
  esim: { method: POST, path: /esim/orders/search, body: { reference: "{key}" } }`,
    {
      read: ({ method, path, body }, find) =>
        method === 'POST' && path.endsWith('/orders/search') ? find(text(body['reference'])) : null,
    },
  ),
  shape(
    'A',
    'listsummary',
    `
lookup:
  gift_card: { path: "/orders?reference={key}", accepted: { path: "/orders/{number}" } }
  esim: { path: "/esim/orders?reference={key}", accepted: { path: "/esim/orders/{number}" } }`,
    {
      read: (call, find) => {
        if (!call.path.endsWith('/orders'))
          return call.path.includes('/N-') ? find(keyInPath(call)) : null;
        const found = find(call.query.get('reference'));
        if (found === null) return null;
        const { number, reference, status } = fieldsA(found, true);
        return { http: 200, body: { orders: [{ number, reference, status }] } };
      },
    },
  ),
  shape(
    'B',
    'secondcall',
    `
lookup:
  gift_card: { accepted: { path: "/orders/{number}/codes" } }
  esim: { accepted: { path: "/esim/orders/{number}/codes" } }
answer: { codes: { lists: [items, data] } }`,
    {
      show: (order, whole, how) => ({
        data:
          how === 'lookup'
            ? [withoutUnits(orderB(order, whole))]
            : withoutUnits(orderB(order, whole)),
      }),
      read: (call, find) => {
        const number = /\/orders\/(\d+)\/codes$/.exec(call.path)?.[1];
        if (number === undefined) return switchesB.read(call, find);
        const found = find(number);
        if (found === null) return null;
        const { items, sim } = orderB(found, performance.now() >= found.readyAtMs);
        return {
          http: 200,
          body: { data: found.family === 'gift_card' ? items : sim === undefined ? {} : { sim } },
        };
      },
    },
  ),
  shape(
    'B',
    'nestedbody',
    `
gift_card_order: { body: { reference: "{reference}", wallet: "{currency}", items: [{ sku: "{variant}", quantity: "{quantity}" }] } }
esim_order: { body: { reference: "{reference}", wallet: "{currency}", items: [{ bundle: "{plan}", quantity: "{quantity}", days: "{days}" }] } }`,
    inOrder(({ body }) => askedOfB({ ...body, ...firstItem(body) })),
  ),
  shape(
    'A',
    'wrapreq',
    `
gift_card_order: { body: { order: { reference: "{reference}", variant: "{variant}", quantity: "{quantity}", currency: "{currency}" } } }
esim_order: { body: { order: { reference: "{reference}", plan: "{plan}", quantity: "{quantity}", currency: "{currency}", days: "{days}" } } }`,
    inOrder(({ body }) => askedOfA(orderOf(body))),
  ),
  shape(
    'B',
    'intvariant',
    `
gift_card_order: { body: { reference: "{reference}", sku: "{variant|int}", quantity: "{quantity}", wallet: "{currency}" } }
esim_order: { body: { reference: "{reference}", bundle: "{plan|int}", quantity: "{quantity}", wallet: "{currency}", days: "{days}" } }`,
    {
      names: numbers,
      ask: ({ body }) =>
        typeof (body['sku'] ?? body['bundle']) === 'number' ? askedOfB(body) : null,
    },
    { product: numberOf },
  ),
  shape(
    'A',
    'qtystr',
    `
gift_card_order: { body: { reference: "{reference}", variant: "{variant}", quantity: "{quantity|text}", currency: "{currency}" } }
esim_order: { body: { reference: "{reference}", plan: "{plan}", quantity: "{quantity|text}", currency: "{currency}", days: "{days}" } }`,
    inOrder(({ body }) =>
      typeof body['quantity'] === 'string'
        ? askedOfA(body, { quantity: Number(body['quantity']) })
        : null,
    ),
  ),
  shape(
    'A',
    'lowercur',
    `
gift_card_order: { body: { reference: "{reference}", variant: "{variant}", quantity: "{quantity}", currency: "{currency|lower}" } }
esim_order: { body: { reference: "{reference}", plan: "{plan}", quantity: "{quantity}", currency: "{currency|lower}", days: "{days}" } }`,
    inOrder(({ body }) => (body['currency'] === 'usd' ? askedOfA(body) : null)),
  ),
  shape(
    'B',
    'balanceid',
    `
balances: { USD: bal_1 }
gift_card_order: { body: { reference: "{reference}", sku: "{variant}", quantity: "{quantity}", wallet: "{balance}" } }
esim_order: { body: { reference: "{reference}", bundle: "{plan}", quantity: "{quantity}", wallet: "{balance}", days: "{days}" } }`,
    inOrder(({ body }) =>
      body['wallet'] === 'bal_1' ? askedOfB(body, { currency: 'USD' }) : null,
    ),
  ),
  shape(
    'B',
    'esimnobal',
    'esim_order: { body: { reference: "{reference}", bundle: "{plan}", quantity: "{quantity}", days: "{days}" } }',
    inOrder(({ body, family }) =>
      family === 'esim' && 'wallet' in body
        ? null
        : askedOfB(body, family === 'esim' ? { currency: 'USD' } : {}),
    ),
  ),
  shape(
    'B',
    'apiversion',
    'headers: { API-Version: 2026-01 }',
    needsHeader(switchesB, 'api-version', () => '2026-01'),
  ),
  shape(
    'B',
    'idemheader',
    'headers: { Idempotency-Key: "{reference}" }',
    needsHeader(switchesB, 'idempotency-key', ({ body }) => text(body['reference']), false),
  ),
  shape(
    'A',
    'accepthdr',
    'headers: { Accept: application/vnd.shop.v2+json }',
    needsHeader(switchesA, 'accept', () => 'application/vnd.shop.v2+json'),
  ),
  shape(
    'A',
    'objcodes',
    codes('lists: ["codes[]"]'),
    cardsAs((units) => ({
      codes: Object.fromEntries(units.map((unit, index) => [String(index + 1), unit])),
    })),
  ),
  // An empty list proves nothing, and the same reference again is as good as a lookup.
  shape('B', 'listempty', withoutLookups, {
    read: (call, find) => switchesB.read(call, find) ?? { http: 200, body: { data: [] } },
  }),
  shape(
    'A',
    'moneytext',
    '',
    wrapped((order) => ({ ...order, total: 'USD 18.9' })),
    { cost: () => '18.9' },
  ),
  shape(
    'A',
    'uuidref',
    '',
    inOrder(({ body }) => (uuid.test(text(body['reference'])) ? askedOfA(body) : null)),
    { prefix: 'uuid' },
  ),
  shape(
    'A',
    'strcodes',
    '',
    cardsAs((units) => ({ codes: units.map(({ code }) => code).join('\n') })),
  ),
];

/** No mapping can say a price. */
export const needsPrice = shape(
  'A',
  'maxprice',
  '',
  inOrder(({ body }) => (typeof body['unit_price'] === 'string' ? askedOfA(body) : null)),
);

/**
 * These answer errors in another form than the specification, also to lookups: a mapping switches
 * those off.
 */
export const brokenShapes: readonly Shape[] = [
  shape('B', 'flaterr', withoutLookups, {
    refuse: (_http, code) => ({ code, message: `refused: ${code}` }),
  }),
  shape('B', 'upcodes', withoutLookups, {
    refuse: (_http, code) => errorBody(0, code.toUpperCase()),
  }),
];
