import { describe, expect, it } from 'vitest';
import { installation, runProgram, sandboxConfig } from './installation.ts';
import { serveSandbox } from './serve-sandbox.ts';

describe('order-sync sandbox', () => {
  it('serves the API alone, and ends with 0 on SIGTERM and on SIGINT', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { url, child, ended } = await serveSandbox(installation());
      const answer = await fetch(`${url}/products`, {
        headers: { authorization: 'Bearer sandbox-key-main' },
      });
      expect(answer.status).toBe(200);
      child.kill(signal);
      expect(await ended).toBe(0);
    }
  });

  it('keeps its orders over a restart, delivers the same codes for the same seed, and forgets everything with --reset', async () => {
    const place = installation();
    const headers = {
      authorization: 'Bearer sandbox-key-main',
      'content-type': 'application/json',
    };
    const body = JSON.stringify({
      reference: 'shop-1',
      variant: 'steam-usd-20',
      quantity: 1,
      currency: 'USD',
    });
    const during = async (flags: string[]): Promise<{ statuses: number[]; code: unknown }> => {
      const { url, child, ended } = await serveSandbox(place, '--listen', '127.0.0.1:0', ...flags);
      const kept = await fetch(`${url}/orders/shop-1`, { headers });
      const bought = await fetch(`${url}/orders`, { method: 'POST', headers, body });
      const { codes }: { codes: { code: string }[] } = JSON.parse(await bought.text());
      child.kill('SIGTERM');
      await ended;
      return { statuses: [kept.status, bought.status], code: codes[0]?.code };
    };
    const first = await during(['--seed', '7']);
    expect(first.statuses).toEqual([404, 201]);
    expect(await during(['--seed', '7'])).toEqual({ statuses: [200, 200], code: first.code });
    expect(await during(['--seed', '7', '--reset'])).toEqual({
      statuses: [404, 201],
      code: first.code,
    });
    expect((await during(['--seed', '8', '--reset'])).code).not.toBe(first.code);
  });

  it('says what to do when its port is taken, and ends with 5', async () => {
    const { url } = await serveSandbox(installation());
    const other = installation();
    const listen = url.replace('http://', '');
    const { code, stderr } = await runProgram([
      'sandbox',
      '--config',
      other.configFile,
      '--listen',
      listen,
    ]);
    expect(code).toBe(5);
    expect(stderr).toContain(`Cannot listen on ${listen}: another program listens there`);
  });

  it('is refused with 5 while another process has its database, and what that one sold stays', async () => {
    const place = installation();
    const { url, child, ended } = await serveSandbox(place);
    const headers = {
      authorization: 'Bearer sandbox-key-main',
      'content-type': 'application/json',
    };
    const body = JSON.stringify({
      reference: 'shop-1',
      variant: 'steam-usd-20',
      quantity: 1,
      currency: 'USD',
    });
    expect((await fetch(`${url}/orders`, { method: 'POST', headers, body })).status).toBe(201);
    const argv = ['sandbox', '--config', place.configFile, '--listen', '127.0.0.1:0', '--reset'];
    const second = await runProgram(argv);
    expect(second.code).toBe(5);
    expect(second.stderr).toMatch(
      /Another sandbox uses the database .*sandbox\.db\nWhat to do: stop that one first/,
    );
    expect((await fetch(`${url}/orders/shop-1`, { headers })).status).toBe(200);
    child.kill('SIGKILL');
    await ended;
    // The lock ends with the process that held it.
    expect(
      (await fetch(`${(await serveSandbox(place)).url}/orders/shop-1`, { headers })).status,
    ).toBe(200);
  });

  it('reports mistakes in its section by their places', async () => {
    const wrong = installation((folder) =>
      sandboxConfig(folder).replace(/sandbox: .*/, 'sandbox: { seed: x, limits: { orders: 0 } }'),
    );
    const { code, stderr } = await wrong.run('check-config');
    expect(code).toBe(3);
    expect(stderr).toContain('sandbox.seed: ');
    expect(stderr).toContain('sandbox.limits.orders: ');
  });
});
