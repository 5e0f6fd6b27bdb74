import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Installation, order, projectRoot, type WorkerProcess } from '../support/worker-process.ts';

const token = 'token-of-the-lost-files';
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

async function open(): Promise<Installation> {
  const installation = await Installation.open({
    webhook: { tokens: [{ name: 'shop', value: token }], limits: { requests_per_minute: 600_000 } },
  });
  onTestFinished(() => installation.close());
  return installation;
}

const addressOf = async (worker: WorkerProcess): Promise<string> =>
  `http://${String((await worker.started())['webhook'])}/v1/orders`;

/** The status of the answer; 0: a worker that stops gave none. */
async function post(url: string, id: number): Promise<number> {
  const answer = fetch(url, { method: 'POST', headers, body: order(id) });
  return await answer.then(
    ({ status }) => status,
    () => 0,
  );
}

/** Posts orders one after the other: returns those that were acknowledged. */
async function acknowledge(url: string, from: number, count: number): Promise<number[]> {
  const ids = Array.from({ length: count }, (_, index) => from + index);
  for (const id of ids) expect(await post(url, id)).toBe(202);
  return ids;
}

async function unknownOf(url: string, ids: readonly number[]): Promise<number[]> {
  const unknown: number[] = [];
  for (const id of ids) {
    const { status } = await fetch(`${url}/shop/${id}`, { headers });
    if (status !== 200) unknown.push(id);
  }
  return unknown;
}

interface Fault {
  readonly what: string;
  readonly happens: (database: string) => void;
  readonly message: string;
}

const faults: readonly Fault[] = [
  {
    what: 'its log was removed',
    happens: (database) => rmSync(`${database}-wal`),
    message: 'order-sync.db-wal was removed',
  },
  {
    what: 'its log and its shared memory were removed',
    happens: (database) => {
      for (const side of ['-wal', '-shm']) rmSync(`${database}${side}`);
    },
    message: 'order-sync.db-wal was removed',
  },
  {
    what: 'another log was put in the place of its own',
    happens: (database) => {
      copyFileSync(`${database}-wal`, `${database}-copy`);
      truncateSync(`${database}-copy`, 32 + 4120);
      renameSync(`${database}-copy`, `${database}-wal`);
    },
    message: 'order-sync.db-wal was replaced',
  },
  {
    what: 'its log was emptied',
    happens: (database) => truncateSync(`${database}-wal`, 0),
    message: 'order-sync.db-wal was cut',
  },
  {
    what: 'its log was cut in the middle',
    happens: (database) =>
      truncateSync(`${database}-wal`, Math.floor(statSync(`${database}-wal`).size / 2)),
    message: 'order-sync.db-wal was cut',
  },
  {
    what: 'its database was removed',
    happens: (database) => rmSync(database),
    message: 'order-sync.db was removed',
  },
  {
    what: 'its database and everything beside it was removed',
    happens: (database) => {
      for (const side of ['', '-wal', '-shm']) rmSync(`${database}${side}`);
    },
    message: 'was removed while the worker had the file open',
  },
];

describe.each(faults)('a worker of which $what', ({ happens, message }) => {
  it('acknowledges nothing more, and forgets nothing that it acknowledged when it is killed then', async () => {
    const installation = await open();
    let worker = installation.start();
    let url = await addressOf(worker);
    const acknowledged = await acknowledge(url, 1, 14);
    happens(installation.databasePath);
    expect(await post(url, 1000)).not.toBe(202);
    await worker.end('SIGKILL');

    worker = installation.start();
    url = await addressOf(worker);
    expect(await unknownOf(url, acknowledged)).toEqual([]);
    expect(await post(url, 1000)).toBe(202);
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });

  it('stops by itself within seconds, also when nothing happens, and says what was done to it', async () => {
    const installation = await open();
    let worker = installation.start();
    let url = await addressOf(worker);
    const acknowledged = await acknowledge(url, 1, 14);
    happens(installation.databasePath);
    expect(await worker.exited()).toBe(1);
    expect(worker.stderr).toContain(message);
    expect(worker.stderr.split('\n')[0]).toMatch(/^order-sync: The (database|write-ahead log)/);
    expect(worker.stderr).toContain('nothing is lost');

    worker = installation.start();
    url = await addressOf(worker);
    expect(await unknownOf(url, acknowledged)).toEqual([]);
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });
});

describe('a worker of which the database was replaced', () => {
  it('keeps what it had beside it, with which it can be restored', async () => {
    const installation = await open();
    let worker = installation.start();
    let url = await addressOf(worker);
    const older = await acknowledge(url, 1, 3);
    const backUp = ['bin/order-sync.js', 'db', 'backup', '--config', installation.configFile];
    const cli = (args: string[]) =>
      spawnSync(process.execPath, args, { cwd: projectRoot, encoding: 'utf8' });
    const { stdout } = cli([...backUp, '--json']);
    const { file }: { file: string } = JSON.parse(stdout);
    const acknowledged = [...older, ...(await acknowledge(url, 4, 14))];
    copyFileSync(file, `${installation.databasePath}-other`);
    renameSync(`${installation.databasePath}-other`, installation.databasePath);
    expect(await post(url, 1000)).not.toBe(202);
    expect(await worker.exited()).toBe(1);
    expect(worker.stderr).toContain('order-sync.db was replaced');

    const saved = `${installation.databasePath}-saved`;
    expect(worker.stderr).toContain(`order-sync db restore ${saved}`);
    const restore = ['bin/order-sync.js', 'db', 'restore', saved, '--config'];
    const restored = cli([...restore, installation.configFile]);
    expect(restored.status, restored.stderr).toBe(0);
    worker = installation.start();
    url = await addressOf(worker);
    expect(await unknownOf(url, acknowledged)).toEqual([]);
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });
});

describe('a worker whose log another program moves into the database', () => {
  it('goes on: nothing is lost by that', async () => {
    const installation = await open();
    const worker = installation.start();
    const url = await addressOf(worker);
    const before = await acknowledge(url, 1, 3);
    // A write of the worker may come between.
    await expect
      .poll(() => {
        installation.change('PRAGMA wal_checkpoint(TRUNCATE)');
        return statSync(`${installation.databasePath}-wal`).size;
      })
      .toBe(0);
    const after = await acknowledge(url, 4, 3);
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    const known = installation.query<{ order_id: string }>('SELECT order_id FROM outbox');
    expect(known.length).toBe([...before, ...after].length);
    expect(existsSync(`${installation.databasePath}-saved`)).toBe(false);
  });
});

/** A process that holds the write lock until it is told to end. */
async function lockedBy(installation: Installation) {
  const script = join(installation.folder, 'holds-the-lock.mjs');
  const { href } = new URL('../../node_modules/better-sqlite3/lib/index.js', import.meta.url);
  writeFileSync(
    script,
    `import Database from ${JSON.stringify(href)};
    const database = new Database(process.argv[2]);
    database.exec('BEGIN IMMEDIATE');
    console.log('locked');
    process.stdin.resume().on('end', () => process.exit());`,
  );
  const child = spawn(process.execPath, [script, installation.databasePath], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return {
    pid: child.pid ?? 0,
    release: async () => {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

describe('a worker whose database another program locks', () => {
  it('waits for it, names it, refuses new orders meanwhile, and resumes', async () => {
    const installation = await open();
    let worker = installation.start();
    let url = await addressOf(worker);
    const acknowledged = await acknowledge(url, 1, 2);
    const first = await lockedBy(installation);
    expect(await post(url, 3)).toBe(503);
    const line = await worker.line(({ msg }) => msg.startsWith('the outbox cannot be written'));
    const holder = `is locked by the process ${first.pid} (node)`;
    expect(line['reason']).toContain(holder);
    // Long enough for each of its parts to write something.
    const untilMs = performance.now() + 12_000;
    while (performance.now() < untilMs) expect(await post(url, 3)).toBe(503);
    await first.release();
    await worker.line(({ msg }) => msg === 'the outbox can be written again');
    acknowledged.push(...(await acknowledge(url, 3, 1)));

    const second = await lockedBy(installation);
    await worker.end('SIGKILL');
    worker = installation.start();
    const waits = await worker.line(({ msg }) => msg.startsWith('the database is locked'));
    expect(waits['reason']).toContain(`is locked by the process ${second.pid} (node)`);
    await second.release();
    url = await addressOf(worker);
    expect(await unknownOf(url, acknowledged)).toEqual([]);
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);

    const third = await lockedBy(installation);
    const file = join(installation.folder, 'more.ndjson');
    writeFileSync(file, `${order(4)}\n`);
    const args = ['bin/order-sync.js', 'submit', file, '--config', installation.configFile];
    const command = spawnSync(process.execPath, args, { cwd: projectRoot, encoding: 'utf8' });
    expect([command.status, command.stderr]).toEqual([
      5,
      expect.stringContaining(`is locked by the process ${third.pid} (node)`),
    ]);
    await third.release();
  });
});
