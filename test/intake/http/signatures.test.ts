import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verifyStandardWebhook } from '../../../src/intake/http/signatures.ts';
import { order, startIntake } from './running-intake.ts';
import { boundToken, olderWhsec, token, whsec } from './running-intake-config.ts';

const body = JSON.stringify(order());
const json = { 'content-type': 'application/json' };

/** Signs with the published library, which is independent of this project. */
function signed(
  secret: string,
  text: string,
  at = new Date(),
  id = 'msg_1',
): Record<string, string> {
  return {
    ...json,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, text),
  };
}

describe('a request signed by the Standard Webhooks scheme', () => {
  // The vector of the specification's own test suite.
  const vector = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: '1614265330',
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const callers = [{ name: 'vector', secret: vector.secret, source: null }];
  const verify = (changes: Partial<typeof vector>, atS = 1_614_265_330) =>
    verifyStandardWebhook(
      { ...vector, ...changes },
      Buffer.from(changes.body ?? vector.body),
      callers,
      atS * 1000,
    );

  it('is accepted with the published test vector', () => {
    expect(verify({})).toEqual({ ok: true, caller: callers[0] });
  });

  it.each([
    ['five minutes before and after its timestamp', {}, [1_614_265_330 - 300, 1_614_265_330 + 300]],
    [
      'among signatures of other versions and secrets',
      { signature: `v1,${'A'.repeat(43)}= v2,x v1a,x ${vector.signature}` },
      [1_614_265_330],
    ],
  ])('is accepted %s', (_, changes, times) => {
    for (const at of times) expect(verify(changes, at).ok).toBe(true);
  });

  it.each([
    ['too old', {}, 1_614_265_330 + 301],
    ['from the future', {}, 1_614_265_330 - 301],
    ['with another body', { body: '{"test": 2432232315}' }, 1_614_265_330],
    ['with another id', { id: 'msg_other' }, 1_614_265_330],
    ['with another time', { timestamp: '1614265331' }, 1_614_265_330],
    [
      'of another version alone',
      { signature: vector.signature.replace('v1,', 'v2,') },
      1_614_265_330,
    ],
    ['without its prefix', { signature: vector.signature.slice(3) }, 1_614_265_330],
    ['cut short', { signature: vector.signature.slice(0, -2) }, 1_614_265_330],
    ['without a signature', { signature: '' }, 1_614_265_330],
    ['without an id', { id: '' }, 1_614_265_330],
    ['without a time', { timestamp: '' }, 1_614_265_330],
    ['with a time that is no number', { timestamp: 'NaN' }, 1_614_265_330],
    ['with a time in hexadecimal', { timestamp: '0x60379f72' }, 1_614_265_330],
  ])('is refused %s', (_, changes, at) => {
    expect(verify(changes, at).ok).toBe(false);
  });

  it('is accepted over HTTP when the published library signs it with any of the secrets, within its source', async () => {
    const { call } = await startIntake();
    expect((await call('POST', '/v1/orders', signed(whsec, body), body)).status).toBe(202);
    const other = JSON.stringify(order({ source: 'shop2' }));
    expect((await call('POST', '/v1/orders', signed(olderWhsec, other), other)).status).toBe(202);
    expect((await call('POST', '/v1/orders', signed(olderWhsec, body), body)).status).toBe(403);
  });

  it('is accepted with the names of Svix, which do not count beside those of the scheme', async () => {
    const { call } = await startIntake();
    const named = (headers: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
      );
    const good = signed(whsec, body);
    const bad = signed(whsec, `${body} `);
    const post = async (headers: Record<string, string>) =>
      (await call('POST', '/v1/orders', headers, body)).status;
    expect(await post(named(good))).toBe(202);
    expect(await post(named(bad))).toBe(401);
    expect(await post({ ...named(good), ...bad })).toBe(401);
    expect(await post({ ...named(bad), ...good })).toBe(200);
    // Parts of both are no signature.
    const { 'webhook-id': id, ...rest } = good;
    expect(await post({ ...rest, 'svix-id': id ?? '' })).toBe(401);
  });

  it('buys nothing more when it is sent again under a new id, by its sender or by an attacker', async () => {
    const { call, outbox } = await startIntake();
    const first = await call('POST', '/v1/orders', signed(whsec, body), body);
    expect((await call('POST', '/v1/orders', signed(whsec, body), body)).status).toBe(200);
    const again = await call('POST', '/v1/orders', signed(whsec, body, new Date(), 'msg_2'), body);
    expect([again.status, again.json.lines]).toEqual([200, first.json.lines]);
    expect(outbox.store.read.counts().pending).toBe(2);
  });

  it('is refused when its body has other bytes, even if they mean the same text', async () => {
    const { call } = await startIntake();
    const text = JSON.stringify(order({ metadata: { note: 'Grüße' } }));
    const escaped = text.replace('ü', '\\u00fc');
    expect((await call('POST', '/v1/orders', signed(whsec, text), escaped)).status).toBe(401);
    expect((await call('POST', '/v1/orders', signed(whsec, text), text)).status).toBe(202);
  });

  it('cannot read or cancel an order, because a signature without a body would fit any order', async () => {
    const { call } = await startIntake();
    await call('POST', '/v1/orders', signed(whsec, body), body);
    expect((await call('GET', '/v1/orders/shop1/1001', signed(whsec, ''))).status).toBe(401);
    expect((await call('DELETE', '/v1/orders/shop1/1001', signed(whsec, ''))).status).toBe(401);
  });

  it('that also has a token must be valid in both', async () => {
    const { call } = await startIntake();
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    const post = (headers: Record<string, string>) => call('POST', '/v1/orders', headers, body);
    expect((await post({ ...signed(whsec, body), ...bearer('wrong-token-000000') })).status).toBe(
      401,
    );
    expect((await post({ ...signed(whsec, `${body} `), ...bearer(token) })).status).toBe(401);
    expect((await post({ ...signed(whsec, body), ...bearer(boundToken) })).status).toBe(403);
    expect((await post({ ...signed(whsec, body), ...bearer(token) })).status).toBe(202);
  });
});

describe('a bearer token', () => {
  it.each([
    ['nothing', undefined],
    ['another scheme', `Basic ${Buffer.from(`:${token}`).toString('base64')}`],
    ['no token', 'Bearer '],
    ['another token', 'Bearer token-of-anybody-0002'],
    ['the beginning of a token', `Bearer ${token.slice(0, -1)}`],
    ['two tokens', `Bearer ${token} ${boundToken}`],
  ])('is required: %s is refused', async (_, authorization) => {
    const { call, outbox } = await startIntake();
    const headers = authorization === undefined ? json : { ...json, authorization };
    const answer = await call('POST', '/v1/orders', headers, body);
    expect([answer.status, answer.json.code]).toEqual([401, 'unauthorized']);
    expect(outbox.store.read.counts().pending).toBe(0);
  });

  it('may have its scheme in upper or lower case', async () => {
    const { call } = await startIntake();
    expect(
      (await call('POST', '/v1/orders', { ...json, authorization: `bearer ${token}` }, body))
        .status,
    ).toBe(202);
  });

  it('that is bound to a source cannot post orders of another, not even in a batch', async () => {
    const { post, outbox } = await startIntake();
    const answer = await post([order({ source: 'shop2' }), order()], {
      authorization: `Bearer ${boundToken}`,
    });
    expect([answer.status, answer.json.code]).toEqual([403, 'source_not_allowed']);
    expect(outbox.store.read.counts().pending).toBe(0);
  });
});
