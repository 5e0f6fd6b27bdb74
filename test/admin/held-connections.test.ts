import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startHealthServer } from '../../src/admin/health-server.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';

it('a hundred held connections leave the admin server with 48, and keep nobody from asking for health', async () => {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const silent = { checks: [], draining: () => false, clock: new SystemClock(), logger, version: '1.2.3' };
  const server = await startHealthServer({ host: '127.0.0.1', port: 0, ...silent });
  onTestFinished(() => server.close());
  const port = Number(server.address.split(':')[1]);
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
  const answer = await fetch(`http://${server.address}/livez`);
  expect(answer.status).toBe(200);
  // Three quarters of 64 places are for callers that did not prove who they are, one of them for the question.
  await Promise.all(ended.slice(0, 53));
  expect(open.size).toBe(47);
  expect(lines.join('')).toContain('refused');
});
