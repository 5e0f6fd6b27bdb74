import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { installation, sandboxConfig, type Installation } from './installation.ts';
import { serveSandbox } from './serve-sandbox.ts';

const headers = { authorization: 'Bearer sandbox-key-main', 'content-type': 'application/json' };
const answerSchema = z.looseObject({ number: z.string(), status: z.string() });

/** A sandbox in a process of its own, on a free port, and what a program of a shop sends to it. */
async function running() {
  const place = installation();
  const { url, child, ended } = await serveSandbox(place, '--port', '0');
  const ask = async (path: string, body?: object): Promise<{ status: number; json: unknown; id: string | null }> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(url + path, { headers, ...init });
    return { status: answer.status, json: await answer.json(), id: answer.headers.get('request-id') };
  };
  const buy = async (path: string, order: object) => {
    const answer = await ask(path, { quantity: 1, currency: 'USD', ...order });
    return { ...answer, ...answerSchema.parse(answer.json) };
  };
  return { place, url, child, ended, ask, buy };
}

const refused = async (place: Installation, ...argv: string[]): Promise<[number | null, string]> => {
  const { code, stderr } = await place.run(...argv);
  return [code, stderr];
};

describe('order-sync sandbox logs', () => {
  it('shows what was sent and answered, and one request with its bodies', async () => {
    const { place, ask, buy } = await running();
    const bought = await buy('/orders', { reference: 'shop-1', variant: 'steam-usd-20' });
    await ask('/orders/missing');
    const table = await place.run('sandbox', 'logs');
    expect(table.stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, '|').replace(/\|\d{4}-[^|]+/, ''))).toEqual(
      [
        'REQUEST|TIME|CALL|ANSWER|KEY',
        'req-2|GET /orders/missing|404 not_found|acme/main',
        'req-1|POST /orders|201|acme/main',
        '',
      ],
    );
    const json = await place.run('sandbox', 'logs', '--failed', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ requests: [{ id: 'req-2', status: 404 }], next_before: null });
    const one = await place.run('sandbox', 'logs', bought.id ?? '');
    expect(one.stdout).toContain(
      'request       {"quantity":1,"currency":"USD","reference":"shop-1","variant":"steam-usd-20"}\n',
    );
    expect(one.stdout).toContain(`response      ${JSON.stringify(bought.json)}\n`);
    expect(one.stdout).not.toContain('sandbox-key-main');
    const older = await place.run('sandbox', 'logs', '--limit', '1');
    expect(older.stdout).toContain('Older ones: --before req-2\n');
    expect((await place.run('sandbox', 'logs', '--before', 'req-2', '--search', 'shop-1')).stdout).toContain('req-1');
    expect(await refused(place, 'sandbox', 'logs', 'req-77')).toEqual([4, expect.stringContaining('no such')]);
    expect((await refused(place, 'sandbox', 'logs', '--limit', '501'))[0]).toBe(2);
  });
});

describe('order-sync sandbox trigger', () => {
  it('delivers and refunds orders, and installs and expires eSIMs', async () => {
    const { place, ask, buy } = await running();
    const pending = await buy('/orders', { reference: 'later', variant: 'test-delayed' });
    expect(pending.status).toBe('pending');
    expect((await place.run('sandbox', 'trigger', 'deliver', pending.number)).stdout).toBe(
      `deliver ${pending.number}: done\n`,
    );
    expect((await ask('/orders/later')).json).toMatchObject({ status: 'completed', codes: [{}] });
    expect((await place.run('sandbox', 'trigger', 'refund', pending.number, '--json')).stdout).toBe(
      `${JSON.stringify({ event: 'refund', subject: pending.number })}\n`,
    );
    expect((await ask('/orders/later')).json).toMatchObject({ status: 'refunded', codes: [] });
    const { json } = await buy('/esim/orders', { reference: 'e', plan: 'es-5gb-30d', quantity: 2 });
    const { esims } = z.object({ esims: z.array(z.looseObject({ iccid: z.string() })) }).parse(json);
    const [installed = '', expired = ''] = esims.map(({ iccid }) => iccid);
    expect((await place.run('sandbox', 'trigger', 'install', installed)).code).toBe(0);
    expect((await place.run('sandbox', 'trigger', 'expire', expired)).code).toBe(0);
    expect((await ask(`/esim/esims/${installed}`)).json).toMatchObject({ state: 'installed' });
    expect((await ask(`/esim/esims/${expired}`)).json).toMatchObject({ state: 'expired' });
    const fresh = await buy('/esim/orders', { reference: 'f', plan: 'es-5gb-30d' });
    const iccid = z.object({ esims: z.tuple([z.looseObject({ iccid: z.string() })]) }).parse(fresh.json).esims[0].iccid;
    expect((await place.run('sandbox', 'trigger', 'fail-state-checks', iccid, '--times', '2')).code).toBe(0);
    const cancel = async (): Promise<number> => (await ask(`/esim/esims/${iccid}/cancel`, {})).status;
    expect([await cancel(), await cancel(), await cancel()]).toEqual([409, 409, 200]);
    expect(await refused(place, 'sandbox', 'trigger', 'install', expired)).toEqual([
      2,
      expect.stringContaining(`the eSIM ${expired} is expired, which is final`),
    ]);
  });

  it('sells out, takes off sale, switches the API off, spoils calls, blocks an account, revokes a key', async () => {
    const { place, url, ask } = await running();
    const trigger = async (...argv: string[]): Promise<void> => {
      const { code, stderr } = await place.run('sandbox', 'trigger', ...argv);
      expect([code, stderr]).toEqual([0, '']);
    };
    let number = 0;
    const statusOf = async (path: string, order: object): Promise<number> => {
      number += 1;
      return (await ask(path, { reference: `r${number}`, quantity: 1, currency: 'USD', ...order })).status;
    };
    const card = (): Promise<number> => statusOf('/orders', { variant: 'steam-usd-20' });
    const esim = (): Promise<number> => statusOf('/esim/orders', { plan: 'es-5gb-30d' });
    await trigger('sell-out', 'steam-usd-10');
    expect(await statusOf('/orders', { variant: 'steam-usd-10' })).toBe(409);
    await trigger('off-sale', 'es-5gb-30d');
    expect(await esim()).toBe(422);
    await trigger('on-sale', 'es-5gb-30d');
    expect(await esim()).toBe(201);
    await trigger('maintenance');
    expect(await card()).toBe(503);
    await trigger('end-maintenance');
    await trigger('fault', 'html_502', '--times', '2', '--operation', 'gift_card_order');
    const order = { reference: 'spoiled', variant: 'steam-usd-20', quantity: 1, currency: 'USD' };
    const spoiled = async (): Promise<number> =>
      (await fetch(`${url}/orders`, { method: 'POST', headers, body: JSON.stringify(order) })).status;
    expect([await esim(), await spoiled(), await spoiled(), await spoiled()]).toEqual([201, 502, 502, 200]);
    await trigger('fault', 'rate_limited', '--times', '9');
    expect(await card()).toBe(429);
    await trigger('clear-faults');
    expect(await card()).toBe(201);
    await trigger('block', 'acme');
    expect(await card()).toBe(403);
    await trigger('unblock', 'acme');
    expect(await card()).toBe(201);
    await trigger('revoke-key', 'acme/main');
    expect(await card()).toBe(401);
  });

  it('says what is wrong with its arguments, and what does not exist', async () => {
    const { place } = await running();
    expect(await refused(place, 'sandbox', 'trigger', 'deliver')).toEqual([2, expect.stringContaining('order number')]);
    expect(await refused(place, 'sandbox', 'trigger', 'clear-faults', 'x')).toEqual([
      2,
      expect.stringContaining('clear-faults takes no argument'),
    ]);
    expect((await refused(place, 'sandbox', 'trigger', 'explode'))[0]).toBe(2);
    expect((await refused(place, 'sandbox', 'trigger', 'fault', 'no-such-fault'))[0]).toBe(2);
    expect((await refused(place, 'sandbox', 'trigger', 'refund', 'GC-1'))[0]).toBe(4);
    expect((await refused(place, 'sandbox', 'trigger', 'revoke-key', 'acme'))[0]).toBe(4);
  });
});

describe('order-sync sandbox trigger advance and reset', () => {
  it('moves its clock forward, empties it, and sets it back', async () => {
    const { place, url, ask, buy } = await running();
    await buy('/orders', { reference: 'shop-1', variant: 'test-delayed' });
    const clockSchema = z.object({ now: z.number() });
    const now = async () => clockSchema.parse(await (await fetch(`${url}/__sandbox/clock`)).json()).now;
    const before = await now();
    expect((await place.run('sandbox', 'trigger', 'advance', '7d')).stdout).toBe('advance 7d: done\n');
    expect((await refused(place, 'sandbox', 'trigger', 'advance', 'soon'))[0]).toBe(2);
    expect(await now()).toBeGreaterThanOrEqual(before + 7 * 86_400_000);
    expect((await ask('/orders/shop-1')).json).toMatchObject({ status: 'completed' });
    expect((await place.run('sandbox', 'trigger', 'reset')).stdout).toBe('reset: done\n');
    expect((await ask('/orders/shop-1')).status).toBe(404);
    expect(await now()).toBeLessThan(before + 86_400_000);
  });
});

describe('which sandbox is asked', () => {
  it('the one that runs with the config, whatever its port is; none after its end, and none when it was killed', async () => {
    const { place, url, child, ended } = await running();
    const file = join(place.dataDir, 'sandbox.db.url');
    expect(statSync(file).mode & 0o077).toBe(0);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(existsSync(file)).toBe(false);
    // As after a kill -9, which leaves the file.
    writeFileSync(file, `${url}\n`);
    expect(await refused(place, 'sandbox', 'logs')).toEqual([
      6,
      expect.stringContaining(`No sandbox answers at ${url}`),
    ]);
    const next = await serveSandbox(place, '--port', '0');
    expect((await place.run('sandbox', 'logs')).code).toBe(0);
    // As in a container, where the sandbox listens on every address of the machine.
    writeFileSync(file, `${next.url.replace('127.0.0.1', '0.0.0.0')}\n`);
    expect((await place.run('sandbox', 'logs')).code).toBe(0);
    const other = installation();
    expect((await other.run('sandbox', 'logs', '--url', next.url)).code).toBe(0);
  });

  it('one with an admin token takes it from the config, and refuses a command without it', async () => {
    const guarded = installation((folder) =>
      sandboxConfig(folder).replace(/sandbox: \{/, 'sandbox: { admin_token: a-long-secret,'),
    );
    const { url } = await serveSandbox(guarded, '--port', '0');
    expect((await guarded.run('sandbox', 'logs')).code).toBe(0);
    const [code, stderr] = await refused(installation(), 'sandbox', 'logs', '--url', url);
    expect(code).toBe(5);
    expect(stderr).toContain('sandbox.admin_token');
  });
});
