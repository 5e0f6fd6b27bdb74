import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation, order, type WorkerProcess } from '../support/worker-process.ts';

let installation: Installation | null = null;
let injector: ChildProcess | null = null;
afterEach(async () => {
  await heal();
  await installation?.close();
  installation = null;
});

const hasStrace = spawnSync('strace', ['-V']).status === 0;
const token = 'token-of-the-failing-disk';

/**
 * From now on each write at a place of a file fails with this error, as SQLite writes. Returns why
 * not, where the system does not let strace attach to a process.
 */
async function fail(worker: WorkerProcess, code: string): Promise<string | null> {
  const inject = ['-e', 'trace=pwrite64', '-e', `inject=pwrite64:error=${code}`];
  const args = ['-f', '-o', '/dev/null', ...inject, '-p', String(worker.pid)];
  injector = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (injector.stderr === null) throw new Error('the output of strace is not piped');
  const [said]: unknown[] = await once(injector.stderr, 'data');
  return String(said).includes('attached') ? null : `strace: ${String(said)}`;
}

/** The disk works again. */
async function heal(): Promise<void> {
  const process = injector;
  injector = null;
  if (process === null || process.exitCode !== null) return;
  process.kill('SIGTERM');
  await once(process, 'exit');
}

async function open() {
  const opened = await Installation.open({ webhook: { tokens: [{ name: 'shop', value: token }] } });
  installation = opened;
  const worker = opened.start();
  const { webhook } = await worker.started();
  const post = async (id: number) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: order(id) };
    const response = await fetch(`http://${String(webhook)}/v1/orders`, request);
    const { detail = '' }: { detail?: string } = JSON.parse(await response.text());
    return { status: response.status, detail };
  };
  return { opened, worker, post };
}

describe.skipIf(!hasStrace)('a disk that fails while the worker runs (needs strace)', () => {
  it('for a quota that is used up takes nothing in, and resumes by itself', async ({ skip }) => {
    const { opened, worker, post } = await open();
    const refused = await fail(worker, 'EDQUOT');
    if (refused !== null) return skip(refused);
    expect(await post(1)).toEqual({ status: 503, detail: expect.stringContaining('is full') });
    await heal();
    while ((await post(1)).status !== 202) await delay(50);
    await worker.line(({ msg }) => msg === 'result delivered');
    expect(opened.sandbox.ledger().orders).toHaveLength(1);
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it.for(['EIO', 'EROFS'])(
    'with %s ends the worker, which names the error first',
    async (code, { skip }) => {
      const { opened, worker, post } = await open();
      const refused = await fail(worker, code);
      if (refused !== null) return skip(refused);
      expect((await post(1)).status).toBe(503);
      expect(await worker.exited()).toBe(1);
      expect(worker.stderr.split('\n')[0]).toMatch(/could not be written \(SQLITE_IOERR/);
      await heal();
      const next = opened.start();
      await next.started();
      expect(opened.sandbox.ledger().orders).toEqual([]);
      expect(await next.end('SIGTERM')).toBe(0);
    },
  );
});
