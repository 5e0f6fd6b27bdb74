import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  healthRoutes,
  startHealthServer,
  type HealthCheck,
} from '../../src/admin/health-server.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';

const passing: HealthCheck = { name: 'database', readiness: true, check: () => 'pass' };
const supplierDown: HealthCheck = { name: 'supplier', readiness: false, check: () => 'fail' };
const broken: HealthCheck = {
  name: 'database',
  readiness: true,
  check: () => {
    throw new Error('SQLITE_IOERR at /data/order-sync.db');
  },
};

async function ask(path: string, checks: HealthCheck[], draining = false) {
  const routes = healthRoutes({ checks, draining: () => draining, version: '1.2.3' });
  const answer = await routes.request(path);
  return { status: answer.status, body: await answer.text() };
}

describe('health', () => {
  it('is alive whatever its checks report', async () => {
    expect((await ask('/livez', [broken], true)).status).toBe(200);
  });

  it('is ready while it can accept and record, and not while draining', async () => {
    expect((await ask('/readyz', [passing])).status).toBe(200);
    expect((await ask('/readyz', [broken])).status).toBe(503);
    expect(await ask('/readyz', [passing], true)).toEqual({
      status: 503,
      body: '{"status":"fail","reason":"draining"}',
    });
  });

  it('stays ready when the supplier is down: the shop must still be able to hand over orders', async () => {
    expect((await ask('/readyz', [passing, supplierDown])).status).toBe(200);
    expect((await ask('/healthz', [passing, supplierDown])).status).toBe(503);
  });

  it('names each check and shows the worst result, but never the reason', async () => {
    const { status, body } = await ask('/healthz', [
      broken,
      { name: 'results', readiness: false, check: () => 'warn' },
    ]);
    expect(status).toBe(503);
    expect(JSON.parse(body)).toEqual({
      status: 'fail',
      draining: false,
      version: '1.2.3',
      checks: { database: 'fail', results: 'warn' },
    });
    expect(
      (await ask('/healthz', [{ name: 'results', readiness: false, check: () => 'warn' }])).status,
    ).toBe(200);
  });

  it('shows the details of a check, and none for a check without them', async () => {
    const { body } = await ask('/healthz', [
      {
        name: 'clock',
        readiness: false,
        check: () => 'warn',
        details: () => ({ ahead_ms: 432_000_000 }),
      },
      { name: 'results', readiness: false, check: () => 'pass', details: () => null },
    ]);
    expect(JSON.parse(body)).toMatchObject({ details: { clock: { ahead_ms: 432_000_000 } } });
    expect(body).not.toContain('"results":null');
  });

  it('listens on a free port and reports it, and its stop does not wait for open connections', async () => {
    const server = await startHealthServer(options(0));
    const answer = await fetch(`http://${server.address}/livez`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    await server.close();
    await expect(fetch(`http://${server.address}/livez`)).rejects.toThrow('fetch failed');
  });

  it('stops although a client has not finished its request', async () => {
    const server = await startHealthServer(options(0));
    const client = connect(Number(server.address.split(':')[1]), '127.0.0.1');
    const dropped = once(client.resume(), 'close');
    client.write('GET /livez HTTP/1.1\r\nhost: x\r\n');
    await once(client, 'connect');
    await fetch(`http://${server.address}/livez`);
    await server.close();
    await expect(dropped).resolves.toBeDefined();
  });

  it('names the key to change when the port is taken', async () => {
    const first = await startHealthServer(options(0));
    onTestFinished(() => first.close());
    const port = Number(first.address.split(':')[1]);
    await expect(startHealthServer(options(port))).rejects.toMatchObject({
      code: 'LISTEN_FAILED',
      message: `Cannot listen on 127.0.0.1:${port}: another program listens there`,
      hint: expect.stringContaining('admin.listen'),
    });
  });
});

function options(port: number) {
  const silent = { clock: new SystemClock(), logger: pino({ level: 'silent' }) };
  return {
    host: '127.0.0.1',
    port,
    version: '1.2.3',
    checks: [passing],
    draining: () => false,
    ...silent,
  };
}
