import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, isListening } from '../support/ports.ts';

export interface Redis {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts a Redis on a free port; null where none is installed. `durable`: each write is on disk before it is answered;
 * otherwise Redis writes nothing to disk.
 */
export async function startRedis(folder: string, options: { durable: boolean }): Promise<Redis | null> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) return null;
  const port = await freePort();
  const log = options.durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', ...log, '--dir', folder];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const until = performance.now() + 5000;
  while (!(await isListening(port))) {
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
