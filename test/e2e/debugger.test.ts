import { expect, it, onTestFinished } from 'vitest';
import { Installation } from '../support/worker-process.ts';

it('a worker that gets SIGUSR1 opens no debugger, and goes on', async () => {
  const installation = await Installation.open();
  onTestFinished(() => installation.close());
  const worker = installation.start();
  await worker.started();
  process.kill(worker.pid, 'SIGUSR1');
  // Handled after it: the signals of a process are delivered in the order of their numbers.
  expect((await worker.reload())['asked']).toBe('SIGHUP');
  await expect(fetch('http://127.0.0.1:9229/json/list')).rejects.toThrow('fetch failed');
  expect(await worker.end('SIGTERM')).toBe(0);
  expect(worker.stderr).toBe('');
});
