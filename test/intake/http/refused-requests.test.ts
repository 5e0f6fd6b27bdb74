import { describe, expect, it } from 'vitest';
import { problemSchema } from '../../support/intake-openapi.ts';
import { order, startIntake } from './running-intake.ts';
import { token } from './running-intake-config.ts';

const bearer = { authorization: `Bearer ${token}` };
const json = { ...bearer, 'content-type': 'application/json' };
const [gift, esim] = order().lines;
const text = JSON.stringify(order());

const lineWith = (changes: Record<string, unknown>) =>
  order({ lines: [{ ...Object(gift), ...changes }, esim] });

/**
 * Bad bodies with the status, the code and the place of the answer. Nothing of any of them is
 * accepted.
 */
const badBodies: readonly [string, string | Buffer, number, string, string | null][] = [
  ['nothing', '', 400, 'invalid_json', null],
  ['only spaces', '  \n', 400, 'invalid_json', null],
  ['text', 'order 7 please', 400, 'invalid_json', null],
  ['JSON that is cut off', text.slice(0, -9), 400, 'invalid_json', null],
  ['two documents', `${text}${text}`, 400, 'invalid_json', null],
  ['NUL bytes', `${text}\0`, 400, 'invalid_json', null],
  [
    'Latin-1',
    Buffer.from(JSON.stringify(order({ order_id: 'Grüße' })), 'latin1'),
    400,
    'invalid_json',
    null,
  ],
  ['UTF-16', Buffer.from(text, 'utf16le'), 400, 'invalid_json', null],
  ['a lone surrogate', text.replace('1001', '\\ud83d'), 422, 'bad_unicode', '#/order_id'],
  ['endless nesting', '['.repeat(5000), 400, 'invalid_json', null],
  ['a number', '7', 422, 'not_an_order', '#'],
  ['null', 'null', 422, 'not_an_order', '#'],
  ['no orders', '[]', 422, 'no_orders', '#'],
  ['no orders in a batch', '{"orders":[]}', 422, 'no_orders', '#/orders'],
  ['a batch that is no list', '{"orders":{}}', 422, 'invalid_field', '#/orders'],
  [
    'a batch with something else',
    `{"orders":[${text}],"dry_run":true}`,
    422,
    'unknown_field',
    '#/dry_run',
  ],
  ['a batch given twice', `{"orders":[],"orders":[${text}]}`, 422, 'duplicate_key', '#/orders'],
  ['a list with null', `[${text},null]`, 422, 'not_an_order', '#/1'],
  [
    'a duplicate key',
    text.replace('"quantity":2', '"quantity":2,"quantity":30'),
    422,
    'duplicate_key',
    '#/lines/0/quantity',
  ],
  [
    '__proto__',
    text.replace('"type"', '"__proto__":{},"type"'),
    422,
    'reserved_key',
    '#/lines/0/__proto__',
  ],
  [
    'a number that loses digits',
    text.replace('"1001"', '9007199254740993'),
    422,
    'unsafe_number',
    '#/order_id',
  ],
  [
    'an infinite number',
    text.replace('"quantity":2', '"quantity":1e400'),
    422,
    'unsafe_number',
    '#/lines/0/quantity',
  ],
  [
    'a mistyped field',
    JSON.stringify(lineWith({ quanity: 3 })),
    422,
    'unknown_field',
    '#/lines/0/quanity',
  ],
  [
    'a quantity under a short name',
    JSON.stringify(lineWith({ qty: 3, quantity: undefined })),
    422,
    'unknown_field',
    '#/lines/0/qty',
  ],
  [
    'a line that names no product',
    JSON.stringify(lineWith({ type: undefined, variant: undefined })),
    422,
    'missing_field',
    '#/lines/0/type',
  ],
  [
    'a quantity that may be in extra',
    JSON.stringify(lineWith({ quantity: undefined, extra: { menge: '3' } })),
    422,
    'missing_field',
    '#/lines/0/quantity',
  ],
  [
    'a line without an id among several',
    JSON.stringify(lineWith({ line_id: undefined })),
    422,
    'missing_field',
    '#/lines/0/line_id',
  ],
  [
    'a quantity of zero',
    JSON.stringify(lineWith({ quantity: 0 })),
    422,
    'invalid_field',
    '#/lines/0/quantity',
  ],
  [
    'a fraction of a card',
    JSON.stringify(lineWith({ quantity: 1.5 })),
    422,
    'invalid_field',
    '#/lines/0/quantity',
  ],
  [
    'a quantity as text',
    JSON.stringify(lineWith({ quantity: '2' })),
    422,
    'invalid_field',
    '#/lines/0/quantity',
  ],
  [
    'an unknown type',
    JSON.stringify(lineWith({ type: 'gift' })),
    422,
    'invalid_field',
    '#/lines/0/type',
  ],
  [
    'no currency',
    JSON.stringify(order({ currency: undefined })),
    422,
    'missing_field',
    '#/lines/0/currency',
  ],
  [
    'a currency in small letters',
    JSON.stringify(order({ currency: 'usd' })),
    422,
    'invalid_field',
    '#/currency',
  ],
  [
    'an order without an id',
    JSON.stringify(order({ order_id: undefined })),
    422,
    'missing_field',
    '#/order_id',
  ],
  ['an empty id', JSON.stringify(order({ order_id: '' })), 422, 'invalid_field', '#/order_id'],
  [
    'a source that is a path',
    JSON.stringify(order({ source: '../x' })),
    422,
    'invalid_field',
    '#/source',
  ],
  ['no lines', JSON.stringify(order({ lines: [] })), 422, 'invalid_field', '#/lines'],
  [
    'two lines of one id',
    JSON.stringify(order({ lines: [gift, gift] })),
    422,
    'duplicate_line',
    '#/lines/1/line_id',
  ],
  ['one order twice', JSON.stringify([order(), order()]), 422, 'duplicate_order', '#/1/order_id'],
  [
    'a key that needs escaping',
    JSON.stringify({ ...order(), 'a/b~c d': 1 }),
    422,
    'unknown_field',
    '#/a~1b~0c%20d',
  ],
];

describe('a bad request body', () => {
  it.each(badBodies)(
    'with %s is refused, and nothing of it is accepted',
    async (_, body, status, code, pointer) => {
      const { call, outbox, notifications } = await startIntake();
      const answer = await call('POST', '/v1/orders', json, body);
      const problem = problemSchema.parse(answer.json);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      const mistakes = problem.errors?.map((error) => [error.code, error.pointer]) ?? [
        [problem.code, null],
      ];
      expect(mistakes).toContainEqual([code, pointer]);
      expect(outbox.store.read.listOrders({ limit: 1 })).toEqual([]);
      expect(outbox.store.read.attention(1)).toEqual([]);
      expect(notifications()).toBe(0);
    },
  );

  it('is answered with each mistake once, and at most a hundred of them', async () => {
    const { post } = await startIntake();
    const lines = Array.from({ length: 300 }, (_, index) => ({
      line_id: String(index),
      type: 'gift_card_order',
      variant: 'x',
      quantity: 0,
    }));
    const { json: problem } = await post(order({ lines }));
    expect(problem.errors).toHaveLength(100);
    expect(problem.detail).toContain('300 mistakes');
    const head = await post(
      order({ currency: 'usd', lines: lines.map((line) => ({ ...line, quantity: 1 })) }),
    );
    expect(head.json.errors).toHaveLength(1);
  });

  it('is answered with every mistake of a line, and with those of a line beside those of its order', async () => {
    const { post } = await startIntake();
    const line = { line_id: '1', type: 'gift_card_order', quantity: 0 };
    const { json: problem } = await post(
      order({ currency: 'usd', lines: [line, { ...line, line_id: '2', variant: 'v' }] }),
    );
    expect(problem.detail).toContain('There are 4 mistakes');
    expect(problem.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '#/currency',
      '#/lines/0/variant',
      '#/lines/0/quantity',
      '#/lines/1/quantity',
    ]);
  });

  it('with one wrong line among correct ones is refused as a whole, because the caller can correct it', async () => {
    const { post, outbox } = await startIntake();
    expect(
      (await post([order(), { ...lineWith({ quantity: -1 }), order_id: '1002' }])).status,
    ).toBe(422);
    expect(outbox.store.read.listOrders({ limit: 1 })).toEqual([]);
    expect((await post([order(), { ...lineWith({ quantity: 1 }), order_id: '1002' }])).status).toBe(
      202,
    );
  });

  it('with too many lines is refused, and one with exactly the limit is accepted', async () => {
    const { post, outbox } = await startIntake();
    const orders = (count: number) =>
      Array.from({ length: count }, (_, index) => order({ order_id: `b${index}`, lines: [gift] }));
    const refused = await post(orders(1001));
    expect([refused.status, refused.json.errors[0].code]).toEqual([422, 'too_many_lines']);
    expect((await post(orders(1000))).status).toBe(202);
    expect(outbox.store.read.counts().pending).toBe(1000);
  });
});

describe('a request that an address does not support', () => {
  it.each([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['text', { 'content-type': 'text/plain' }],
    ['packed JSON', { 'content-encoding': 'gzip' }],
  ])('is answered 415 when it has %s', async (_, headers) => {
    const { call } = await startIntake();
    expect((await call('POST', '/v1/orders', { ...json, ...headers }, text)).status).toBe(415);
  });

  it('is answered 404, or 405 with the allowed methods', async () => {
    const { call } = await startIntake();
    expect((await call('GET', '/v2/orders', bearer)).json.code).toBe('not_found');
    const put = await call('PUT', '/v1/orders', json, text);
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await call('PATCH', '/v1/orders/shop1/1001', json, text)).headers.get('allow')).toBe(
      'GET, DELETE',
    );
  });
});
