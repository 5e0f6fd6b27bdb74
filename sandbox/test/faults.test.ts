import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../settings/fault-rules.ts';
import type { Sandbox } from '../create-sandbox.ts';
import { giftCardOrderAnswer } from '../../test/support/sandbox-answers.ts';
import {
  callerOf,
  esim,
  giftCard,
  mainKey,
  operatorOf,
  refusalOf,
  startSandbox,
  temporaryFolder,
} from './running-sandbox.ts';

type RawReply = { bytes: string; end: 'fin' | 'reset' | 'open'; ms: number };

/**
 * Posts an order over a socket. Returns the exact bytes of the answer and how the connection ended.
 */
function rawOrder(
  { url }: { url: string },
  body: object,
  {
    path = '/orders',
    headers = {},
    waitMs = 10_000,
  }: { path?: string; headers?: Record<string, string>; waitMs?: number } = {},
): Promise<RawReply> {
  const { hostname, port } = new URL(url);
  const text = JSON.stringify(body);
  const started = performance.now();
  return new Promise((resolve) => {
    const socket = createConnection({ host: hostname, port: Number(port) });
    let bytes = '';
    const done = (end: RawReply['end']): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ bytes, end, ms: performance.now() - started });
    };
    const timer = setTimeout(() => done('open'), waitMs);
    socket.on('data', (data) => (bytes += data.toString('latin1')));
    socket.on('end', () => done('fin'));
    socket.on('error', () => done('reset'));
    const extra = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${mainKey}\r\ncontent-type: application/json\r\nconnection: close\r\n${extra.join('')}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  });
}

const references = (sandbox: Sandbox): Array<string | null> =>
  sandbox.ledger().orders.map((order) => order.reference);
const bodyOf = (reply: RawReply): string => reply.bytes.slice(reply.bytes.indexOf('\r\n\r\n') + 4);

describe('test values spoil the first call with each new reference', () => {
  /**
   * For each item, what the first call gets: the answer, how the connection ends, whether the order
   * is bought.
   */
  const table: Array<[item: string, statusLine: RegExp, end: RawReply['end'], bought: boolean]> = [
    ['test-lost-answer', /^$/, 'fin', true],
    ['test-reset-before', /^$/, 'reset', false],
    ['test-reset-after', /^$/, 'reset', true],
    ['test-cut-body', /^HTTP\/1\.1 201 [\s\S]*content-length/, 'fin', true],
    ['test-cut-chunked', /^HTTP\/1\.1 201 [\s\S]*transfer-encoding: chunked/, 'fin', true],
    ['test-cut-close', /^HTTP\/1\.1 201 (?![\s\S]*content-length)/, 'fin', true],
    ['test-html-502', /^HTTP\/1\.1 502 [\s\S]*<html>/, 'fin', true],
    ['test-html-502-before', /^HTTP\/1\.1 502 [\s\S]*<html>/, 'fin', false],
    ['test-api-disabled', /^HTTP\/1\.1 503 [\s\S]*"api_disabled"/, 'fin', false],
    ['test-redirect', /^HTTP\/1\.1 307 [\s\S]*location: \/elsewhere/i, 'fin', false],
    ['test-rate-limited', /^HTTP\/1\.1 429 [\s\S]*retry-after: 1/i, 'fin', false],
    ['test-garbage', /^\0.this is not HTTP/, 'fin', true],
  ];
  for (const [item, statusLine, end, bought] of table) {
    it(`the first order of ${item} ${bought ? 'is bought' : 'buys nothing'}, and the retry gets the order`, async () => {
      const sandbox = await startSandbox();
      const order = giftCard('r', { variant: item });
      const first = await rawOrder(sandbox, order);
      expect(first.bytes).toMatch(statusLine);
      expect(first.end).toBe(end);
      expect(references(sandbox)).toEqual(bought ? ['r'] : []);
      const retry = await callerOf(sandbox).post('/orders', order);
      expect([retry.status, retry.json]).toEqual([
        bought ? 200 : 201,
        expect.objectContaining({ reference: 'r', status: 'completed' }),
      ]);
      expect(references(sandbox)).toEqual(['r']);
    });
  }

  it('a cut body is the first 50 % of the correct answer', async () => {
    const sandbox = await startSandbox();
    const cut = await rawOrder(sandbox, giftCard('r', { variant: 'test-cut-close' }));
    const whole = await callerOf(sandbox).get('/orders/r');
    expect(whole.text.startsWith(bodyOf(cut))).toBe(true);
    expect(bodyOf(cut)).toHaveLength(Math.ceil(whole.text.length / 2));
  });

  it('with a content-length that is too large, the caller waits for bytes that never come', async () => {
    const sandbox = await startSandbox();
    const reply = await rawOrder(sandbox, giftCard('r', { variant: 'test-wrong-length' }));
    const stated = Number(/content-length: (\d+)/.exec(reply.bytes)?.[1]);
    expect(stated).toBe(bodyOf(reply).length + 10);
    expect(reply.end).toBe('fin');
  });

  it('a hang keeps the connection open and silent', async () => {
    const sandbox = await startSandbox();
    const reply = await rawOrder(sandbox, giftCard('r', { variant: 'test-hang' }), { waitMs: 300 });
    expect([reply.end, reply.bytes]).toEqual(['open', '']);
    expect(references(sandbox)).toEqual(['r']);
  });

  it('a slow body arrives complete, in small pieces', async () => {
    const sandbox = await startSandbox();
    const fault = JSON.stringify({ fault: 'slow_body', bytes: 100, interval_ms: 20 });
    const reply = await rawOrder(sandbox, giftCard('r'), { headers: { 'sandbox-fault': fault } });
    expect(JSON.parse(bodyOf(reply))).toMatchObject({ reference: 'r' });
    expect(reply.ms).toBeGreaterThan(3 * 20);
  });

  it('a late commit drops the connection first and places the order afterwards', async () => {
    const sandbox = await startSandbox();
    const fault = JSON.stringify({ fault: 'late_commit', delay_ms: 600 });
    const reply = await rawOrder(sandbox, giftCard('r'), { headers: { 'sandbox-fault': fault } });
    expect([reply.bytes, reply.end]).toEqual(['', 'fin']);
    expect(refusalOf(await callerOf(sandbox).get('/orders/r'))).toBe('404 not_found');
    await expect.poll(() => references(sandbox)).toEqual(['r']);
  });

  it('an answer can have the reference of another order, be 10 MiB long, or have one unit fewer', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    const other = await caller.post('/orders', giftCard('o', { variant: 'test-other-reference' }));
    expect(other.json).toMatchObject({ reference: 'somebody-elses-reference' });
    const huge = await caller.post('/orders', giftCard('h', { variant: 'test-huge-body' }));
    expect(huge.text.length).toBeGreaterThan(10 * 1024 * 1024);
    expect(huge.json).toMatchObject({ reference: 'h' });
    const short = await caller.post(
      '/orders',
      giftCard('m', { variant: 'test-missing-units', quantity: 3 }),
    );
    expect(short.json).toMatchObject({ quantity: 3, codes: [{}, {}] });
    expect(references(sandbox)).toEqual(['o', 'h', 'm']);
  });

  it('an order that empties the stock succeeds, and the next one is refused', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    expect(
      (await caller.post('/orders', giftCard('first', { variant: 'test-last-one' }))).status,
    ).toBe(201);
    expect(
      refusalOf(await caller.post('/orders', giftCard('second', { variant: 'test-last-one' }))),
    ).toBe('409 out_of_stock');
    expect(
      (await caller.post('/orders', giftCard('first', { variant: 'test-last-one' }))).status,
    ).toBe(200);
  });

  it('the test plans of eSIMs have faults too, and a refused call is not spoiled', async () => {
    const sandbox = await startSandbox({ limits: { enabled: true, orders: 1 } });
    const lost = esim('e', { plan: 'test-plan-lost-answer' });
    expect((await rawOrder(sandbox, lost, { path: '/esim/orders' })).end).toBe('fin');
    const limited = await rawOrder(sandbox, esim('f', { plan: 'test-plan-lost-answer' }), {
      path: '/esim/orders',
    });
    expect(limited.bytes).toMatch(/^HTTP\/1\.1 429/);
  });
});

/** The positions of the calls, out of forty, that a rule with a probability hits. */
async function hitsWith(seed: number): Promise<number[]> {
  const sandbox = await startSandbox(
    { faults: [{ fault: { fault: 'html_502' }, probability: 0.3 }] },
    { seed },
  );
  const statuses: number[] = [];
  for (let count = 0; count < 40; count += 1)
    statuses.push((await callerOf(sandbox).get('/balances')).status);
  return statuses.flatMap((status, index) => (status === 502 ? [index] : []));
}

describe('faults by rule', () => {
  it('a rule with a position loses the answer of the third order call and of no other', async () => {
    const rule: FaultRuleInput = {
      fault: { fault: 'lost_answer' },
      match: { operation: 'gift_card_order' },
      at: [3],
    };
    const sandbox = await startSandbox({ faults: [rule] });
    const ends: string[] = [];
    for (let count = 1; count <= 5; count += 1) {
      await callerOf(sandbox).get('/balances');
      ends.push(
        (await rawOrder(sandbox, giftCard(`r${count}`))).bytes === '' ? 'lost' : 'answered',
      );
    }
    expect(ends).toEqual(['answered', 'answered', 'lost', 'answered', 'answered']);
    expect(references(sandbox)).toHaveLength(5);
  });

  it('a rule with a probability hits the same calls with the same seed, and other calls with another seed', async () => {
    const [first, again, other] = [await hitsWith(7), await hitsWith(7), await hitsWith(8)];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(first.length).toBeGreaterThan(3);
    expect(first.length).toBeLessThan(25);
  });

  it('rules can be added, listed and removed over HTTP, and a rule with `times` ends after so many hits', async () => {
    const sandbox = await startSandbox();
    const [caller, operator] = [callerOf(sandbox), operatorOf(sandbox)];
    const match = { operation: ['gift_card_lookup', 'products'] };
    expect(
      (await operator.post('/faults', { fault: { fault: 'api_disabled' }, match, times: 1 }))
        .status,
    ).toBe(200);
    expect(refusalOf(await caller.get('/products'))).toBe('503 api_disabled');
    expect((await caller.get('/products')).status).toBe(200);
    expect((await operator.get('/faults')).json).toMatchObject({
      faults: [{ matched: 2, hits: 1 }],
    });
    await operator.post('/faults', [
      { fault: { fault: 'answer', status: 418, body: '{}' }, match: { key: 'main' } },
    ]);
    expect((await caller.get('/balances')).status).toBe(418);
    await operator.send('DELETE', '/faults');
    expect((await caller.get('/balances')).status).toBe(200);
    expect(refusalOf(await operator.post('/faults', { fault: { fault: 'explode' } }))).toBe(
      '422 invalid_request',
    );
  });

  it('a header sets the fault of one call, and an unknown fault in it is 422 invalid_request', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    expect((await caller.get('/products', { 'sandbox-fault': 'html_502' })).status).toBe(502);
    expect(refusalOf(await caller.get('/products', { 'sandbox-fault': 'explode' }))).toBe(
      '422 invalid_request',
    );
    expect(refusalOf(await caller.get('/products', { 'sandbox-fault': '{' }))).toBe(
      '422 invalid_request',
    );
  });

  it('a sandbox that is closed first finishes the calls that it has admitted', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const sandbox = await startSandbox({}, { database });
    const fault = JSON.stringify({ fault: 'late_commit', delay_ms: 60_000 });
    await rawOrder(sandbox, giftCard('r'), { headers: { 'sandbox-fault': fault } });
    await sandbox.close();
    await sandbox.close();
    expect(() => sandbox.ledger()).toThrow('not open');
    expect(references(await startSandbox({}, { database }))).toEqual(['r']);
  });
});

describe('the routes of the operator', () => {
  it('a reset returns orders, money, settings, faults, clock and numbers to the start', async () => {
    const sandbox = await startSandbox();
    const [caller, operator] = [callerOf(sandbox), operatorOf(sandbox)];
    const first = await caller.post('/orders', giftCard('r'));
    await operator.send('PATCH', '/settings', {
      headers: { 'content-type': 'application/json' },
      body: '{"maintenance":true}',
    });
    await operator.post('/faults', { fault: { fault: 'lost_answer' } });
    await operator.post('/clock', { advance_ms: 86_400_000 });
    expect((await operator.post('/reset')).status).toBe(200);
    expect(sandbox.ledger().orders).toEqual([]);
    expect(sandbox.ledger().now).toBeLessThan(Date.now() + 60_000);
    const second = await caller.post('/orders', giftCard('r'));
    const [before, after] = [first, second].map(
      (reply) => giftCardOrderAnswer.parse(reply.json).codes[0]?.code,
    );
    expect(after).toBe(before);
  });

  it('the operator can change settings while the sandbox runs, and wrong settings are refused', async () => {
    const sandbox = await startSandbox();
    const operator = operatorOf(sandbox);
    const patch = (body: object) =>
      operator.send('PATCH', '/settings', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await patch({ limits: { enabled: true, requests: 1 } })).json).toMatchObject({
      limits: { requests: 1, orders: 20 },
    });
    await callerOf(sandbox).get('/balances');
    expect((await callerOf(sandbox).get('/balances')).status).toBe(429);
    expect(refusalOf(await patch({ limits: { requests: 'many' } }))).toBe('422 invalid_request');
    expect(refusalOf(await patch({ accounts: [] }))).toBe('422 invalid_request');
  });

  it('the routes of the operator refuse web pages, and callers without the token when one is set', async () => {
    const sandbox = await startSandbox();
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      expect((await operatorOf(sandbox).post('/reset', {}, headers)).status).toBe(403);
    }
    const guarded = await startSandbox({ admin_token: 'a-long-secret' });
    expect((await operatorOf(guarded).get('/ledger')).status).toBe(403);
    expect(
      (await callerOf({ url: `${guarded.url}/__sandbox` }, 'a-long-secret').get('/ledger')).status,
    ).toBe(200);
  });

  it('the ledger over HTTP is the whole ledger', async () => {
    const sandbox = await startSandbox({ limits: { enabled: true } });
    await callerOf(sandbox).post('/orders', giftCard('r'));
    const over = (await operatorOf(sandbox).get('/ledger')).json;
    expect(over).toEqual({ ...sandbox.ledger(), now: expect.any(Number) });
    const own = (await operatorOf(sandbox).get('/ledger?account=acme')).json;
    expect(own).toMatchObject({ keys: [{ name: 'main', limited: 0, max_orders_in_window: 1 }] });
  });
});
