import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { requireOperator } from '../../../src/admin/sign-in/page-access.ts';
import type { PageEnv } from '../../../src/admin/sign-in/visitor.ts';
import { operatorToken, startPages, tokens, viewerToken } from '../pages/running-pages.ts';

/** A form that only an operator may send. */
const decide = (): Hono<PageEnv> =>
  new Hono<PageEnv>().post('/decide', requireOperator, (context) =>
    context.text(`by ${context.var.visitor.name}`),
  );

describe('a sign-in to the pages', () => {
  it('begins a session whose cookie no script and no other site can use', async () => {
    const { signIn, ask } = await startPages();
    expect((await ask('/')).status).toBe(401);
    const signed = await signIn(operatorToken);
    expect([signed.status, signed.headers['location']]).toEqual([303, '/']);
    expect(signed.headers['set-cookie']).toMatch(
      /^order_sync_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const overview = await ask('/', { headers: { cookie: signed.cookie ?? '' } });
    expect(overview.status).toBe(200);
    expect(overview.text).toContain('anna (operator)');
  });

  it('is in the log and in the audit log, with the name and without the token', async () => {
    const { as, store, logLines } = await startPages();
    await as(viewerToken);
    const line = logLines.find((text) => text.includes('signed in to the pages'));
    expect(JSON.parse(line ?? '')).toMatchObject({ name: 'ben', role: 'viewer' });
    expect(logLines.join('')).not.toContain(viewerToken);
    const audited = () => store.read.auditLog({ action: 'sign_in' }, { limit: 2 }).rows;
    expect(audited()).toHaveLength(1);
    expect(audited()[0]).toMatchObject({
      actor: 'page:ben',
      subject: 'pages',
      detail: { role: 'viewer' },
    });
  });

  it('marks the cookie as secure when the browser came by https', async () => {
    const { signIn } = await startPages();
    const signed = await signIn(operatorToken, {
      'sec-fetch-site': 'same-origin',
      origin: 'https://orders.example.com',
    });
    expect(signed.headers['set-cookie']).toContain('Secure');
  });

  it('needs a known token, and slows down who tries them, but nobody with a long one', async () => {
    const { signIn, clock, change } = await startPages();
    const short = 'sixteen-letters-';
    change({
      tokens: [
        { name: 'anna', role: 'operator', secrets: [operatorToken] },
        { name: 'bea', role: 'viewer', secrets: [short] },
      ],
    });
    const wrong = await signIn('not-a-token-of-anybody');
    expect([wrong.status, wrong.cookie]).toEqual([401, null]);
    expect(wrong.text).toContain('This token is not known.');
    // Before anybody is signed in, the page says which worker asks.
    expect(wrong.text).toContain('Sign in to acme');
    expect(wrong.text).toContain('<strong>Sandbox</strong>');
    const tried = await Promise.all(
      Array.from({ length: 30 }, () => signIn('not-a-token-of-anybody')),
    );
    expect(tried.filter(({ status }) => status === 429).length).toBeGreaterThan(5);
    const right = await signIn(short);
    expect([right.status, right.headers['retry-after'], right.cookie]).toEqual([429, '1', null]);
    expect((await signIn(operatorToken)).status).toBe(303);
    clock.now += 2000;
    expect((await signIn(short)).status).toBe(303);
  });

  it('accepts the earlier token too, until it is taken out', async () => {
    const { signIn, ask, change } = await startPages();
    const signed = await signIn('the-earlier-token-of-anna');
    const headers = { cookie: signed.cookie ?? '' };
    expect((await ask('/', { headers })).status).toBe(200);
    change({ tokens: [{ name: 'anna', role: 'operator', secrets: [operatorToken] }] });
    expect((await ask('/', { headers })).status).toBe(401);
  });

  it('takes a role from the configuration in use, also for sessions that run', async () => {
    const { as, ask, change } = await startPages();
    const { headers } = await as(operatorToken);
    change({ tokens: [{ name: 'anna', role: 'viewer', secrets: [operatorToken] }] });
    expect((await ask('/', { headers })).text).toContain('anna (viewer)');
  });

  it('ends after two hours without a page, after twelve hours, and by a sign-out', async () => {
    const { as, ask, clock } = await startPages();
    const idle = await as(operatorToken);
    const used = await as(operatorToken);
    const out = await as(operatorToken);
    await ask('/sign-out', { method: 'POST', form: { csrf: out.csrf }, headers: out.headers });
    expect((await ask('/', out)).status).toBe(401);
    for (let hours = 0; hours < 11; hours += 1) {
      clock.now += 3_600_000;
      expect((await ask('/', used)).status).toBe(200);
    }
    expect((await ask('/', idle)).status).toBe(401);
    clock.now += 3_600_000;
    expect((await ask('/', used)).status).toBe(401);
  });

  it('keeps twenty sessions of a token: the one that was used the longest ago ends', async () => {
    const { as, ask } = await startPages();
    const other = await as(viewerToken);
    const sessions = [];
    for (let count = 0; count < 21; count += 1) sessions.push(await as(operatorToken));
    expect((await ask('/', sessions[0])).status).toBe(401);
    expect((await ask('/', sessions[1])).status).toBe(200);
    expect((await ask('/', other)).status).toBe(200);
  });

  it('leads back to the page that was asked for, and never to another site', async () => {
    const { ask } = await startPages();
    expect((await ask('/?a=1')).text).toContain('name="return_to" value="/?a=1"');
    const signIn = async (return_to: string) => {
      const form = { token: operatorToken, return_to };
      return (await ask('/sign-in', { method: 'POST', form })).headers['location'];
    };
    expect(await signIn('/orders?state=held')).toBe('/orders?state=held');
    for (const bad of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/.//evil.example',
      'orders',
      '',
    ]) {
      expect(await signIn(bad)).toBe('/');
    }
  });

  it('asks for the page again when a link on another site led to it, because the cookie was kept back', async () => {
    const { ask } = await startPages();
    const page = await ask('/', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect(page.text).toContain('http-equiv="refresh"');
    expect((await ask('/', { headers: { 'sec-fetch-site': 'same-origin' } })).text).not.toContain(
      'http-equiv="refresh"',
    );
  });
});

describe('a form', () => {
  it('needs an operator, and the visitor is named by the token', async () => {
    const { as, ask } = await startPages({ actions: () => decide() });
    const post = async (token: string) => {
      const { headers, csrf } = await as(token);
      return await ask('/decide', { method: 'POST', form: { csrf }, headers });
    };
    expect(await post(operatorToken)).toMatchObject({ status: 200, text: 'by anna' });
    expect((await post(viewerToken)).status).toBe(403);
  });

  it.each([
    ['without the csrf of the session', {}, {}],
    ['with that of another session', { csrf: 'A'.repeat(43) }, {}],
    ['from another site', null, { 'sec-fetch-site': 'cross-site' }],
    ['from another name of the same domain', null, { 'sec-fetch-site': 'same-site' }],
    ['with another origin', null, { origin: 'http://evil.example' }],
    ['with a hidden origin', null, { origin: 'null' }],
  ])('is refused %s', async (_, form, extra) => {
    const { as, ask } = await startPages({ actions: () => decide() });
    const { headers, csrf } = await as(operatorToken);
    const all = { ...headers, ...extra };
    const answer = await ask('/decide', { method: 'POST', form: form ?? { csrf }, headers: all });
    expect([answer.status, answer.text.includes('by anna')]).toEqual([403, false]);
    expect((await ask('/decide', { method: 'POST', form: { csrf }, headers })).status).toBe(200);
  });

  it('of more than 64 KiB is refused', async () => {
    const { as, ask } = await startPages({ actions: () => decide() });
    const { headers, csrf } = await as(operatorToken);
    const form = { csrf, reason: 'x'.repeat(70_000) };
    expect((await ask('/decide', { method: 'POST', form, headers })).status).toBe(413);
  });

  it('without tokens cannot decide anything', async () => {
    const { ask } = await startPages({ actions: () => decide(), settings: { tokens: [] } });
    expect((await ask('/')).text).toContain('Read only');
    expect((await ask('/decide', { method: 'POST', form: { csrf: '' } })).status).toBe(403);
  });
});

describe('the address of the pages', () => {
  const statusOf = async (host: string, settings: Parameters<typeof startPages>[0] = {}) => {
    const { ask } = await startPages(settings);
    return (await ask('/', { headers: { host } })).status;
  };

  it('is one of this machine, a number or a configured name: a rebound name is refused', async () => {
    expect(await statusOf('evil.example')).toBe(403);
    expect(await statusOf('localhost:9090')).toBe(401);
    expect(await statusOf('192.0.2.7:9090')).toBe(401);
    expect(await statusOf('[2001:db8::7]:9090')).toBe(401);
    expect(
      await statusOf('orders.example.com', { settings: { hosts: ['orders.example.com'] } }),
    ).toBe(401);
  });

  it('without tokens is this machine alone, and no proxy', async () => {
    const { ask } = await startPages({ settings: { tokens: [] } });
    const status = async (headers: Record<string, string>) => (await ask('/', { headers })).status;
    expect(await status({ host: 'localhost' })).toBe(200);
    expect(await status({ host: '192.0.2.7' })).toBe(403);
    expect(await status({ host: 'localhost', 'x-forwarded-for': '192.0.2.7' })).toBe(403);
  });

  it('that other machines reach, or that is no trial, shows nothing without tokens', async () => {
    const { ask, change } = await startPages({ settings: { tokens: [] } });
    change({ listen: { host: '0.0.0.0', port: 9090 } });
    expect((await ask('/')).status).toBe(404);
    change({ listen: { host: '127.0.0.1', port: 9090 }, isTrial: false });
    const { status, text } = await ask('/');
    expect({ status, text }).toEqual({
      status: 404,
      text: expect.stringContaining('admin.tokens is empty'),
    });
    change({ tokens });
    expect((await ask('/')).status).toBe(401);
  });

  it('sends headers that let nothing else in', async () => {
    const { ask } = await startPages();
    const { headers } = await ask('/');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
    });
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect((await ask('/healthz')).status).toBe(200);
  });
});
