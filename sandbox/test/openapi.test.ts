import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { errorRows } from '../../test/support/sandbox-errors.ts';
import * as wire from '../orders/wire.ts';
import { operations } from '../values/operations.ts';
import { documented, documentedOperations } from './documented.ts';
import type { Sandbox } from '../create-sandbox.ts';
import { OpenApiDocument } from '../../test/support/openapi-document.ts';
import { buyEsim, callerOf, esim, giftCard, type Reply, startSandbox } from './running-sandbox.ts';

type Checked = Reply & { readonly violations: readonly string[] };

/**
 * Calls the sandbox and compares each request and each answer with the document that the sandbox
 * serves.
 */
async function checkedCallerOf(sandbox: Sandbox) {
  const caller = callerOf(sandbox);
  const document = new OpenApiDocument((await caller.get('/openapi.json')).json);
  const checked = (method: string, path: string, sent: unknown, reply: Reply): Checked => {
    const contentType = reply.headers.get('content-type');
    const call = { method, path, sent, status: reply.status, contentType, answer: reply.json };
    return { ...reply, violations: document.violations(call) };
  };
  return {
    get: async (path: string) => checked('GET', path, undefined, await caller.get(path)),
    post: async (path: string, body: object = {}) =>
      checked('POST', path, body, await caller.post(path, body)),
  };
}

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1 without a mistake', async () => {
    const { text } = await callerOf(await startSandbox()).get('/openapi.json');
    const mistakesIn = (source: string): string[] =>
      new OpenApiDocument(JSON.parse(source)).mistakes();
    expect(mistakesIn(text)).toEqual([]);
    for (const [from, to, mistake] of [
      ['"operationId":"products"', '"operationId":"destinations"', /two are called destinations/],
      ['#/components/schemas/Esim"', '#/components/schemas/Nowhere"', /nothing is at .*Nowhere/],
      ['"name":"iccid"', '"name":"id"', /its path and its parameters differ/],
      ['"currency":"USD"', '"currency":7', /example .*currency/],
    ] as const) {
      expect(text).toContain(from);
      expect(mistakesIn(text.replace(from, to)).join('\n')).toMatch(mistake);
    }
  });

  it('says of the requests what the schemas say that check them', () => {
    const requests = {
      GiftCardOrderRequest: wire.giftCardOrderRequest,
      EsimOrderRequest: wire.esimOrderRequest,
      TopupRequest: wire.topupRequest,
      CancelRequest: wire.cancelRequest,
    };
    for (const [name, schema] of Object.entries(requests)) {
      const { $schema: _dialect, ...expected } = z.toJSONSchema(schema, { io: 'input' });
      expect(documented.components.schemas[name], name).toEqual(expected);
    }
  });

  it('names each operation, and of each the codes of the specification, with their statuses', () => {
    const known = new Set<string>(errorRows.map(({ status, code }) => `${status} ${code}`));
    const named = new Set<string>();
    for (const { operationId, responses } of documentedOperations)
      for (const [status, { description }] of Object.entries(responses))
        for (const [, code] of description.matchAll(/`([a-z_]+)`:/g)) {
          expect(known, operationId).toContain(`${status} ${code}`);
          named.add(`${status} ${code}`);
        }
    expect([...named].toSorted()).toEqual([...known].toSorted());
    const ids = documentedOperations.map(({ operationId }) => operationId);
    expect(ids.toSorted()).toEqual(operations.filter((name) => name !== 'unknown').toSorted());
  });
});

describe('the calls of a client, compared with the document', () => {
  it('any ordinary call of both families fits', async () => {
    const sandbox = await startSandbox();
    const caller = await checkedCallerOf(sandbox);
    const iccid = await buyEsim(callerOf(sandbox), 'before');
    const replies: Checked[] = [];
    for (const call of [
      () => caller.post('/orders', giftCard('g', { quantity: 2 })),
      () => caller.post('/orders', giftCard('g', { quantity: 2 })),
      () => caller.post('/orders', giftCard('k', { variant: 'windows-11-pro' })),
      () => caller.post('/orders', giftCard('d', { variant: 'test-delayed' })),
      () => caller.post('/orders', giftCard('f', { variant: 'test-refunded' })),
      () => caller.get('/orders/g'),
      () => caller.get('/products'),
      () => caller.get('/products?page=2&per_page=7'),
      () => caller.post('/esim/orders', esim('e')),
      () => caller.post('/esim/orders', esim('days', { plan: 'es-daily-1gb', days: 3 })),
      () => caller.get('/esim/orders/e'),
      () => caller.get('/esim/destinations'),
      () => caller.get('/esim/destinations/spain/plans'),
      () => caller.get(`/esim/esims/${iccid}`),
      () => caller.get(`/esim/esims/${iccid}/topups`),
      () =>
        caller.post(`/esim/esims/${iccid}/topups`, {
          reference: 't',
          plan: 'es-1gb-7d',
          currency: 'EUR',
        }),
      () => caller.get('/esim/orders/t'),
      () => caller.get('/balances'),
    ]) {
      replies.push(await call());
    }
    expect(replies.map((reply) => reply.status)).toEqual([
      201, 200, 201, 201, 201, 200, 200, 200, 201, 201, 200, 200, 200, 200, 200, 201, 200, 200,
    ]);
    expect(replies.flatMap(({ violations }) => violations)).toEqual([]);
    const cancelled = await caller.post(
      `/esim/esims/${await buyEsim(callerOf(sandbox), 'fresh')}/cancel`,
    );
    expect([cancelled.status, cancelled.violations]).toEqual([200, []]);
  });

  it('the errors of well-formed calls fit', async () => {
    const sandbox = await startSandbox({ limits: { enabled: true, orders: 12 } });
    const caller = await checkedCallerOf(sandbox);
    const iccid = await buyEsim(callerOf(sandbox), 'e', { plan: 'test-plan-installed' });
    const topup = { reference: 'x', plan: 'fr-1gb-7d', currency: 'USD' };
    const statuses: number[] = [];
    for (const call of [
      () => caller.get('/orders/nowhere'),
      () => caller.get('/esim/destinations/atlantis/plans'),
      () => caller.post('/orders', giftCard('a', { variant: 'nothing' })),
      () => caller.post('/orders', giftCard('a', { variant: 'test-expensive' })),
      () => caller.post('/orders', giftCard('a', { variant: 'test-out-of-stock' })),
      () => caller.post('/orders', giftCard('a', { variant: 'test-limit-5', quantity: 6 })),
      () => caller.post('/esim/orders', esim('a', { quantity: 31 })),
      () => caller.post('/esim/orders', esim('a', { plan: 'nothing' })),
      () => caller.post('/esim/orders', esim('a', { currency: 'GBP' })),
      () => caller.post('/orders', giftCard('e')),
      () => caller.post(`/esim/esims/${iccid}/topups`, topup),
      () => caller.post(`/esim/esims/${iccid}/cancel`),
      () => caller.post('/orders', giftCard('b')),
      () => caller.post('/orders', giftCard('c')),
    ]) {
      const reply = await call();
      expect(reply.violations).toEqual([]);
      statuses.push(reply.status);
    }
    expect(statuses).toEqual([
      404, 404, 404, 402, 409, 422, 422, 404, 422, 409, 422, 409, 201, 429,
    ]);
  });

  it('a violation is found when either side breaks the document', async () => {
    const sandbox = await startSandbox({
      faults: [
        {
          fault: { fault: 'answer', status: 200, body: '{"balances":[{"currency":"USD"}]}' },
          match: { operation: 'balances' },
        },
      ],
    });
    const caller = await checkedCallerOf(sandbox);
    expect((await caller.get('/balances')).violations.join()).toContain('amount');
    const sent = await caller.post('/orders', giftCard('a', { quantity: 'two' }));
    expect(sent.violations.join()).toContain('quantity');
    expect((await caller.get('/products?colour=red')).violations).toEqual(['query colour']);
  });
});
