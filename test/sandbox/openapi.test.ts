import { createConfig, lintFromString } from '@redocly/openapi-core';
import { createServer } from '@stoplight/prism-http-server';
import { getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { apiOperations } from '../../src/sandbox/http/api-operations.ts';
import type { Sandbox } from '../../src/sandbox/create-sandbox.ts';
import { buyEsim, type Caller, callerOf, esim, giftCard, type Reply, startSandbox } from './running-sandbox.ts';

/** Stoplight Prism as a proxy in front of the sandbox: it validates requests and answers against the document. */
async function prismInFrontOf(sandbox: Sandbox): Promise<Caller> {
  const document = await (await fetch(`${sandbox.url}/openapi.json`)).text();
  const server = createServer(
    await getHttpOperationsFromSpec(z.record(z.string(), z.unknown()).parse(JSON.parse(document))),
    {
      components: { logger: pino({ level: 'silent' }) },
      cors: false,
      config: {
        checkSecurity: true,
        validateRequest: true,
        validateResponse: true,
        // Prism reports violations in a header and forwards the call, so refused requests are validated too.
        errors: false,
        isProxy: true,
        upstream: new URL(sandbox.url),
        mock: { dynamic: false },
        upstreamProxy: undefined,
      },
    },
  );
  const url = await server.listen(0, '127.0.0.1');
  onTestFinished(() => server.close());
  return callerOf({ url });
}

const violationsOf = (reply: Reply): string => reply.headers.get('sl-violations') ?? '';

describe('the OpenAPI document', () => {
  it('the OpenAPI document passes a public linter', async () => {
    const sandbox = await startSandbox();
    const source = await (await fetch(`${sandbox.url}/openapi.json`)).text();
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        // The address of a sandbox is an address of this machine.
        'no-server-example.com': 'off',
        'no-invalid-media-type-examples': 'error',
        'no-invalid-parameter-examples': 'error',
        'no-invalid-schema-examples': 'error',
        'operation-operationId-unique': 'error',
      },
    });
    const problems = await lintFromString({ source, absoluteRef: `${sandbox.url}/openapi.json`, config });
    expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual(
      [],
    );
    const broken = source
      .replace('"operationId":"products"', '"operationId":"destinations"')
      .replace('#/components/schemas/Esim"', '#/components/schemas/Nowhere"');
    expect((await lintFromString({ source: broken, config })).length).toBeGreaterThan(1);
  });

  it('each operation has an example of request and answer, and each example fits its schema', () => {
    for (const { request, answer, example } of apiOperations) {
      expect(answer.safeParse(example.answer).error).toBeUndefined();
      expect(request?.safeParse(example.request).error).toBeUndefined();
    }
  });
});

describe('an independent validator between client and sandbox', () => {
  it('the validator finds no violation in any ordinary call of both families', async () => {
    const sandbox = await startSandbox();
    const caller = await prismInFrontOf(sandbox);
    const iccid = await buyEsim(callerOf(sandbox), 'before');
    const replies: Reply[] = [];
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
      () => caller.post(`/esim/esims/${iccid}/topups`, { reference: 't', plan: 'es-1gb-7d', currency: 'EUR' }),
      () => caller.get('/esim/orders/t'),
      () => caller.get('/balances'),
    ]) {
      replies.push(await call());
    }
    expect(replies.map((reply) => reply.status)).toEqual([
      201, 200, 201, 201, 201, 200, 200, 200, 201, 201, 200, 200, 200, 200, 200, 201, 200, 200,
    ]);
    expect(replies.map(violationsOf).filter((text) => text !== '')).toEqual([]);
    const cancelled = await caller.post(`/esim/esims/${await buyEsim(callerOf(sandbox), 'fresh')}/cancel`);
    expect([cancelled.status, violationsOf(cancelled)]).toEqual([200, '']);
  });

  it('the validator finds no violation in the errors of well-formed calls', async () => {
    const sandbox = await startSandbox({ limits: { enabled: true, orders: 12 } });
    const caller = await prismInFrontOf(sandbox);
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
      expect(violationsOf(reply)).toBe('');
      statuses.push(reply.status);
    }
    expect(statuses).toEqual([404, 404, 404, 402, 409, 422, 422, 404, 422, 409, 422, 409, 201, 429]);
  });

  it('the validator finds a violation when either side breaks the document', async () => {
    const sandbox = await startSandbox({
      faults: [
        {
          fault: { fault: 'answer', status: 200, body: '{"balances":[{"currency":"USD"}]}' },
          match: { operation: 'balances' },
        },
      ],
    });
    const caller = await prismInFrontOf(sandbox);
    expect(violationsOf(await caller.get('/balances'))).toContain('amount');
    expect(violationsOf(await caller.post('/orders', giftCard('a', { quantity: 'two' })))).toContain('quantity');
  });
});
