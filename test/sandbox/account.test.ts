import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Sandbox } from '../../src/sandbox/create-sandbox.ts';
import { callerOf, giftCard, mainKey, refusalOf, startSandbox, temporaryFolder } from './running-sandbox.ts';

const letter = z.object({ to: z.string(), purpose: z.string(), code: z.string() });

type Fields = Record<string, string>;

/** A browser without JavaScript: it has only cookies, forms and links. */
class Browser {
  readonly #sandbox: Sandbox;
  readonly #outbox: string;
  cookie = '';
  token = '';

  constructor(sandbox: Sandbox, database: string) {
    this.#sandbox = sandbox;
    this.#outbox = `${database}.outbox.jsonl`;
  }

  async submit(
    path: string,
    fields: Fields,
    headers: Fields = {},
  ): Promise<{ status: number; text: string; headers: Headers }> {
    const response = await fetch(this.#sandbox.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: this.cookie, origin: this.#sandbox.url, ...headers },
      body: new URLSearchParams({ form_token: this.token, ...fields }),
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  async open(): Promise<string> {
    const response = await fetch(`${this.#sandbox.url}/account`, { headers: { cookie: this.cookie } });
    const text = await response.text();
    this.token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    return text;
  }

  latestCode(): z.output<typeof letter> {
    return letter.parse(JSON.parse(readFileSync(this.#outbox, 'utf8').trimEnd().split('\n').at(-1) ?? ''));
  }

  async signIn(email: string): Promise<void> {
    await this.submit('/account/sign-in', { email });
    const reply = await this.submit('/account/session', { email, code: this.latestCode().code });
    if (reply.status !== 303) throw new Error(`signing in failed: ${reply.text}`);
    this.cookie = (reply.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    await this.open();
  }

  /** Requests a one-time code, creates a key with it, and returns the page. */
  async createKey(name: string): Promise<string> {
    await this.submit('/account/keys/code', {});
    return (await this.submit('/account/keys', { name, code: this.latestCode().code })).text;
  }
}

async function signedIn(): Promise<{ sandbox: Sandbox; browser: Browser; database: string }> {
  const database = join(temporaryFolder(), 'sandbox.db');
  const sandbox = await startSandbox({}, { database });
  const browser = new Browser(sandbox, database);
  await browser.signIn('owner@acme.example');
  return { sandbox, browser, database };
}

const keyIn = (page: string): string => /<pre id="new-key">(wok_[\w-]+)<\/pre>/.exec(page)?.[1] ?? '';

describe('API keys', () => {
  it('a key is created with a one-time code that was sent to the account holder, and it is shown once', async () => {
    const { sandbox, browser, database } = await signedIn();
    const page = await browser.createKey('shop');
    expect(browser.latestCode()).toMatchObject({ to: 'owner@acme.example', purpose: 'create_key' });
    expect(statSync(`${database}.outbox.jsonl`).mode & 0o077).toBe(0);
    const key = keyIn(page);
    expect((await callerOf(sandbox, key).get('/balances')).status).toBe(200);
    expect(await browser.open()).not.toContain(key);
  });

  it('only the fingerprint of a key is stored: the database file does not contain the key', async () => {
    const { sandbox, browser, database } = await signedIn();
    const key = keyIn(await browser.createKey('shop'));
    await callerOf(sandbox, key).post('/orders', giftCard('a'));
    await sandbox.close();
    new Sqlite(database).pragma('wal_checkpoint(TRUNCATE)');
    const bytes = readFileSync(database);
    for (const secret of [key, mainKey]) expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes('acme')).toBe(true);
  });

  it('creating a key needs a code that is correct, at most ten minutes old and not used', async () => {
    const { browser, sandbox } = await signedIn();
    expect((await browser.submit('/account/keys', { name: 'x', code: '000000' })).text).toContain('wrong or too old');
    await browser.createKey('first');
    const used = browser.latestCode().code;
    expect((await browser.submit('/account/keys', { name: 'x', code: used })).text).toContain('wrong or too old');
    await browser.submit('/account/keys/code', {});
    await sandbox.operate((operator) => operator.advanceClock(10 * 60_000));
    expect((await browser.submit('/account/keys', { name: 'x', code: browser.latestCode().code })).text).toContain(
      'wrong or too old',
    );
    await browser.submit('/account/keys/code', {});
    for (let guess = 0; guess < 5; guess += 1) await browser.submit('/account/keys', { name: 'x', code: 'guess' });
    expect((await browser.submit('/account/keys', { name: 'x', code: browser.latestCode().code })).text).toContain(
      'wrong or too old',
    );
  });

  it('an account has at most five live keys, and a revoked key stops working at once and frees its place', async () => {
    const { browser, sandbox } = await signedIn();
    for (const name of ['two', 'three', 'four', 'five']) expect(keyIn(await browser.createKey(name))).not.toBe('');
    expect(await browser.createKey('six')).toContain('at most 5 live keys');
    const key = callerOf(sandbox);
    expect((await key.get('/balances')).status).toBe(200);
    await browser.submit('/account/keys/1/revoke', {});
    expect(refusalOf(await key.get('/balances'))).toBe('401 invalid_key');
    expect(keyIn(await browser.createKey('six'))).not.toBe('');
  });

  it('a key that the operator revoked stays revoked when the sandbox starts again with the same config', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const first = await startSandbox({}, { database });
    expect(await first.operate((operator) => operator.revokeKey('acme', 'main'))).toBe(true);
    await first.close();
    expect(refusalOf(await callerOf(await startSandbox({}, { database })).get('/balances'))).toBe('401 invalid_key');
  });

  it('a key has an allowlist of up to 10 IPv4 or IPv6 addresses, and with an empty one it works from any address', async () => {
    const { browser, sandbox } = await signedIn();
    const from = (localAddress: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${mainKey}` };
        const call = request(`${sandbox.url}/balances`, { localAddress, headers, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        call.on('error', reject);
        call.end();
      });
    const save = async (addresses: string): Promise<string> =>
      (await browser.submit('/account/keys/1/addresses', { addresses })).text;
    expect(await save('2001:DB8:0::7 127.0.0.2')).toContain('saved');
    expect([await from('127.0.0.1'), await from('127.0.0.2')]).toEqual([403, 200]);
    expect(refusalOf(await callerOf(sandbox).get('/balances'))).toBe('403 ip_not_allowed');
    expect(await browser.open()).toContain('2001:db8::7');
    expect(await save('localhost')).toContain('is not an IPv4 or IPv6 address');
    expect(await save(Array.from({ length: 11 }, (_, index) => `10.0.0.${index}`).join(' '))).toContain('At most 10');
    expect(await from('127.0.0.1')).toBe(403);
    expect(await save('')).toContain('saved');
    expect(await from('127.0.0.1')).toBe(200);
  });
});

describe('the account page', () => {
  it('the page sells a website-only product, which no key can order or read', async () => {
    const { browser, sandbox } = await signedIn();
    const bought = await browser.submit('/account/shop', { variant: 'test-website-only', currency: 'USD' });
    const number = /Bought as (GC-\d+)/.exec(bought.text)?.[1] ?? '';
    expect(sandbox.ledger().orders).toEqual([expect.objectContaining({ number, channel: 'website', reference: null })]);
    expect(refusalOf(await callerOf(sandbox).get(`/orders/${number}`))).toBe('404 not_found');
    expect(refusalOf(await callerOf(sandbox).post('/orders', giftCard('a', { variant: 'test-website-only' })))).toBe(
      '422 not_api_sellable',
    );
    expect(await browser.open()).toContain('website');
  });

  it('the page adds balance, and a key can neither add balance, change the account nor open the page', async () => {
    const { browser, sandbox } = await signedIn();
    await browser.submit('/account/balances', { currency: 'GBP', amount: '12.34' });
    expect(sandbox.ledger().balances).toContainEqual({ account: 'acme', currency: 'GBP', amount_minor: 1234 });
    const before = sandbox.ledger();
    const withKey = { authorization: `Bearer ${mainKey}` };
    for (const path of [
      '/account/balances',
      '/account/keys',
      '/account/keys/1/revoke',
      '/account/shop',
      '/account/keys/1/addresses',
    ]) {
      const response = await fetch(sandbox.url + path, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...withKey, origin: sandbox.url },
        body: new URLSearchParams({
          currency: 'USD',
          amount: '5.00',
          name: 'x',
          variant: 'steam-usd-20',
          addresses: '',
        }),
      });
      expect(response.headers.get('location')).toBe('/account/sign-in');
    }
    for (const path of ['/balances', '/account/balances', '/keys', '/orders/GC-100001/refund']) {
      expect((await callerOf(sandbox).post(path, { currency: 'USD', amount: '5.00' })).status).toBeGreaterThanOrEqual(
        300,
      );
    }
    const after = sandbox.ledger();
    expect([after.balances, after.keys.length, after.orders]).toEqual([
      before.balances,
      before.keys.length,
      before.orders,
    ]);
  });

  it('the page refuses forms of another site, forms without its token, and forms without a session', async () => {
    const { browser, sandbox } = await signedIn();
    const { movements } = sandbox.ledger();
    const foreign = await browser.submit(
      '/account/balances',
      { currency: 'USD', amount: '5.00' },
      { origin: 'https://evil.example' },
    );
    expect(foreign.status).toBe(403);
    const forged = await browser.submit('/account/balances', { currency: 'USD', amount: '5.00', form_token: 'guess' });
    expect(forged.status).toBe(403);
    browser.cookie = 'sandbox_account=guess';
    expect((await browser.submit('/account/balances', { currency: 'USD', amount: '5.00' })).status).toBe(303);
    expect(sandbox.ledger().movements).toEqual(movements);
  });

  it('the page escapes the text of users, runs no script and is not cached', async () => {
    const { browser, sandbox } = await signedIn();
    await browser.createKey('<script>alert(1)</script>');
    const response = await fetch(`${sandbox.url}/account`, { headers: { cookie: browser.cookie } });
    const text = await response.text();
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).not.toContain('<script');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('a signed-out browser gets the sign-in page', async () => {
    const { browser } = await signedIn();
    await browser.submit('/account/sign-out', {});
    expect(await browser.open()).toContain('Send me a one-time code');
  });
});
