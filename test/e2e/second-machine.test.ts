import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Installation, order, projectRoot } from '../support/worker-process.ts';

/*
 * Two machines are two addresses of loopback, each with a key of its own that works from its address
 * alone (Spec 5.6). Worker, sandbox and the commands of docs/deploy.md are real.
 */

const machines = { first: '127.0.0.2', second: '127.0.0.1' };
const keyOf = (name: keyof typeof machines) => ({ name, value: `sandbox-key-${name}` });
const accounts = [
  {
    id: 'acme',
    balances: { USD: '1000.00' },
    keys: Object.entries(machines).map(([name, address]) => {
      return { name, value: `sandbox-key-${name}`, allow_list: [address] };
    }),
  },
];

/** Passes on what a machine sends to the API, from the address of the machine. Returns where. */
async function wayFrom(localAddress: string, api: string): Promise<string> {
  const { hostname: host, port } = new URL(api);
  const sockets = new Set<Socket>();
  const server = createServer((caller) => {
    const called = connect({ host, port: Number(port), localAddress });
    for (const [from, to] of [
      [caller, called],
      [called, caller],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

function command(place: Installation, ...args: readonly string[]): string {
  const argv = ['bin/order-sync.js', ...args, '--config', place.configFile];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

const stateOf = (place: Installation, state: string): readonly string[] =>
  place
    .query<{ order_id: string }>(`SELECT order_id FROM outbox WHERE state = '${state}'`)
    .map(({ order_id: id }) => id);
const pauseOfKey = (place: Installation) =>
  place.query("SELECT scope, reason FROM pauses WHERE scope LIKE 'key:%'");

/** The machine that buys first, one order after the other, with its key and from its address. */
async function firstMachine(): Promise<Installation> {
  // So slow that it is stopped with orders left, whatever else the machine does.
  const latency = { before_ms: [500, 500] as [number, number] };
  const place = await Installation.open({
    sandbox: { accounts, latency, limits: { enabled: false } },
    keys: [keyOf('first')],
    submit: { concurrency: 1 },
  });
  onTestFinished(() => place.close());
  const way = await wayFrom(machines.first, place.sandbox.url);
  place.configure((config) => (config.wholesale.base_url = way));
  return place;
}

/** A machine with a copy of the database and of the reference secret of another. */
async function copyOf(
  first: Installation,
  backup: string,
  options: { api: string; key: keyof typeof machines },
): Promise<Installation> {
  const place = await Installation.open({ api: options.api, keys: [keyOf(options.key)] });
  onTestFinished(() => place.close());
  copyFileSync(join(first.folder, 'reference.secret'), join(place.folder, 'reference.secret'));
  command(place, 'db', 'restore', backup);
  return place;
}

const ids = Array.from({ length: 12 }, (_, index) => String(index + 1));
/** An operator holds it on the second machine, before it was sent from either. */
const unwanted = '12';

describe('a worker that was frozen and wakes beside the copy that took over', {
  timeout: 90_000,
}, () => {
  it('buys nothing after its key was revoked, and every line was bought once', async () => {
    const first = await firstMachine();
    const { sandbox } = first;
    const lost = first.start();
    await lost.started();
    first.drop('a.ndjson', ids.map((id) => `${order(Number(id))}\n`).join(''));
    await expect.poll(() => stateOf(first, 'fulfilled').length).toBeGreaterThan(1);
    command(first, 'db', 'backup');
    const [backup = ''] = readdirSync(join(first.folder, 'backups'));
    const atBackup = stateOf(first, 'fulfilled').length;
    await expect.poll(() => stateOf(first, 'fulfilled').length).toBeGreaterThan(atBackup);
    process.kill(lost.pid, 'SIGSTOP');
    expect(stateOf(first, 'pending')).toContain(unwanted);

    const before = await sandbox.operate((operator) => {
      expect(operator.revokeKey('acme', 'first')).toBe(true);
      operator.change({ latency: { before_ms: [0, 0] } });
      return operator.ledger().calls.length;
    });
    const second = await copyOf(first, join(first.folder, 'backups', backup), {
      api: sandbox.url,
      key: 'second',
    });
    const [{ reference } = expect.unreachable()] = second.query<{ reference: string }>(
      `SELECT reference FROM outbox WHERE order_id = '${unwanted}'`,
    );
    command(second, 'orders', 'hold', reference, '--reason', 'its customer went away');
    const copy = second.start();
    await copy.started();
    await expect.poll(() => stateOf(second, 'fulfilled')).toHaveLength(ids.length - 1);

    process.kill(lost.pid, 'SIGCONT');
    await expect
      .poll(() => pauseOfKey(first).length > 0 || stateOf(first, 'pending').length === 0)
      .toBe(true);
    expect(pauseOfKey(first)).toEqual([{ scope: 'key:first', reason: 'invalid_key' }]);
    // One of them may have been under way when the worker was frozen.
    const { keys, calls } = sandbox.ledger();
    const own = keys.find(({ name }) => name === 'second')?.key;
    const denied = calls.slice(before).filter(({ key }) => key !== own);
    expect(new Set(denied.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['401 invalid_key']),
    );

    second.drop('b.ndjson', order(13));
    await expect.poll(() => stateOf(second, 'fulfilled')).toContain('13');
    expect(stateOf(second, 'held')).toEqual([unwanted]);
    const references = sandbox.ledger().orders.map((bought) => bought.reference);
    expect(new Set(references).size).toBe(references.length);
    expect(references).toHaveLength(ids.length);
    expect(references).not.toContain(reference);
    await Promise.all([lost.end('SIGTERM'), copy.end('SIGTERM')]);
  });
});

describe('a clone of a machine, with its key, at another address', { timeout: 90_000 }, () => {
  it('buys nothing', async () => {
    const first = await firstMachine();
    first.drop('a.ndjson', `${order(1)}\n${order(2)}\n`);
    const worker = first.start();
    await worker.started();
    await expect.poll(() => stateOf(first, 'fulfilled')).toHaveLength(2);
    command(first, 'db', 'backup');
    const [backup = ''] = readdirSync(join(first.folder, 'backups'));
    const clone = await copyOf(first, join(first.folder, 'backups', backup), {
      api: first.sandbox.url,
      key: 'first',
    });
    clone.drop('b.ndjson', order(3));
    const other = clone.start();
    await expect
      .poll(() => clone.query('SELECT scope, reason FROM pauses'))
      .toContainEqual({ scope: 'key:first', reason: 'ip_not_allowed' });
    expect(first.sandbox.ledger().orders).toHaveLength(2);
    await Promise.all([worker.end('SIGTERM'), other.end('SIGTERM')]);
  });
});
