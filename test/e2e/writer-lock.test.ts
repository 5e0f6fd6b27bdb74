import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, renameSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { takeWriterLock } from '../../src/store/sqlite/writer-lock.ts';
import { Receiver } from '../support/receiver.ts';
import { Installation, projectRoot } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const isWaiting = ({ msg }: { readonly msg: string }): boolean =>
  msg.startsWith('the outbox is in use');

describe('a worker that starts while its outbox is in use', () => {
  it('waits for a command, and starts when the command ends', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>();
    const notFound = (answer: ServerResponse): void => {
      answer.writeHead(404, { 'content-type': 'application/json' });
      answer.end(JSON.stringify({ error: { code: 'not_found', message: 'No such order' } }));
    };
    const api = await Receiver.open(resolve, notFound);
    onTestFinished(() => api.close());
    installation = await Installation.open({ api: api.url });
    const first = installation.start();
    await first.started();
    expect(await first.end('SIGKILL')).toBe(null);

    // It holds the outbox while it waits for the answer of the API.
    const args = ['bin/order-sync.js', 'doctor', '--config', installation.configFile];
    const command = spawn(process.execPath, args, { cwd: projectRoot, stdio: 'ignore' });
    onTestFinished(() => void command.kill('SIGKILL'));
    const ended = once(command, 'exit');
    const answer = await asked;
    const worker = installation.start();
    expect(await Promise.race([worker.line(isWaiting), worker.exited()])).toMatchObject({
      level: 'warn',
    });
    notFound(answer);
    await ended;
    await worker.started();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });

  it('says at once that it waits, and exits 5 after ten seconds, with which systemd starts it again', async () => {
    installation = await Installation.open();
    const first = installation.start();
    await first.started();
    const startedAt = performance.now();
    const second = installation.start();
    await second.line(isWaiting);
    const waitsFrom = performance.now();
    expect(waitsFrom - startedAt).toBeLessThan(9000);
    expect(await second.exited()).toBe(5);
    expect(performance.now() - waitsFrom).toBeGreaterThan(9000);
    expect(second.log.filter(isWaiting)).toHaveLength(1);
    expect(second.stderr).toContain('Another worker holds the outbox');
    expect(await first.end('SIGTERM')).toBe(0);
    // A command may hold the outbox for longer. Without another start, nothing would be bought from
    // then on.
    const unit = readFileSync(join(projectRoot, 'deploy/systemd/order-sync.service'), 'utf8');
    expect(unit).toMatch(/^Restart=on-failure$/m);
    expect(/^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1]?.split(' ')).not.toContain('5');
  });

  it('ends at once when it is asked to stop meanwhile', async () => {
    installation = await Installation.open();
    const first = installation.start();
    await first.started();
    const second = installation.start();
    await second.line(isWaiting);
    const askedAt = performance.now();
    expect(await second.end('SIGTERM')).toBe(5);
    expect(performance.now() - askedAt).toBeLessThan(5000);
    expect(await first.end('SIGTERM')).toBe(0);
  });

  it('does not use a database that a restore puts there meanwhile: the after-loss mode has not begun', async () => {
    installation = await Installation.open();
    const first = installation.start();
    await first.started();
    expect(await first.end('SIGTERM')).toBe(0);
    const path = installation.databasePath;
    const lock = takeWriterLock(path);
    onTestFinished(() => lock.release());
    const second = installation.start();
    await second.line(isWaiting);
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    lock.release();
    expect(await second.exited()).toBe(1);
    expect(second.stderr).toContain('was replaced while the worker waited for it');
    const third = installation.start();
    await third.started();
    expect(await third.end('SIGTERM')).toBe(0);
  });
});
