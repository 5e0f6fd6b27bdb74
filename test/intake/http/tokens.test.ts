import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { problemSchema } from '../../support/intake-openapi.ts';
import { FailedTokens } from '../../../src/ops/callers.ts';
import type { TokenCaller } from '../../../src/intake/http/settings.ts';
import { load, minimal, mistakesOf } from '../../config/config-file.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { order, startIntake } from './running-intake.ts';

const secret = 'a-token-of-a-till-0001';
const till: TokenCaller = {
  name: 'till',
  secrets: [secret],
  scopes: ['post', 'read', 'cancel'],
  sources: ['till'],
  currency: null,
};
const start = (changes: Partial<TokenCaller>) =>
  startIntake({ config: { tokens: [{ ...till, ...changes }] } });
const as = (token: string) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});
const ofTill = (changes: object = {}) => order({ source: 'till', ...changes });

describe('a token', () => {
  it.each(['post', 'read', 'cancel'] as const)(
    'that was made to %s orders can do that, and nothing else',
    async (scope) => {
      const { post, call } = await start({ scopes: [scope] });
      const answers = {
        post: await post(ofTill(), as(secret)),
        read: await call('GET', '/v1/orders/till/1001', as(secret)),
        cancel: await call('DELETE', '/v1/orders/till/1001', as(secret)),
      };
      expect([202, 404]).toContain(answers[scope].status);
      for (const name of (['post', 'read', 'cancel'] as const).filter((one) => one !== scope)) {
        const { status, code, detail } = problemSchema.parse(answers[name].json);
        const rule = `This token has no permission to ${name} orders: its scopes are ${scope}.`;
        expect([status, code, detail]).toEqual([403, 'scope_not_allowed', rule]);
      }
    },
  );

  it('may only touch the orders of its sources; one that names none gets the first', async () => {
    const { post, call } = await start({ sources: ['till', 'kiosk'] });
    const { source: _, ...nobodys } = ofTill();
    expect((await post(nobodys, as(secret))).json.source).toBe('till');
    expect((await post(order({ source: 'kiosk' }), as(secret))).status).toBe(202);
    for (const { status, json } of [
      await post(order(), as(secret)),
      await call('GET', '/v1/orders/shop1/1001', as(secret)),
      await call('DELETE', '/v1/orders/shop1/1001', as(secret)),
    ])
      expect([status, json.code]).toEqual([403, 'source_not_allowed']);
  });

  it('names the balance of its orders that name none, and of no others', async () => {
    const { post, outbox } = await start({ currency: 'EUR' });
    const [gift] = ofTill().lines;
    const post1 = (order_id: string, changes: object) =>
      post(ofTill({ order_id, lines: [gift], ...changes }), as(secret));
    await post1('1', { currency: undefined });
    await post1('2', {});
    await post1('3', { currency: undefined, lines: [{ ...Object(gift), currency: 'GBP' }] });
    const charged = ['1', '2', '3'].map(
      (id) => outbox.store.read.showOrder('till', id)?.entries[0]?.currency,
    );
    expect(charged).toEqual(['EUR', 'USD', 'GBP']);
  });

  it('has one balance, also while it is replaced', () => {
    const file = (other: string) =>
      minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox') +
      `intake: { webhook: { listen: "127.0.0.1:0", tokens: [{ name: till, value: ${secret}, sources: [till], currency: EUR }, { name: till, value: ${secret}2, sources: [till]${other} }] } }\n`;
    expect(load(file(', currency: EUR')).config.intake.webhook?.tokens).toMatchObject([
      { currency: 'EUR', secrets: [secret, `${secret}2`] },
    ]);
    expect(mistakesOf(file('')).join()).toContain('currency');
  });

  it('is replaced in two steps: for a while the new one and the previous one are right', async () => {
    const next = 'a-token-of-a-till-0002';
    const { post } = await start({ secrets: [next, secret] });
    expect((await post(ofTill(), as(next))).status).toBe(202);
    expect((await post(ofTill(), as(secret))).status).toBe(200);
  });
});

describe('the configuration of a token', () => {
  const file = (more: string) =>
    `${minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox')}intake: { webhook: { listen: "127.0.0.1:0", tokens: [{ name: till, value: ${secret}${more} }] } }`;

  it('without sources allows the source that is called like it, and warns', () => {
    const { config, warnings } = load(file(''));
    const scopes = ['post', 'read', 'cancel'];
    expect(config.intake.webhook?.tokens).toEqual([{ ...till, scopes }]);
    expect(warnings).toEqual([
      'intake.webhook.tokens.0.sources is not set: this token has permission only for orders of the source "till"',
    ]);
    expect(load(file(', sources: [a, b], scopes: [post]')).warnings).toEqual([]);
    const named = load(file(', scopes: [post, cancel_esim]')).config.intake.webhook?.tokens;
    expect(named).toMatchObject([{ scopes: ['post', 'cancel_esim'] }]);
  });

  it('takes the old and the new token of one name, which must be as good and may do the same', () => {
    const second = (more: string): string => `}, { name: till, ${more}`;
    const { config, warnings } = load(file(second('value: the-token-before-this-one')));
    expect(config.intake.webhook?.tokens).toMatchObject([
      { secrets: [secret, 'the-token-before-this-one'] },
    ]);
    expect(warnings.join()).toContain('"till" has more than one token; remove the old one');
    expect(mistakesOf(file(second('value: short'))).join()).toContain(
      'must have at least 16 characters',
    );
    expect(mistakesOf(file(second(`value: ${secret}`))).join()).toContain(
      'is also the secret of another entry',
    );
    const rights = second('value: the-token-before-this-one, scopes: [post]');
    expect(mistakesOf(file(rights)).join()).toContain('which has another `scopes`');
    expect(mistakesOf(file(', scopes: []')).join()).toContain('scopes');
  });
});

describe('wrong tokens', () => {
  it('are slowed down after 20 from one address, together with short right ones that were not seen there before', async () => {
    const { post, call } = await startIntake({
      config: {
        tokens: [
          till,
          { ...till, name: 'other', secrets: ['short-of-another', 'a-long-token-of-another'] },
        ],
      },
    });
    expect((await post(ofTill(), as(secret))).status).toBe(202);
    const statuses: number[] = [];
    for (let tries = 0; tries < 25; tries += 1)
      statuses.push(
        (await call('GET', '/v1/orders/till/1001', as(`wrong-token-number-${tries}`))).status,
      );
    expect(new Set(statuses.slice(0, 20))).toEqual(new Set([401]));
    expect(statuses.slice(20)).toContain(429);
    const unseen = await call('GET', '/v1/orders/till/1001', as('short-of-another'));
    expect([unseen.status, unseen.json.code, Number(unseen.headers.get('retry-after'))]).toEqual([
      429,
      'rate_limited',
      1,
    ]);
    // Nobody finds a long one by trying: behind a proxy, all callers share its address.
    expect((await call('GET', '/v1/orders/till/1001', as('a-long-token-of-another'))).status).toBe(
      200,
    );
    expect((await call('GET', '/v1/orders/till/1001', as(secret))).status).toBe(200);
  });

  it('are logged with their count: the first, the tenth, the hundredth', () => {
    const clock = new HandClock();
    const lines: Record<string, unknown>[] = [];
    const failed = new FailedTokens(
      clock,
      pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line)) }),
    );
    for (let tries = 0; tries < 3000; tries += 1)
      failed.judge('192.0.2.7', 'short-token-0001', null);
    expect(lines.map(({ wrong_tokens: count }) => count)).toEqual([1, 10, 100, 1000]);
    expect(lines[0]).toMatchObject({ address: '192.0.2.7', addresses: 1 });
    expect(failed.judge('192.0.2.8', 'short-token-0001', null)).toBe(0);
  });

  it('of one IPv6 network share what it may try; an address that waits may try again later', () => {
    const clock = new HandClock();
    const failed = new FailedTokens(clock, pino({ level: 'silent' }));
    for (let tries = 1; tries <= 20; tries += 1)
      expect(failed.judge(`2001:db8::${tries}`, 'short-token-0001', null)).toBe(0);
    expect(failed.judge('2001:db8::ff', 'short-token-0001', null)).toBeGreaterThan(0);
    expect(failed.judge('2001:db8:0:1::1', 'short-token-0001', null)).toBe(0);
    clock.now += 1000;
    expect(failed.judge('2001:db8::1', 'short-token-0001', 'till')).toBe(0);
    expect(failed.judge('2001:db8::1', 'short-token-0001', 'till')).toBe(0);
    expect(failed.judge('2001:db8::1', 'short-token-0001', 'other')).toBeGreaterThan(0);
  });
});
