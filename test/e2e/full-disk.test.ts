import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SmallDisk } from '../support/small-disk.ts';
import { Installation, order, projectRoot, type WorkerProcess } from '../support/worker-process.ts';

const token = 'token-of-the-small-disk';
const reserveBytes = 8 * 1_048_576;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A worker whose data is on a disk of 40 MB; null, with the reason, where none can be mounted. */
async function onSmallDisk() {
  const installation = await Installation.open({
    sandbox: { limits: { enabled: false }, latency: { after_ms: [100, 200] } },
    submit: { concurrency: 8 },
    webhook: { tokens: [{ name: 'shop', value: token }], limits: { requests_per_minute: 600_000 } },
  });
  onTestFinished(() => installation.close());
  const disk = SmallDisk.mount(join(installation.folder, 'small'), 40);
  if (typeof disk === 'string') return disk;
  onTestFinished(() => disk.unmount());
  const [admin, webhook] = [await freePort(), await freePort()];
  installation.configure((config) => {
    config.data_dir = disk.folder;
    config.disk = { min_free_bytes: reserveBytes };
    config.intake.folders[0].inbox = join(disk.folder, 'inbox');
    config.intake.webhook.listen = `127.0.0.1:${webhook}`;
    config.results = { folder: join(installation.folder, 'results') };
    config.admin.listen = `127.0.0.1:${admin}`;
  });
  const post = async (
    id: number,
  ): Promise<{ status: number; retryAfter: string | null; detail: string }> => {
    const body = { ...JSON.parse(order(id)), metadata: { note: 'x'.repeat(16_000) } };
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${webhook}/v1/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { detail = '' }: { detail?: string } = JSON.parse(await response.text());
    return { status: response.status, retryAfter: response.headers.get('retry-after'), detail };
  };
  const health = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${admin}${path}`);
    const json: { checks?: Record<string, string> } = JSON.parse(await response.text());
    return { status: response.status, disk: json.checks?.['disk'] };
  };
  return { installation, disk, post, health };
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(50);
}

const isAboutDisk = (worker: WorkerProcess) => (line: { msg: string }) =>
  worker.log.length > 0 && line.msg.includes('disk');

describe('a disk of 40 MB', () => {
  it('that fills up loses no acknowledged order: the worker stays, says why it takes nothing, and resumes', {
    timeout: 240_000,
  }, async ({ skip }) => {
    const world = await onSmallDisk();
    if (typeof world === 'string') return skip(world);
    const { installation, disk, post, health } = world;
    disk.fill('ballast', 24 * 1_048_576);
    let worker = installation.start();
    await worker.started();

    const acknowledged: number[] = [];
    let refused = await post(0);
    for (let id = 1; refused.status === 202; id += 1) {
      acknowledged.push(id - 1);
      refused = await post(id);
    }
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '30',
      detail: expect.stringContaining('disk'),
    });
    expect(acknowledged.length).toBeGreaterThan(50);
    // What is known is still answered; only what is new is refused.
    expect((await post(0)).status).toBe(200);
    await until(async () => (await health('/healthz')).disk === 'fail');
    expect([(await health('/livez')).status, (await health('/readyz')).status]).toEqual([200, 503]);
    await worker.line(isAboutDisk(worker));

    // A file stays in the inbox, and a command is refused.
    const file = join(disk.folder, 'inbox', 'a.ndjson');
    writeFileSync(file, `${order(900_001)}\n`);
    const submitted = join(installation.folder, 'b.ndjson');
    writeFileSync(submitted, `${order(900_002)}\n`);
    const command = ['bin/order-sync.js', 'submit', submitted, '--config', installation.configFile];
    const ended = spawnSync(process.execPath, command, { cwd: projectRoot, encoding: 'utf8' });
    expect([ended.status, ended.stderr]).toEqual([
      5,
      expect.stringMatching(/disk of .* is nearly full/),
    ]);

    // Somebody uses up the reserve, too, while calls are under way: their outcomes wait for space.
    disk.fill('more', 0);
    expect(disk.freeBytes).toBe(0);
    expect(await post(999_999)).toMatchObject({ status: 503, retryAfter: '30' });
    for (let round = 0; round < 40; round += 1) {
      await delay(50);
      expect((await health('/livez')).status).toBe(200);
    }
    expect(existsSync(file)).toBe(true);
    expect(worker.stderr).toBe('');

    // Killed and started on the full disk.
    expect(await worker.end('SIGKILL')).toBeNull();
    disk.fill('rest', 0);
    worker = installation.start();
    await worker.line(({ msg }) => msg.startsWith('the disk is full, so the worker cannot start'));
    expect([await health('/livez'), await health('/readyz'), await health('/healthz')]).toEqual([
      { status: 200, disk: undefined },
      { status: 503, disk: undefined },
      { status: 503, disk: 'fail' },
    ]);

    // With space again, everything goes by itself.
    for (const name of ['rest', 'more', 'ballast']) disk.remove(name);
    await worker.started();
    await until(async () => (await post(999_999)).status === 202);
    await until(() => !existsSync(file));
    const wanted = [...acknowledged, 900_001, 999_999].map(String);
    const states = (): { order_id: string; state: string }[] => {
      const database = new SqliteDatabase(join(disk.folder, 'order-sync.db'), { readonly: true });
      try {
        return database
          .prepare<[], { order_id: string; state: string }>('SELECT order_id, state FROM outbox')
          .all();
      } finally {
        database.close();
      }
    };
    await until(
      () => states().filter(({ state }) => state === 'fulfilled').length >= wanted.length,
    );
    expect(new Set(states().map(({ order_id: id }) => id))).toEqual(new Set(wanted));
    const sold = installation.sandbox.ledger().orders.map(({ reference }) => reference);
    expect([sold.length, new Set(sold).size]).toEqual([wanted.length, wanted.length]);
    await until(() => installation.results().size === wanted.length);
    expect((await health('/healthz')).disk).toBe('pass');
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });

  it('that is full from the beginning: a stop ends the waiting, and says why', {
    timeout: 60_000,
  }, async ({ skip }) => {
    const world = await onSmallDisk();
    if (typeof world === 'string') return skip(world);
    world.disk.fill('ballast', 0);
    const worker = world.installation.start();
    await worker.line(({ msg }) => msg.startsWith('the disk is full, so the worker cannot start'));
    expect(await worker.end('SIGTERM')).toBe(5);
    expect(worker.stderr).toMatch(/the disk is full: .* bytes are free on the disk of/);
    expect(worker.stderr).not.toContain('defect');
  });
});
