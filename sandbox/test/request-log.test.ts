import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Sandbox } from '../create-sandbox.ts';
import type { RequestPage } from '../orders/request-log.ts';
import {
  callerOf,
  codeOf,
  giftCard,
  idOf,
  logOf,
  mainKey,
  operatorOf,
  type Reply,
  startSandbox,
  temporaryFolder,
} from './running-sandbox.ts';

describe('the request log', () => {
  it('every answer has a Request-Id, under which the log shows how the call was answered', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const bought = await caller.post('/orders', giftCard('shop-1'));
    const refused = await caller.post(
      '/orders',
      giftCard('shop-2', { variant: 'test-out-of-stock' }),
    );
    const read = await caller.get('/products?per_page=1&page=2');
    const unknown = await callerOf(sandbox, 'no-such-key').get('/balances');
    expect([bought, refused, read, unknown].map(idOf)).toEqual([
      'req-1',
      'req-2',
      'req-3',
      'req-4',
    ]);
    expect((await operatorOf(sandbox).get(`/requests/${idOf(bought)}`)).json).toEqual({
      id: 'req-1',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      account: 'acme',
      key: 'main',
      operation: 'gift_card_order',
      status: 201,
      code: null,
      reference: 'shop-1',
      order_number: 'GC-100001',
      fault: null,
    });
    const { requests } = await logOf(sandbox);
    expect(
      requests.map(({ id, status, code, operation }) => [id, status, code, operation]),
    ).toEqual([
      ['req-4', 401, 'invalid_key', 'balances'],
      ['req-3', 200, null, 'products'],
      ['req-2', 409, 'out_of_stock', 'gift_card_order'],
      ['req-1', 201, null, 'gift_card_order'],
    ]);
  });

  it('what a fault spoils is in the log as the service answered it, and an answer of a proxy has no Request-Id', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const order = (reference: string, fault: string): Promise<Reply> =>
      caller.post('/orders', giftCard(reference), { 'sandbox-fault': fault });
    await expect(order('lost', 'lost_answer')).rejects.toThrow('fetch failed');
    await expect(order('never', '{"fault":"reset","when":"before"}')).rejects.toThrow(
      'fetch failed',
    );
    const disabled = await order('disabled', 'api_disabled');
    const proxy = await order('proxy', 'html_502');
    const unknown = await order('unknown', 'no-such-fault');
    expect([disabled, proxy, unknown].map(idOf)).toEqual(['req-3', 'none', 'req-5']);
    const { requests } = await logOf(sandbox);
    expect(requests.map(({ id, fault, status, code }) => [id, fault, status, code])).toEqual([
      ['req-5', null, 422, 'invalid_request'],
      ['req-4', 'html_502', 201, null],
      ['req-3', 'api_disabled', 503, 'api_disabled'],
      ['req-2', 'reset', 0, null],
      ['req-1', 'lost_answer', 201, null],
    ]);
  });

  it('a filter finds requests by order, account and failure, and pages show each one once', async () => {
    const other = { id: 'other', keys: [{ name: 'theirs', value: 'sandbox-key-other' }] };
    const main = { id: 'acme', keys: [{ name: 'main', value: mainKey }] };
    const sandbox = await startSandbox({ accounts: [main, other] });
    const caller = callerOf(sandbox);
    await caller.post('/orders', giftCard('shop-7'));
    await caller.get('/orders/shop-7');
    await caller.get('/orders/shop-8');
    await callerOf(sandbox, 'sandbox-key-other').get('/balances');
    const idsOf = async (query: string): Promise<string[]> =>
      (await logOf(sandbox, query)).requests.map(({ id }) => id);
    expect(await idsOf('?search=shop-7')).toEqual(['req-1']);
    expect(await idsOf('?search=GC-100001')).toEqual(['req-2', 'req-1']);
    expect(await idsOf('?failed=true')).toEqual(['req-3']);
    expect(await idsOf('?account=other')).toEqual(['req-4']);
    expect(await idsOf('?account=acme&search=main')).toEqual(['req-3', 'req-2', 'req-1']);
    expect(await idsOf('?search=%25')).toEqual([]);
    const pages: string[][] = [];
    for (let before: string | null = ''; before !== null; ) {
      const { requests, next_before: next } = await logOf(sandbox, `?limit=3&before=${before}`);
      pages.push(requests.map(({ id }) => id));
      before = next;
    }
    expect(pages).toEqual([['req-4', 'req-3', 'req-2'], ['req-1']]);
    const operator = operatorOf(sandbox);
    for (const query of ['?limit=501', '?limit=x', '?before=yesterday', '?colour=red']) {
      const reply = await operator.get(`/requests${query}`);
      expect([reply.status, codeOf(reply)]).toEqual([422, 'invalid_request']);
    }
    expect((await operator.get('/requests/req-99')).status).toBe(404);
    expect((await operator.get('/requests/first')).status).toBe(422);
  });

  it('the log survives a restart, and a reset empties it', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const first = await startSandbox({}, { database });
    await callerOf(first).post('/orders', giftCard('kept'));
    await first.close();
    const second = await startSandbox({}, { database });
    const { requests }: RequestPage = await second.operate((operator) =>
      operator.requests({ search: 'kept', account: '', failed: '', before: '', limit: 10 }),
    );
    expect(requests.map(({ id, status }) => [id, status])).toEqual([['req-1', 201]]);
    await operatorOf(second).post('/reset');
    expect((await logOf(second)).requests).toEqual([]);
    expect(idOf(await callerOf(second).get('/balances'))).toBe('req-1');
  });
});

/** What a browser would get; Node's `fetch` sends no headers of a browser. */
function browse(
  sandbox: Sandbox,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(sandbox.url + path, { method, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on('error', reject);
    call.end();
  });
}

describe('the routes of the operator', () => {
  it('the routes are for this machine only: not for pages of other sites, other names of the host, or without the token', async () => {
    const sandbox = await startSandbox();
    const log = '/__sandbox/requests';
    expect(await browse(sandbox, log, { 'sec-fetch-site': 'none' })).toBe(200);
    for (const site of ['cross-site', 'same-site', 'same-origin']) {
      expect(await browse(sandbox, log, { 'sec-fetch-site': site })).toBe(403);
    }
    expect(await browse(sandbox, log, { host: 'rebound.example' })).toBe(403);
    expect(await browse(sandbox, log, { origin: 'https://shop.example' })).toBe(403);
    const own = { 'sec-fetch-site': 'same-origin', origin: sandbox.url };
    expect(await browse(sandbox, '/__sandbox/reset', own, 'POST')).toBe(403);
    const guarded = await startSandbox({ admin_token: 'a-long-secret' });
    expect(await browse(guarded, log, {})).toBe(403);
    expect(await browse(guarded, log, { authorization: 'Bearer a-long-secret' })).toBe(200);
  });
});

describe('deliver now', () => {
  it('the operator delivers a pending order now, or lets its delivery fail, once', async () => {
    const sandbox = await startSandbox({ fulfilment: { delay_ms: [60_000, 60_000] } });
    const caller = callerOf(sandbox);
    const operator = operatorOf(sandbox);
    for (const [variant, status] of [
      ['test-delayed', 'completed'],
      ['test-delayed-refunded', 'refunded'],
    ] as const) {
      const bought = await caller.post('/orders', giftCard(variant, { variant }));
      const { number } = z
        .object({ number: z.string(), status: z.literal('pending') })
        .parse(bought.json);
      expect((await operator.post(`/orders/${number}/deliver`)).status).toBe(200);
      expect((await caller.get(`/orders/${variant}`)).json).toMatchObject({ status });
      expect((await operator.post(`/orders/${number}/deliver`)).status).toBe(404);
    }
    await sandbox.operate((operate) => operate.advanceClock(120_000));
    expect(sandbox.ledger().movements.filter(({ kind }) => kind === 'refund')).toHaveLength(1);
  });
});
