import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import {
  Installation,
  order,
  type InstallationOptions,
  type WorkerProcess,
} from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

async function open(options: InstallationOptions = {}): Promise<Installation> {
  installation = await Installation.open(options);
  return installation;
}

/**
 * An order that may be charged to another balance, under another reference: its own does not keep
 * it from being bought twice.
 */
const movable = (id: string): string =>
  JSON.stringify({
    source: 'shop',
    order_id: id,
    currency: 'USD',
    rules: { fallback_currency: 'EUR' },
    lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
  });

const orders = 12;
const lines = [
  ...Array.from({ length: orders - 1 }, (_, id) => movable(String(id))),
  // Bought last, so the copy has it as one that was never sent.
  movable('moved'),
  '',
].join('\n');
const empty =
  '{"error":{"code":"insufficient_balance","message":"The USD balance does not cover the order."}}';
const slowOneByOne: InstallationOptions = {
  submit: { concurrency: 1 },
  sandbox: {
    limits: { enabled: false },
    latency: { before_ms: [60, 60] },
    // The last order meets an empty balance and is charged to the other one. Later the first has
    // money again.
    faults: [
      {
        fault: { fault: 'answer', status: 402, body: empty, when: 'before' },
        match: { operation: 'gift_card_order' },
        at: [orders],
      },
    ],
  },
};

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await delay(20);
  }
}

const count = (place: Installation, condition: string): number =>
  place.query(`SELECT 1 FROM outbox WHERE ${condition}`).length;
const spendingCalls = (place: Installation): number =>
  place.sandbox.ledger().calls.filter(({ operation }) => operation === 'gift_card_order').length;
const lookups = (place: Installation): number =>
  place.query("SELECT 1 FROM attempt_log WHERE purpose = 'lookup'").length;

function progressFile(place: Installation): string {
  const [name, ...others] = readdirSync(place.folder).filter((file) => file.endsWith('.progress'));
  if (name === undefined || others.length > 0) throw new Error('there is one progress file');
  return join(place.folder, name);
}

function putBack(copy: string, place: Installation): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${place.databasePath}${end}`, { force: true });
  copyFileSync(copy, place.databasePath);
}

/**
 * Buys orders, copies the database meanwhile, kills the worker when all are bought, and puts the
 * copy back.
 */
async function boughtMoreThanTheCopyKnows(): Promise<{ place: Installation; calls: number }> {
  const place = await open(slowOneByOne);
  const worker = place.start();
  await worker.started();
  place.drop('a.ndjson', lines);
  await until('some orders are bought', () => count(place, "state = 'fulfilled'") >= 3);
  const copy = join(place.folder, 'copy.db');
  const database = new SqliteDatabase(place.databasePath, { readonly: true });
  database.exec(`VACUUM INTO '${copy}'`);
  database.close();
  await until('all orders are bought', () => count(place, "state = 'fulfilled'") === orders);
  // A kill may lose the last second of the progress file, but not all of it.
  await until('the progress file has the last call', () => {
    const [newest] = place.query<{ id: number }>('SELECT max(id) AS id FROM attempts');
    return JSON.parse(readFileSync(progressFile(place), 'utf8')).attempt === newest?.id;
  });
  await worker.end('SIGKILL');
  expect(place.sandbox.ledger().orders.filter(({ currency }) => currency === 'EUR')).toHaveLength(
    1,
  );
  const calls = spendingCalls(place);
  putBack(copy, place);
  expect(count(place, "state = 'pending'")).toBeGreaterThan(3);
  expect(count(place, "state = 'pending' AND order_id = 'moved'")).toBe(1);
  return { place, calls };
}

/**
 * Every order that was bought under its own reference is found by lookups alone; the other one needs
 * review. Nothing was sent.
 */
async function findsAllWithoutBuying(
  place: Installation,
  worker: WorkerProcess,
  calls: number,
): Promise<void> {
  await until(
    'every other order is found again',
    () => count(place, "state = 'fulfilled'") === orders - 1,
  );
  await until(
    'the order on the other balance needs review',
    () => count(place, "state = 'needs_review' AND order_id = 'moved'") === 1,
  );
  expect(place.sandbox.ledger().orders).toHaveLength(orders);
  expect(spendingCalls(place)).toBe(calls);
  expect(lookups(place)).toBeGreaterThan(3);
  // What comes in now is looked up, too, and bought.
  place.drop('new.json', order(99));
  await until(
    'the new order is bought',
    () => count(place, "order_id = '99' AND state = 'fulfilled'") === 1,
  );
  expect(place.sandbox.ledger().orders).toHaveLength(orders + 1);
  expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
}

const outboxAttention = (place: Installation) =>
  place.query<Record<string, unknown>>("SELECT * FROM outbox_attention WHERE kind = 'older_copy'");

describe('an older copy of the database', { timeout: 60_000 }, () => {
  it('is noticed by the progress file: what was bought since is found by lookups, not bought again', async () => {
    const { place, calls } = await boughtMoreThanTheCopyKnows();
    const worker = place.start();
    const line = await worker.line(({ msg }) =>
      msg.startsWith('this is an older copy of the outbox: its newest records are call'),
    );
    expect(line['level']).toBe('error');
    await worker.started();
    expect(outboxAttention(place)).toMatchObject([
      {
        state: 'after_loss',
        code: 'older_copy',
        message: expect.stringMatching(/used last are call \d+/),
      },
    ]);
    expect(place.query("SELECT actor, subject FROM audit_log WHERE action = 'after_loss'")).toEqual(
      [{ actor: 'worker', subject: 'outbox' }],
    );
    await findsAllWithoutBuying(place, worker, calls);
    // Once is enough: the next start finds the progress of this database.
    const next = place.start();
    await next.started();
    await next.end('SIGTERM');
    expect(next.log.filter(({ msg }) => msg.includes('older copy'))).toEqual([]);
    expect(outboxAttention(place)).toHaveLength(1);
  });

  it('is noticed, too, where the database is new and its orders come in again', async () => {
    const { place, calls } = await boughtMoreThanTheCopyKnows();
    for (const end of ['', '-wal', '-shm']) rmSync(`${place.databasePath}${end}`, { force: true });
    const worker = place.start();
    const line = await worker.line(({ msg }) => msg.startsWith('this is not the outbox that'));
    expect(line['level']).toBe('error');
    await worker.started();
    place.drop('again.ndjson', lines);
    await findsAllWithoutBuying(place, worker, calls);
  });
});

describe('the progress file', { timeout: 60_000 }, () => {
  it('accuses no database after a kill or a stop, also where it is behind', async () => {
    const place = await open();
    const worker = place.start();
    await worker.started();
    const before = readFileSync(progressFile(place));
    place.drop('a.json', order(1));
    await until('it is bought', () => count(place, "state = 'fulfilled'") === 1);
    await worker.end('SIGKILL');
    // As if the worker had been killed between the commit and the file.
    writeFileSync(progressFile(place), before);
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const next = place.start();
      await next.started();
      await next.end(signal);
      expect(next.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    }
    expect(place.query("SELECT 1 FROM audit_log WHERE action = 'after_loss'")).toEqual([]);
  });

  it('is a warning when it cannot be read, and orders are bought as before', async () => {
    const place = await open();
    const worker = place.start();
    await worker.started();
    place.drop('a.json', order(1));
    await until('it is bought', () => count(place, "state = 'fulfilled'") === 1);
    await worker.end('SIGTERM');
    const file = progressFile(place);
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, whole.slice(0, 40));
    const next = place.start();
    const line = await next.line(({ msg }) => msg.startsWith('the progress file cannot be read'));
    expect(line).toMatchObject({
      level: 'warn',
      error: 'the content is not what the worker wrote',
    });
    place.drop('b.json', order(2));
    await until('the second is bought', () => count(place, "state = 'fulfilled'") === 2);
    expect(await next.end('SIGTERM'), next.stderr).toBe(0);
    // A stop writes it, so the next start knows again.
    expect(JSON.parse(readFileSync(file, 'utf8')).attempt).toBeGreaterThan(
      JSON.parse(whole).attempt,
    );
  });

  it('is a warning in log and health when it cannot be written, and orders are bought as before', async () => {
    const place = await open();
    const first = place.start();
    await first.started();
    await first.end('SIGTERM');
    const file = progressFile(place);
    const draft = join(place.folder, `.${file.slice(place.folder.length + 1)}.tmp`);
    // A folder that is in the way: a file or a link there would be removed.
    mkdirSync(draft);
    const worker = place.start();
    place.drop('a.json', order(1));
    const line = await worker.line(({ msg }) =>
      msg.startsWith('the progress file cannot be written'),
    );
    expect(line).toMatchObject({ level: 'warn', error: expect.stringMatching(/EISDIR|EPERM/) });
    const { admin } = await worker.started();
    await until('it is bought', () => count(place, "state = 'fulfilled'") === 1);
    const health = async (): Promise<unknown> =>
      await (await fetch(`http://${String(admin)}/healthz`)).json();
    expect(await health()).toMatchObject({ status: 'warn', checks: { progress_file: 'warn' } });
    rmSync(draft, { recursive: true });
    await worker.line(({ msg }) => msg === 'the progress file can be written again');
    expect(await health()).toMatchObject({ status: 'pass', checks: { progress_file: 'pass' } });
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });
});
