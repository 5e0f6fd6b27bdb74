import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:net';

export interface Redis {
  readonly port: number;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  server.close();
  await once(server, 'close');
  if (typeof bound !== 'object' || bound === null) throw new Error('a listening server has a port');
  return bound.port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** A Redis of our own on a free port, gone afterwards; null where none is installed. */
export async function startRedis(folder: string): Promise<Redis | null> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) return null;
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const until = performance.now() + 5000;
  while (!(await answers(port))) {
    if (performance.now() > until) throw new Error('redis-server did not come up within 5 s');
    await delay(20);
  }
  return {
    port,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
