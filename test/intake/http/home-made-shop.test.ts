import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FieldPointers, ShopForm } from '../../../src/intake/http/settings.ts';
import { storedRules } from '../../support/stored-rules.ts';
import { openReadOnly } from '../../../src/store/sqlite/database.ts';
import { load, minimal, mistakesOf } from '../../config/config-file.ts';
import { type RunningIntake, startIntake } from './running-intake.ts';
import { token } from './running-intake-config.ts';

const secret = 'a-secret-of-the-till-1';
const fields: FieldPointers = {
  order_id: '/order/number',
  lines: '/order/items',
  currency: '/order/pay~1in',
  metadata: '/order/customer',
  line_id: '/id',
  sku: '/article/sku',
  iccid: '/esim',
  quantity: '/pieces',
};
const skus = `skus:
  STEAM-20: { type: gift_card_order, variant: steam-usd-20 }
  STEAM-3PACK: { type: gift_card_order, variant: steam-usd-20, quantity: 3, currency: EUR }
  FR-7D: { type: esim_order, plan: fr-daily-1gb, days: 7 }
  TOPUP: { type: esim_topup, plan: fr-topup-1gb }
  XBOX-50: { type: gift_card_order, variant: xbox-usd-50, partial: true, not_after: 2030-01-01T00:00:00Z }
`;
const item = (sku: string, changes: object = {}) => ({
  id: 1,
  article: { sku },
  pieces: 1,
  title: 'anything',
  ...changes,
});
const sale = (items: unknown, changes: object = {}) => ({
  event: 'sold',
  order: { number: 1001, 'pay/in': 'USD', customer: { mail: 'a@example.test' }, items, ...changes },
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-home-made-'));
  writeFileSync(join(folder, 'skus.yaml'), skus);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function startTill(changes: Partial<ShopForm> = {}) {
  const form: ShopForm = { fields, skuMap: join(folder, 'skus.yaml'), currency: null, unmatched: 'refuse', ...changes };
  const caller = { name: 'till', secret, source: 'till', header: 'X-Till', encoding: 'hex' as const, prefix: '', form };
  const running = await startIntake({ config: { hmac: [caller] } });
  return { running, send: (body: unknown) => send(running, body) };
}

function send({ call }: RunningIntake, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  return call('POST', '/v1/orders', { 'content-type': 'application/json', 'x-till': signature, ...headers }, text);
}

function bought({ outbox }: RunningIntake): unknown[] {
  const database = openReadOnly(outbox.path);
  const rows = database
    .prepare('SELECT source, order_id, line_id, operation, variant, plan, iccid, quantity, days, currency FROM outbox')
    .all();
  database.close();
  return rows;
}

describe('the orders of a home-made shop in its own JSON', () => {
  it('have the rules and the deadline of their SKU', async () => {
    const { running, send: post } = await startTill();
    expect((await post(sale([item('STEAM-20'), item('XBOX-50', { id: 2 })]))).status).toBe(202);
    expect(storedRules(running.outbox.path)).toEqual([
      { rules: {}, notAfterMs: null },
      { rules: { partial: true }, notAfterMs: Date.parse('2030-01-01T00:00:00Z') },
    ]);
  });

  it('are bought according to its SKU map, under its own order and line ids', async () => {
    const { running, send: post } = await startTill();
    const answer = await post(
      sale([
        item('STEAM-20', { pieces: 2 }),
        item('STEAM-3PACK', { id: 'b', pieces: '2' }),
        item('FR-7D', { id: 3 }),
        item('TOPUP', { id: 4, esim: '8999901000000000013' }),
      ]),
    );
    expect([answer.status, answer.json.order_id, answer.json.lines.length]).toEqual([202, '1001', 4]);
    const whose = {
      source: 'till',
      order_id: '1001',
      iccid: null,
      days: null,
      variant: null,
      plan: null,
      currency: 'USD',
    };
    expect(bought(running)).toEqual([
      { ...whose, line_id: '1', operation: 'gift_card_order', variant: 'steam-usd-20', quantity: 2 },
      { ...whose, line_id: 'b', operation: 'gift_card_order', variant: 'steam-usd-20', quantity: 6, currency: 'EUR' },
      { ...whose, line_id: '3', operation: 'esim_order', plan: 'fr-daily-1gb', quantity: 1, days: 7 },
      {
        ...whose,
        line_id: '4',
        operation: 'esim_topup',
        plan: 'fr-topup-1gb',
        quantity: null,
        iccid: '8999901000000000013',
      },
    ]);
    const result = await running.call('GET', '/v1/orders/till/1001', { authorization: `Bearer ${token}` });
    expect(result.json).toMatchObject({ metadata: { mail: 'a@example.test' } });
  });

  it('are bought once when they are repeated, and are a conflict when their content changes', async () => {
    const { running, send: post } = await startTill();
    const first = await post(sale([item('STEAM-20')]));
    const again = await post(sale([item('STEAM-20', { title: 'renamed since' })]));
    expect([first.status, again.status, again.json.lines]).toEqual([202, 200, first.json.lines]);
    expect((await post(sale([item('STEAM-20', { pieces: 2 })]))).status).toBe(409);
    expect(bought(running)).toHaveLength(1);
  });

  it.each([
    ['without an id', sale([item('STEAM-20')], { number: undefined }), '#/order/number', 'missing_field'],
    ['without lines', sale(undefined), '#/order/items', 'missing_field'],
    ['with an empty list', sale([]), '#/order/items', 'invalid_field'],
    ['with lines that are no list', sale('x'), '#/order/items', 'invalid_field'],
    ['with a line that is no object', sale([item('STEAM-20'), 7]), '#/order/items/1', 'invalid_field'],
    [
      'with a fraction of a piece',
      sale([item('STEAM-20', { pieces: 0.5 })]),
      '#/order/items/0/pieces',
      'invalid_field',
    ],
    [
      'with pieces that are words',
      sale([item('STEAM-20', { pieces: 'two' })]),
      '#/order/items/0/pieces',
      'invalid_field',
    ],
    ['without pieces', sale([item('STEAM-20', { pieces: undefined })]), '#/order/items/0/pieces', 'missing_field'],
    ['with no pieces', sale([item('STEAM-20', { pieces: 0 })]), '#/order/items/0/pieces', 'invalid_field'],
    [
      'with an unknown SKU',
      sale([item('STEAM-20'), item('XBOX', { id: 2 })]),
      '#/order/items/1/article/sku',
      'unknown_sku',
    ],
    ['without a SKU', sale([item('STEAM-20', { article: {} })]), '#/order/items/0/article/sku', 'unknown_sku'],
    ['with a SKU of every object', sale([item('constructor')]), '#/order/items/0/article/sku', 'unknown_sku'],
    ['with a top-up of no eSIM', sale([item('TOPUP')]), '#/order/items/0/esim', 'missing_field'],
    [
      'with a mistyped eSIM',
      sale([item('TOPUP', { esim: '8999901000000000014' })]),
      '#/order/items/0/esim',
      'invalid_field',
    ],
    [
      'with two top-ups of one eSIM',
      sale([item('TOPUP', { esim: '8999901000000000013', pieces: 2 })]),
      '#/order/items/0/pieces',
      'repeated_topup',
    ],
    ['with one id for two lines', sale([item('STEAM-20'), item('FR-7D')]), '#/order/items/1/id', 'duplicate_line'],
    [
      'in a currency of small letters',
      sale([item('STEAM-20')], { 'pay/in': 'usd' }),
      '#/order/pay~1in',
      'invalid_field',
    ],
    ['without a currency', sale([item('STEAM-20')], { 'pay/in': undefined }), '#/order/pay~1in', 'missing_field'],
    [
      'with a customer who is no object',
      sale([item('STEAM-20')], { customer: 'Ann' }),
      '#/order/customer',
      'invalid_field',
    ],
    [
      'with an eSIM as a number',
      '{"order":{"number":1,"pay/in":"USD","items":[{"id":1,"article":{"sku":"TOPUP"},"pieces":1,"esim":8999901000000000013}]}}',
      '#/order/items/0/esim',
      'unsafe_number',
    ],
    [
      'that have their number twice',
      '{"order":{"number":1,"number":2,"pay/in":"USD","items":[{"id":1,"article":{"sku":"STEAM-20"},"pieces":1}]}}',
      '#/order/number',
      'duplicate_key',
    ],
    [
      'that have the order object twice',
      '{"order":{},"order":{"number":2,"pay/in":"USD","items":[{"id":1,"article":{"sku":"STEAM-20"},"pieces":1}]}}',
      '#/order',
      'duplicate_key',
    ],
    ['that are a list', [sale([item('STEAM-20')])], '#', 'not_an_order'],
  ])('%s are refused with the place in the shop\u2019s JSON, and nothing is bought', async (_, body, pointer, code) => {
    const { running, send: post } = await startTill();
    const answer = await post(body);
    expect(answer.status).toBe(422);
    expect(answer.json.errors).toContainEqual(expect.objectContaining({ pointer, code }));
    expect(bought(running)).toEqual([]);
  });

  it('may have duplicate keys and long numbers in fields that are not read', async () => {
    const { send: post } = await startTill();
    const body =
      '{"track":123456789012345678901234,"order":{"number":1,"pay/in":"USD","note":1,"note":2,"items":[{"id":1,"article":{"sku":"STEAM-20","weight":1,"weight":2},"pieces":1}]}}';
    expect((await post(body)).status).toBe(202);
  });

  it('may have lines for others, when the shop is configured with `unmatched: ignore`', async () => {
    const { running, send: post } = await startTill({ unmatched: 'ignore' });
    const mixed = await post(sale([item('T-SHIRT'), item('FR-7D', { id: 2 }), item('', { id: 3 })]));
    expect([mixed.status, mixed.json.lines.map(({ line_id: id }: { line_id: string }) => id)]).toEqual([202, ['2']]);
    const none = await post(sale([item('T-SHIRT')], { number: 1002 }));
    expect([none.status, none.json]).toEqual([200, { result: 'nothing_to_buy' }]);
    const broken = await post(sale([item('T-SHIRT'), item('FR-7D', { id: 2, pieces: -1 })], { number: 1003 }));
    expect(broken.json.errors).toMatchObject([{ pointer: '#/order/items/1/pieces' }]);
    // A SKU that is no text is a mistake and no other article.
    expect((await post(sale([item('x', { article: { sku: {} } })], { number: 1004 }))).status).toBe(422);
    expect(bought(running)).toHaveLength(1);
  });

  it('need no SKU map when they name variants and plans, and no line ids when their lines keep their order', async () => {
    const own: FieldPointers = {
      order_id: '/id',
      lines: '/cart',
      variant: '/card',
      plan: '/plan',
      iccid: '/esim',
      quantity: '/n',
      days: '/for',
    };
    const { running, send: post } = await startTill({ fields: own, skuMap: null, currency: 'USD' });
    const cart = [
      { card: 'steam-usd-20', n: 2 },
      { plan: 'fr-daily-1gb', n: 1, for: '7' },
    ];
    expect((await post({ id: 'A-7', cart })).status).toBe(202);
    expect(bought(running)).toMatchObject([
      { order_id: 'A-7', line_id: '1', operation: 'gift_card_order', variant: 'steam-usd-20', quantity: 2 },
      { order_id: 'A-7', line_id: '2', operation: 'esim_order', plan: 'fr-daily-1gb', quantity: 1, days: 7 },
    ]);
    // An eSIM alone might be a cancel, which gives money back for something: that is never guessed.
    const guess = await post({ id: 'A-8', cart: [{ esim: '8999901000000000013', n: 1 }] });
    expect([guess.status, guess.json.errors[0].code]).toEqual([422, 'missing_field']);
  });

  it('are only read in this form when its own secret signed them', async () => {
    const { running } = await startTill();
    const answer = await running.post(sale([item('STEAM-20')]));
    expect(answer.status).toBe(422);
    const forged = await send(running, sale([item('STEAM-20')]), { 'x-till': '0'.repeat(64) });
    expect(forged.status).toBe(401);
    expect(bought(running)).toEqual([]);
  });
});

describe('the configuration of a home-made shop', () => {
  const sandbox = minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox');
  const till = (yaml: string): string =>
    `${sandbox}intake:\n  webhook: { listen: "127.0.0.1:0", hmac: [{ name: till, header: X-Till, secret: "${secret}", ${yaml} }] }\n`;
  const basic = 'order_id: /id, lines: /items, quantity: /n';

  it('has the JSON pointers of its fields', () => {
    const { config } = load(till(`currency: USD, fields: { ${basic}, variant: /card }`));
    expect(config.intake.webhook?.hmac).toMatchObject([
      {
        form: {
          fields: { order_id: '/id', lines: '/items', quantity: '/n', variant: '/card' },
          currency: 'USD',
        },
      },
    ]);
  });

  const second = (source: string, more = ''): string =>
    `${sandbox}intake:
  webhook:
    listen: "127.0.0.1:0"
    hmac:
      - { name: till, header: X-Till, secret: "${secret}", fields: { ${basic}, variant: /v }${source} }
      - { name: kiosk, header: X-Till, secret: "another-secret-of-a-till", fields: { ${basic}, variant: /v }${source} }
${more}`;

  it('must name a source for each shop when there are several, because their order ids may be the same', () => {
    expect(mistakesOf(second('')).join('\n')).toMatch(/hmac\.0\.source must be set.*\n.*hmac\.1\.source must be set/);
    expect(load(second(', source: till')).config.intake.webhook?.hmac).toMatchObject([
      { source: 'till' },
      { source: 'till' },
    ]);
    const shop = `    shopify: [{ shop: till, secrets: [{ value: "a-secret-of-shopify" }], sku_map: skus.yaml }]\n`;
    expect(mistakesOf(second(', source: till', shop)).join('\n')).toContain(
      "must differ from the other shops' sources",
    );
  });

  it.each([
    ['a SKU without a map', `fields: { ${basic}, sku: /sku }`, 'need each other'],
    ['a map without a SKU', `sku_map: x.yaml, fields: { ${basic}, variant: /v }`, 'need each other'],
    [
      'a map beside a variant',
      `sku_map: x.yaml, fields: { ${basic}, sku: /s, variant: /v }`,
      'because the SKU map has them',
    ],
    ['nothing to buy', `fields: { ${basic} }`, 'names no product'],
    ['a map without fields', 'sku_map: x.yaml', 'needs `fields`'],
    ['a path that is no pointer', `fields: { ${basic}, variant: card }`, 'must be a JSON pointer'],
    ['no place of the quantity', 'fields: { order_id: /id, lines: /items, variant: /v }', 'quantity'],
  ])('with %s stops the start', (_, yaml, problem) => {
    expect(mistakesOf(till(yaml)).join('\n')).toContain(problem);
  });
});
