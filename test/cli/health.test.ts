import { mkdirSync } from 'node:fs';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startHealthServer, type CheckStatus } from '../../src/admin/health-server.ts';
import type { pausesShown } from '../../src/admin/health-checks.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { writeRunFile } from '../../src/ops/run-file.ts';
import { installation, runProgram, sandboxConfig } from './installation.ts';

/** What the health command needs of a worker: a health server, and a run file with its address. */
async function listening(state: {
  check: CheckStatus;
  draining?: boolean;
  pauses?: ReturnType<ReturnType<typeof pausesShown>>;
}) {
  const worker = installation();
  mkdirSync(worker.dataDir);
  const server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    version: '1.2.3',
    clock: new SystemClock(),
    logger: pino({ level: 'silent' }),
    checks: [{ name: 'database', readiness: true, check: () => state.check }],
    draining: () => state.draining === true,
    ...(state.pauses === undefined
      ? {}
      : { pauses: () => state.pauses ?? { pauses: [], pauses_not_shown: 0 } }),
  });
  onTestFinished(() => server.close());
  await writeRunFile(worker.dataDir, {
    pid: process.pid,
    started_at: '2026-11-21T12:00:00.000Z',
    version: '1.2.3',
    admin_address: server.address,
  });
  return worker;
}

describe('order-sync health', () => {
  it('finds the port of a worker in its run file, and prints its health', async () => {
    const worker = await listening({ check: 'pass' });
    expect(await worker.run('health')).toEqual({
      code: 0,
      stdout: 'pass\n  database: pass\n',
      stderr: '',
    });
    expect(await worker.run('health', '--live')).toMatchObject({ code: 0, stdout: 'pass\n' });
    expect(await worker.run('health', '--ready')).toMatchObject({ code: 0, stdout: 'pass\n' });
    const { stdout } = await worker.run('health', '--json');
    expect(JSON.parse(stdout)).toEqual({
      status: 'pass',
      draining: false,
      version: '1.2.3',
      checks: { database: 'pass' },
    });
  });

  it('ends with 8 when a check of the worker fails, although it is alive', async () => {
    const worker = await listening({ check: 'fail' });
    expect(await worker.run('health')).toMatchObject({
      code: 8,
      stdout: 'fail\n  database: fail\n',
    });
    expect((await worker.run('health', '--ready')).code).toBe(8);
    expect((await worker.run('health', '--live')).code).toBe(0);
  });

  it('prints what is paused; with --strict a warning ends with 8', async () => {
    const paused = {
      scope: 'variant:card',
      reason: 'answer_mismatch',
      since: '2026-11-21T12:00:00.000Z',
      holds_up: 12,
    };
    const worker = await listening({
      check: 'warn',
      pauses: { pauses: [paused], pauses_not_shown: 3 },
    });
    const stdout = [
      'warn',
      '  database: warn',
      'Nothing is sent for variant:card since 2026-11-21T12:00:00.000Z (answer_mismatch); 12 entries wait.',
      '3 more scopes are paused: `order-sync queue status` has them.',
      '',
    ].join('\n');
    expect(await worker.run('health')).toEqual({ code: 0, stdout, stderr: '' });
    const why =
      'The database cannot be written, or was replaced, so no orders are accepted: repair its disk, then restart the worker.';
    expect(await worker.run('health', '--strict')).toEqual({
      code: 8,
      stdout: `${stdout}${why}\n`,
      stderr: '',
    });
    const strict = await worker.run('health', '--strict', '--json');
    expect(JSON.parse(strict.stdout)).toMatchObject({ status: 'warn', reasons: [why] });
    const { stdout: json } = await worker.run('health', '--json');
    expect(JSON.parse(json)).toMatchObject({ pauses: [paused], pauses_not_shown: 3 });
    expect((await (await listening({ check: 'pass' })).run('health', '--strict')).code).toBe(0);
  });

  it('reports a draining worker as alive and not ready', async () => {
    const worker = await listening({ check: 'pass', draining: true });
    expect((await worker.run('health', '--ready')).code).toBe(8);
    expect((await worker.run('health', '--live')).code).toBe(0);
  });

  it('ends with 6 when nothing answers', async () => {
    expect((await installation().run('health', '--live')).code).toBe(6);
    const other = await listening({ check: 'pass' });
    await writeRunFile(other.dataDir, {
      pid: 1,
      started_at: '',
      version: '',
      admin_address: '127.0.0.1:1',
    });
    const { code, stderr } = await other.run('health');
    expect(code).toBe(6);
    expect(stderr).toContain('No worker answers at http://127.0.0.1:1/healthz');
  });

  it('asks a worker over loopback that listens on every address', async () => {
    const worker = await listening({ check: 'pass' });
    const { stderr } = await installation((folder) =>
      sandboxConfig(folder).replace('127.0.0.1:0', '0.0.0.0:1'),
    ).run('health');
    expect(stderr).toContain('http://127.0.0.1:1/healthz');
    expect((await worker.run('health')).code).toBe(0);
  });

  it('runs as one process with one exit code, as a container does', async () => {
    const worker = await listening({ check: 'pass' });
    const { code } = await runProgram(['health', '--live'], {
      ORDER_SYNC_CONFIG: worker.configFile,
    });
    expect(code).toBe(0);
  });
});
