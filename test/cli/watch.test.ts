import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { knownInstallation, projectRoot, type Installation } from './installation.ts';
import { fillOutbox, line, openOutbox, settleNext, startMs } from './sample-outbox.ts';

/** A command that runs until it is stopped, with its lines as they come. */
function running(outbox: Installation, ...argv: string[]) {
  const command = [join(projectRoot, 'bin/order-sync.js'), ...argv, '--config', outbox.configFile];
  const child = spawn(process.execPath, command, { cwd: outbox.folder, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const errors = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  return {
    async lineWith(text: string): Promise<string> {
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`ended without a line with ${text}`);
        if (value.includes(text)) return value;
      }
    },
    nextError: async () => (await errors.next()).value,
    async interrupt(): Promise<number | null> {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      await ended;
      return child.exitCode;
    },
  };
}

async function filled(): Promise<Installation> {
  const outbox = knownInstallation();
  await outbox.run('init');
  await fillOutbox(outbox);
  return outbox;
}

async function acceptOne(outbox: Installation, orderId: string): Promise<void> {
  const store = openOutbox(outbox);
  await store.intake.acceptBatch({
    nowMs: Date.now(),
    fileId: null,
    rejections: [],
    lines: [line(orderId, '1', { variant: 'card', currency: 'EUR' })],
  });
  await store.close();
}

it('queue status --watch shows what has changed, until Ctrl-C', async () => {
  const outbox = await filled();
  const status = running(outbox, 'queue', 'status', '--watch', '1');
  expect(await status.lineWith('pending')).toMatch(/^pending +1$/);
  await acceptOne(outbox, '2001');
  expect(await status.lineWith('pending  ')).toMatch(/^pending +[12]$/);
  for (;;) if ((await status.lineWith('pending  ')).endsWith(' 2')) break;
  expect(await status.interrupt()).toBe(0);
});

it('orders tail shows the orders that come in and the calls that end from then on, until Ctrl-C', async () => {
  const outbox = await filled();
  const tail = running(outbox, 'orders', 'tail', '--json');
  expect(await tail.nextError()).toBe('Showing what happens from now on; Ctrl-C ends it.');
  await acceptOne(outbox, '2001');
  expect(JSON.parse(await tail.lineWith('order'))).toMatchObject({
    event: 'order',
    source: 'shop1',
    order_id: '2001',
    detail: 'came in, 1 line',
  });
  const store = openOutbox(outbox);
  const run = await store.beginIncarnation({ bootId: 'boot', version: '0', nowMs: Date.now() });
  await settleNext(store, run, Date.now() - startMs + 1000, { state: 'fulfilled', row: 'accepted' });
  await store.close();
  expect(JSON.parse(await tail.lineWith('call'))).toMatchObject({ event: 'call', detail: 'submit 1: accepted 200' });
  expect(await tail.interrupt()).toBe(0);
});
