import { describe, expect, it } from 'vitest';
import { documentedOperations } from './documented.ts';
import {
  buyEsim,
  callerOf,
  esim,
  giftCard,
  mainKey,
  messageOf,
  refusalOf,
  startSandbox,
} from './running-sandbox.ts';

describe('access to the API', () => {
  it('every operation and every unknown path needs the bearer key', async () => {
    const sandbox = await startSandbox();
    for (const { method, path, example } of documentedOperations) {
      const concrete = path.replace(/\{\w+\}/g, 'x');
      const init =
        method === 'post'
          ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(example) }
          : {};
      expect(
        refusalOf(await callerOf(sandbox, null).send(method.toUpperCase(), concrete, init)),
      ).toBe('401 invalid_key');
    }
    expect(refusalOf(await callerOf(sandbox, null).get('/anything'))).toBe('401 invalid_key');
    expect(refusalOf(await callerOf(sandbox).get('/anything'))).toBe('404 not_found');
  });

  it('a missing key, a wrong key and a key in another form are 401 invalid_key', async () => {
    const sandbox = await startSandbox();
    const nobody = callerOf(sandbox, null);
    for (const authorization of [
      '',
      'Bearer',
      `Basic ${mainKey}`,
      mainKey,
      `Bearer ${mainKey}x`,
      `Bearer ${mainKey} x`,
    ]) {
      expect(refusalOf(await nobody.get('/balances', { authorization }))).toBe('401 invalid_key');
    }
    expect((await nobody.get('/balances', { authorization: `bearer ${mainKey}` })).status).toBe(
      200,
    );
  });

  it('a blocked account and one that is no longer wholesale are refused until that changes', async () => {
    const sandbox = await startSandbox();
    for (const standing of [{ blocked: true }, { wholesale: false }]) {
      await sandbox.operate((operator) => operator.accountEvent('acme', standing));
      expect(refusalOf(await callerOf(sandbox).get('/products'))).toBe('403 account_not_allowed');
      await sandbox.operate((operator) =>
        operator.accountEvent('acme', { blocked: false, wholesale: true }),
      );
      expect((await callerOf(sandbox).get('/products')).status).toBe(200);
    }
  });

  it('no answer allows a web page of another site to read it, because the API is for servers only', async () => {
    const sandbox = await startSandbox();
    const reply = await callerOf(sandbox).get('/balances', { origin: 'https://shop.example' });
    expect([...reply.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    );
  });

  it('every answer is JSON, and a body that is not JSON is 422 invalid_request', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    for (const reply of [await caller.get('/products'), await caller.get('/orders/none')]) {
      expect(reply.headers.get('content-type')).toBe('application/json');
    }
    const form = {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'reference=a',
    };
    const reply = await caller.send('POST', '/orders', form);
    expect(refusalOf(reply)).toBe('422 invalid_request');
    expect(messageOf(reply)).toContain('Content-Type: application/json');
  });

  it('a body with a content encoding is 422 invalid_request, also when it is not compressed', async () => {
    const sandbox = await startSandbox();
    const caller = callerOf(sandbox);
    for (const encoding of ['gzip', 'br']) {
      const reply = await caller.post('/orders', giftCard('a'), { 'content-encoding': encoding });
      expect(refusalOf(reply)).toBe('422 invalid_request');
      expect(messageOf(reply)).toContain('without "Content-Encoding"');
    }
    expect(
      (await caller.post('/orders', giftCard('a'), { 'content-encoding': 'identity' })).status,
    ).toBe(201);
  });

  it('an error body has exactly a code and a message in both families, and a success has no error', async () => {
    const caller = callerOf(await startSandbox());
    // refusalOf throws on any other shape.
    expect(refusalOf(await caller.get('/orders/none'))).toBe('404 not_found');
    expect(refusalOf(await caller.get('/esim/orders/none'))).toBe('404 not_found');
    for (const path of ['/products', '/esim/destinations', '/balances'])
      expect((await caller.get(path)).json).not.toHaveProperty('error');
    expect(
      (await caller.post('/orders', giftCard('a', { variant: 'test-refunded' }))).json,
    ).not.toHaveProperty('error');
  });

  it('the message of a refused order names the currency of the balance', async () => {
    const caller = callerOf(await startSandbox());
    const poor = await caller.post('/orders', giftCard('a', { variant: 'test-expensive' }));
    expect(messageOf(poor)).toContain('USD');
  });

  it('an order is refused when the named balance is one cent short, whatever the other balances are', async () => {
    const exact = {
      id: 'acme',
      balances: { USD: '18.90', EUR: '500.00' },
      keys: [{ name: 'main', value: mainKey }],
    };
    const rich = await startSandbox({ accounts: [exact] });
    expect((await callerOf(rich).post('/orders', giftCard('a'))).status).toBe(201);
    expect(rich.ledger().balances).toContainEqual({
      account: 'acme',
      currency: 'USD',
      amount_minor: 0,
    });
    const short = await startSandbox({
      accounts: [{ ...exact, balances: { USD: '18.89', EUR: '500.00' } }],
    });
    expect(refusalOf(await callerOf(short).post('/orders', giftCard('a')))).toBe(
      '402 insufficient_balance',
    );
    expect((await callerOf(short).post('/orders', giftCard('a', { currency: 'EUR' }))).status).toBe(
      201,
    );
  });

  it('a quantity or days that is no whole number, and an unknown field, is 422 invalid_request', async () => {
    const caller = callerOf(await startSandbox());
    const iccid = await buyEsim(caller, 'e');
    for (const body of [
      esim('a', { quantity: 1.5 }),
      esim('a', { quantity: '1' }),
      esim('a', { plan: 'es-daily-1gb', days: '7' }),
      esim('a', { colour: 'red' }),
      esim('a', { days: 7 }),
    ]) {
      expect(refusalOf(await caller.post('/esim/orders', body))).toBe('422 invalid_request');
    }
    for (const reference of ['', ' a', 'ä', 'a b', 'x'.repeat(65), 7, null]) {
      expect(refusalOf(await caller.post('/orders', giftCard('a', { reference })))).toBe(
        '422 invalid_request',
      );
    }
    expect(refusalOf(await caller.post(`/esim/esims/${iccid}/cancel`, { reference: 'a' }))).toBe(
      '422 invalid_request',
    );
  });

  it('an unchanged repeat of a refused call gets the same answer', async () => {
    const caller = callerOf(await startSandbox());
    const refused = giftCard('a', { variant: 'test-website-only' });
    const first = await caller.post('/orders', refused);
    const second = await caller.post('/orders', refused);
    expect([second.status, second.text]).toEqual([first.status, first.text]);
  });

  it('during maintenance every call is 503 api_disabled, and the same call works afterwards', async () => {
    const sandbox = await startSandbox({ maintenance: true });
    const caller = callerOf(sandbox);
    expect(refusalOf(await caller.post('/orders', giftCard('a')))).toBe('503 api_disabled');
    await sandbox.operate((operator) => operator.change({ maintenance: false }));
    expect((await caller.post('/orders', giftCard('a'))).status).toBe(201);
  });
});
