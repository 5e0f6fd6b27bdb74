import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { versionHeader } from '../../src/admin/control-protocol.ts';
import { programVersion } from '../../src/ops/program-version.ts';
import { readRunFile, writeRunFile } from '../../src/ops/run-file.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import {
  Installation,
  projectRoot,
  type InstallationOptions,
  type WorkerProcess,
} from '../support/worker-process.ts';

let installation: Installation;
let foreign: Server | null = null;
let proxyServer: TcpServer | null = null;

function portOf(server: TcpServer): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

afterEach(async () => {
  foreign?.close();
  foreign = null;
  proxyServer?.close();
  proxyServer = null;
  await installation.close();
});

/**
 * A proxy before the sandbox. While it is closed, it holds calls back; when it opens, they arrive.
 */
async function closedProxy(port: number): Promise<{ url: string; open: () => void }> {
  const opened = Promise.withResolvers<void>();
  const server = createTcpServer((near) => {
    near.on('error', () => near.destroy());
    void opened.promise.then(() => {
      const far = connect(port, '127.0.0.1').on('error', () => near.destroy());
      near.pipe(far).pipe(near);
    });
  });
  proxyServer = server;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${portOf(server)}`, open: opened.resolve };
}

const order = (id: string) => ({
  source: 'shop',
  order_id: id,
  currency: 'USD',
  lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
});

async function running(options: InstallationOptions = {}): Promise<WorkerProcess> {
  installation = await Installation.open(options);
  const worker = installation.start();
  await worker.started();
  return worker;
}

// In this process, which talks to the worker's process as a shell's command would.
const cli = (...argv: string[]) =>
  runHere([...argv, '--config', installation.configFile], new SystemClock());
const decide = (...argv: string[]) => cli(...argv, '--reason', 'asked by the shop');
const referenceOf = (id: string) =>
  installation.query<{ reference: string }>(
    `SELECT reference FROM outbox WHERE order_id = '${id}'`,
  )[0]?.reference ?? '';
const stateOf = (id: string) =>
  installation.query<{ state: string }>(`SELECT state FROM outbox WHERE order_id = '${id}'`)[0]
    ?.state;

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!holds()) {
    if (performance.now() > deadline)
      throw new Error(
        `it never came: ${JSON.stringify(installation.query('SELECT * FROM outbox'))}`,
      );
    await delay(20);
  }
}

/** Submits orders on standard input. */
async function submit(...ids: string[]): Promise<string> {
  const child = spawn(
    process.execPath,
    ['bin/order-sync.js', 'submit', '-', '--json', '--config', installation.configFile],
    {
      cwd: projectRoot,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  child.stdin.end(JSON.stringify(ids.map(order)));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => void (text += part));
  await once(child, 'close');
  return text;
}

describe('an operator who controls a running worker', () => {
  it('pauses a family, also across kill -9 and a restart, and resumes it', async () => {
    const worker = await running();
    expect((await decide('queue', 'pause', 'family:gift_card')).code).toBe(0);
    expect(JSON.parse(await submit('1', '2'))).toMatchObject({
      lines: [{ status: 'accepted' }, { status: 'accepted' }],
    });
    await delay(300);
    await worker.end('SIGKILL');
    const next = installation.start();
    await next.started();
    await delay(300);
    expect(
      installation.sandbox.ledger().calls.filter((call) => call.operation === 'gift_card_order'),
    ).toEqual([]);
    expect((await decide('queue', 'resume', 'family:gift_card')).code).toBe(0);
    await until(() => stateOf('1') === 'fulfilled' && stateOf('2') === 'fulfilled');
    expect(installation.sandbox.ledger().orders).toHaveLength(2);
    expect(next.log.filter((line) => line.msg === 'operator command performed')).toHaveLength(1);
  });

  it('cannot change an entry whose call is in flight', async () => {
    installation = await Installation.open();
    const proxy = await closedProxy(Number(new URL(installation.sandbox.url).port));
    installation.configure((config) => {
      config.wholesale.base_url = proxy.url;
    });
    await installation.start().started();
    await submit('1');
    await until(() => stateOf('1') === 'sending');
    const asked = ['hold', 'cancel', 'retry'].map((action) =>
      decide('orders', action, referenceOf('1')),
    );
    for (const { code, stderr } of await Promise.all(asked)) {
      expect(code).toBe(5);
      expect(stderr).toContain('is sending');
    }
    expect(installation.query('SELECT * FROM audit_log')).toEqual([]);
    proxy.open();
    await until(() => stateOf('1') === 'fulfilled');
    expect(installation.sandbox.ledger().orders).toHaveLength(1);
  });

  it('finds a decision still in force after kill -9, and the order is bought once', async () => {
    const worker = await running();
    await decide('queue', 'pause', 'account');
    await submit('1', '2');
    expect((await decide('orders', 'hold', referenceOf('1'))).stdout).toContain('pending -> held');
    expect((await decide('orders', 'cancel', referenceOf('2'))).stdout).toContain(
      'pending -> cancelled',
    );
    await worker.end('SIGKILL');
    // No worker is running, but the run file still exists.
    expect(readRunFile(installation.folder)).not.toBeNull();
    expect((await decide('queue', 'resume', 'account')).code).toBe(0);
    const next = installation.start();
    await next.started();
    await delay(300);
    expect([stateOf('1'), stateOf('2')]).toEqual(['held', 'cancelled']);
    expect(installation.sandbox.ledger().orders).toEqual([]);
    expect((await decide('orders', 'release', referenceOf('1'))).code).toBe(0);
    const second = referenceOf('2');
    const anew = await decide('orders', 'reorder', second, '--confirm', second);
    expect(anew.code).toBe(0);
    const again = await decide('orders', 'reorder', second, '--confirm', second);
    expect(again.code).toBe(5);
    await until(
      () =>
        installation.results().get('shop/2')?.state === 'completed' && stateOf('1') === 'fulfilled',
    );
    expect(installation.sandbox.ledger().orders).toHaveLength(2);
    const audit = installation.query<{ action: string; actor: string; reason: string }>(
      'SELECT * FROM audit_log',
    );
    expect(audit.map((row) => row.action)).toEqual([
      'pause',
      'hold',
      'cancel',
      'resume',
      'release',
      'reorder',
    ]);
    expect(new Set(audit.map((row) => row.reason))).toEqual(new Set(['asked by the shop']));
  });

  it('lets the running worker write results again', async () => {
    await running();
    await submit('1');
    await until(() => installation.results().get('shop/1')?.state === 'completed');
    const { stdout } = await cli('results', 'rewrite', '--all', '--yes', '--reason', 'lost them');
    expect(stdout).toBe('the worker will write 1 result again\n');
    await until(() => installation.query('SELECT 1 FROM delivery_log WHERE done = 0').length === 0);
  });
});

describe('the control endpoint of a worker', () => {
  it('accepts local callers that can read the run file, and no web page', async () => {
    const worker = await running();
    const run = readRunFile(installation.folder);
    const token = run?.control_token ?? '';
    expect(token).toHaveLength(43);
    expect(statSync(join(installation.folder, 'run.json')).mode & 0o777).toBe(0o600);
    const command = { action: 'pause', scope: 'account', actor: 'me', reason: 'because' };
    const post = async (
      headers: Record<string, string>,
      body: string = JSON.stringify(command),
    ) => {
      const url = `http://${run?.admin_address}/control/commands`;
      const all = {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        [versionHeader]: programVersion,
        ...headers,
      };
      return (await fetch(url, { method: 'POST', headers: all, body })).status;
    };
    expect(await post({ authorization: '' })).toBe(401);
    expect(await post({ authorization: `Bearer ${token.slice(0, -1)}x` })).toBe(401);
    expect(await post({ origin: 'http://127.0.0.1' })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'same-origin' })).toBe(403);
    expect(await post({ 'content-type': 'text/plain' })).toBe(403);
    expect(await post({ [versionHeader]: '0.0.1' })).toBe(409);
    expect(await post({}, '{')).toBe(422);
    expect(await post({}, JSON.stringify({ ...command, scope: 'nothing' }))).toBe(422);
    expect(await post({}, JSON.stringify({ ...command, more: 1 }))).toBe(422);
    const raw = { address: run?.admin_address ?? '', token, body: JSON.stringify(command) };
    expect(await statusLine({ ...raw, host: 'evil.example' })).toContain(' 403 ');
    expect(await statusLine({ ...raw, host: 'localhost', bytes: 2_000_000 })).toContain(' 413 ');
    expect(installation.query('SELECT * FROM audit_log')).toEqual([]);
    expect(await post({})).toBe(200);
    expect(await post({})).toBe(409);
    expect(installation.query('SELECT scope FROM pauses')).toEqual([{ scope: 'account' }]);
    await worker.end('SIGTERM');
    expect(JSON.stringify(worker.log)).not.toContain(token);
  });

  it('is not looked for at another program that an old run file names: the lock shows that no worker runs', async () => {
    const worker = await running();
    await decide('queue', 'pause', 'account');
    await submit('1');
    await worker.end('SIGKILL');
    const met: string[] = [];
    foreign = createServer((request, response) => {
      met.push(request.url ?? '');
      response.end(JSON.stringify({ result: { kind: 'scope', scope: 'account', paused: false } }));
    }).listen(0, '127.0.0.1');
    await once(foreign, 'listening');
    const run = readRunFile(installation.folder);
    const port = portOf(foreign);
    if (run !== null)
      await writeRunFile(installation.folder, { ...run, admin_address: `127.0.0.1:${port}` });
    expect((await decide('orders', 'hold', referenceOf('1'))).stdout).toContain('pending -> held');
    expect(met).toEqual(['/control/commands']);
    expect(stateOf('1')).toBe('held');
  });

  it('is not bypassed when the worker holds the outbox and does not answer', async () => {
    await running();
    await decide('queue', 'pause', 'account');
    await submit('1');
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const port = portOf(free);
    await new Promise((closed) => free.close(closed));
    const run = readRunFile(installation.folder);
    if (run !== null)
      await writeRunFile(installation.folder, { ...run, admin_address: `127.0.0.1:${port}` });
    const { code, stderr } = await decide('orders', 'hold', referenceOf('1'));
    expect(code).toBe(6);
    expect(stderr).toContain('A worker holds the outbox');
    expect(stateOf('1')).toBe('pending');
  });
});

/**
 * The status line for a request that `fetch` does not send: with another host, or with a wrong
 * length.
 */
async function statusLine(request: {
  address: string;
  token: string;
  body: string;
  host: string;
  bytes?: number;
}): Promise<string> {
  const [name, port] = request.address.split(':');
  const socket = connect(Number(port), name);
  const head = [
    'POST /control/commands HTTP/1.1',
    `host: ${request.host}`,
    `authorization: Bearer ${request.token}`,
    'content-type: application/json',
    `${versionHeader}: ${programVersion}`,
    `content-length: ${request.bytes ?? Buffer.byteLength(request.body)}`,
    'connection: close',
  ];
  socket.write([...head, '', request.body].join('\r\n'));
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text.includes('\r\n')) socket.destroy();
  });
  await once(socket, 'close');
  return text.split('\r\n')[0] ?? '';
}

describe('the attention list of a running worker', () => {
  it('has a paid order that was rejected, in health, too, until somebody acknowledges it', {
    timeout: 60_000,
  }, async () => {
    const worker = await running();
    // Until a lookup has found an order, a rejection needs review.
    installation.drop('first.json', JSON.stringify(order('8')));
    await worker.line(({ msg }) => msg.startsWith('lookups work'));
    installation.drop(
      'refused.json',
      JSON.stringify({ ...order('9'), lines: [{ ...order('9').lines[0], variant: 'nope' }] }),
    );
    await until(() => stateOf('9') === 'rejected');
    const health = async () => JSON.parse((await cli('health', '--json')).stdout);
    expect(await health()).toMatchObject({
      status: 'warn',
      checks: { attention: 'warn' },
      details: { attention: { rejected: 1 } },
    });
    expect((await cli('health')).stdout).toContain('  attention: warn (rejected 1)\n');
    expect((await cli('health', '--strict')).code).toBe(8);
    expect((await cli('orders', 'list', '--attention')).stdout).toContain('invalid_variant');

    expect((await decide('orders', 'ack', '--source', 'shop')).stdout).toContain(
      '1 (1 rejected) would be acknowledged',
    );
    expect((await decide('orders', 'ack', '--source', 'shop', '--yes')).stdout).toBe(
      '1 are acknowledged\n',
    );
    await worker.line(
      ({ msg, action }) => msg === 'operator command performed' && action === 'acknowledge',
    );
    expect((await decide('orders', 'ack', referenceOf('9'))).code).toBe(5);
    expect(
      installation.query("SELECT subject FROM audit_log WHERE action = 'acknowledge'"),
    ).toEqual([{ subject: referenceOf('9') }]);
    // The counts that health shows are up to a second old.
    while ((await health()).status !== 'pass') await delay(100);
  });
});
