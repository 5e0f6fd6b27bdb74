import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { controlRoutes } from '../../src/admin/control-routes.ts';
import { controlPath, versionHeader } from '../../src/admin/control-protocol.ts';
import { programVersion } from '../../src/ops/program-version.ts';
import { startHealthServer } from '../../src/admin/health-server.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';

/** The admin server with the routes of commands. A command lasts until `finish` is called. */
async function started() {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const perform = async () => {
    begin();
    await promise;
    return { kind: 'reconciled' as const, shops: [] };
  };
  const host = '127.0.0.1';
  const control = {
    token: 'the-token',
    host,
    draining: () => false,
    reload: () => Promise.reject(new Error('nothing is read again here')),
    logger,
    perform,
  };
  const server = await startHealthServer({
    host,
    port: 0,
    checks: [],
    draining: () => false,
    clock: new SystemClock(),
    logger,
    version: '1.2.3',
    addMore: (routes, proven) => void routes.route('/', controlRoutes({ ...control, proven })),
  });
  onTestFinished(() => server.close());
  return { server, lines, finish, begun };
}

/**
 * Opens a hundred connections that say nothing, and waits until the server has closed all but the
 * 48 that it keeps.
 */
async function holdHundred(address: string) {
  const port = Number(address.split(':')[1]);
  const open = new Set<Socket>();
  const ended: Promise<unknown>[] = [];
  for (let index = 0; index < 100; index += 1) {
    const socket = connect(port, '127.0.0.1').resume();
    socket.on('error', () => undefined);
    open.add(socket);
    ended.push(once(socket, 'close').then(() => open.delete(socket)));
    await once(socket, 'connect');
  }
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
  });
  await Promise.all(ended.slice(0, 52));
  return { open, ended };
}

it('a hundred held connections leave the admin server with 48, and keep nobody from asking for health', async () => {
  const { server, lines } = await started();
  const { open, ended } = await holdHundred(server.address);
  const answer = await fetch(`http://${server.address}/livez`);
  expect(answer.status).toBe(200);
  // Three quarters of 64 places are for callers that did not prove who they are, one of them for
  // the question.
  await Promise.all(ended.slice(0, 53));
  expect(open.size).toBe(47);
  expect(lines.join('')).toContain('refused');
});

it('a command that takes long keeps its connection, however many others are opened', async () => {
  const { server, finish, begun } = await started();
  const answered = fetch(`http://${server.address}${controlPath}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer the-token',
      'content-type': 'application/json',
      [versionHeader]: programVersion,
    },
    body: JSON.stringify({ action: 'reconcile', shop: null, sinceMs: null }),
  });
  answered.catch(() => undefined);
  await Promise.race([begun, answered]);
  await holdHundred(server.address);
  finish();
  expect((await answered).status).toBe(200);
});
