import { mkdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startHealthServer, type CheckStatus } from '../../src/admin/health-server.ts';
import { writeRunFile } from '../../src/ops/run-file.ts';
import { installation, runProgram, sandboxConfig } from './installation.ts';

/** A worker as far as health can see it: it listens, and has written down where. */
async function listening(state: { check: CheckStatus; draining?: boolean }) {
  const worker = installation();
  mkdirSync(worker.dataDir);
  const server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    version: '1.2.3',
    checks: [{ name: 'database', readiness: true, check: () => state.check }],
    draining: () => state.draining === true,
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
  it('finds a worker on a free port by the file it wrote, and tells how it is', async () => {
    const worker = await listening({ check: 'pass' });
    expect(await worker.run('health')).toEqual({ code: 0, stdout: 'pass\n  database: pass\n', stderr: '' });
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

  it('ends with 8 when the worker is ill, although it lives', async () => {
    const worker = await listening({ check: 'fail' });
    expect(await worker.run('health')).toMatchObject({ code: 8, stdout: 'fail\n  database: fail\n' });
    expect((await worker.run('health', '--ready')).code).toBe(8);
    expect((await worker.run('health', '--live')).code).toBe(0);
  });

  it('is not ready while it drains, but alive', async () => {
    const worker = await listening({ check: 'pass', draining: true });
    expect((await worker.run('health', '--ready')).code).toBe(8);
    expect((await worker.run('health', '--live')).code).toBe(0);
  });

  it('ends with 6 when nothing answers, or something else does', async () => {
    expect((await installation().run('health', '--live')).code).toBe(6);
    const other = await listening({ check: 'pass' });
    await writeRunFile(other.dataDir, { pid: 1, started_at: '', version: '', admin_address: '127.0.0.1:1' });
    const { code, stderr } = await other.run('health');
    expect(code).toBe(6);
    expect(stderr).toContain('No worker answers at http://127.0.0.1:1/healthz');
  });

  it('asks a worker that listens everywhere over loopback', async () => {
    const worker = await listening({ check: 'pass' });
    const { stderr } = await installation((folder) => sandboxConfig(folder).replace('127.0.0.1:0', '0.0.0.0:1')).run(
      'health',
    );
    expect(stderr).toContain('http://127.0.0.1:1/healthz');
    expect((await worker.run('health')).code).toBe(0);
  });

  it('is what a container can run: one process, one code', async () => {
    const worker = await listening({ check: 'pass' });
    const { code } = await runProgram(['health', '--live'], { ORDER_SYNC_CONFIG: worker.configFile });
    expect(code).toBe(0);
  });
});
