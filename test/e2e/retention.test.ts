import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import { foreignAnswer } from '../support/foreign-answer.ts';
import { contentsOf, deliveredCodes, filesBelow, findSecrets } from '../support/secret-search.ts';
import { Installation } from '../support/worker-process.ts';

/*
 * Days pass while no worker runs: the test moves the times that the worker has written, in the
 * outbox and of the files, so that they are what they would be after so long. Code, processes and
 * files are the real ones.
 */

let place: Installation;
afterEach(() => place.close());

const dayMs = 86_400_000;

function letDaysPass(days: number): void {
  const database = new SqliteDatabase(place.databasePath);
  const moved = {
    entries: [
      'created_at_ms',
      'updated_at_ms',
      'settled_at_ms',
      'first_sent_steady',
      'last_sent_at_ms',
    ],
    deliveries: ['done_at_ms'],
    requests: ['received_at_ms', 'updated_at_ms'],
  };
  for (const [table, columns] of Object.entries(moved)) {
    const changes = columns.map((column) => `${column} = ${column} - ${days * dayMs}`).join(', ');
    database.exec(`UPDATE ${table} SET ${changes}`);
  }
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  for (const path of resultFiles()) {
    const seconds = (statSync(path).mtimeMs - days * dayMs) / 1000;
    utimesSync(path, seconds, seconds);
  }
}

const resultFiles = (): string[] =>
  readdirSync(join(place.folder, 'results'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** The files in which a code stands, except those of the sandbox, who sold it. */
const filesWith = (codes: readonly string[]): string[] => [
  ...new Set(
    codes.flatMap((code) =>
      [...contentsOf(filesBelow(place.folder).filter((path) => !path.includes('sandbox.db')))]
        .filter(([, content]) => content.includes(code))
        .map(([path]) => path.slice(place.folder.length + 1)),
    ),
  ),
];

const cli = async (...argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runHere(
    [...argv, '--config', place.configFile],
    new SystemClock(),
  );
  if (code !== 0) throw new Error(stderr);
  return stdout;
};

async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${what} never came`);
    await delay(20);
  }
}

const header = 'source,order_id,variant,quantity,currency\n';

async function buy(): Promise<void> {
  place = await Installation.open({
    folder: { source: 'shop' },
    sandbox: { faults: [foreignAnswer] },
  });
  const worker = place.start();
  await worker.started();
  place.drop('done.csv', `${header}shop,1,steam-usd-5,2,USD\nshop,2,steam-usd-5,1,USD\n`);
  place.drop('open.csv', `${header}shop,3,test-other-reference,1,USD\nshop,4,steam-usd-10,1,USD\n`);
  const undelivered = (): number => place.query('SELECT 1 FROM delivery_log WHERE done = 0').length;
  await until(
    () => place.csvResults().size === 2 && resultFiles().length === 6 && undelivered() === 0,
    'all results',
  );
  await worker.end('SIGTERM');
}

describe('what was kept for long enough', () => {
  it('is removed from the folder of results, except what is open; the outbox still has it', async () => {
    await buy();
    const before = place.results();
    place.configure((config) => {
      config.results = { keep_days: 10 };
    });
    letDaysPass(9);
    const early = place.start();
    await early.started();
    await early.end('SIGTERM');
    expect(resultFiles()).toHaveLength(6);
    letDaysPass(2);
    const worker = place.start();
    expect(await worker.line(({ msg }) => msg === 'old results were removed')).toMatchObject({
      removed: 4,
    });
    // The order that needs review, and what shares a file with it.
    expect([...place.results().keys()]).toEqual(['shop/3']);
    expect([...place.csvResults().keys()]).toEqual([expect.stringMatching(/^open\.csv\./)]);
    await cli('results', 'rewrite', '--source', 'shop', '--order', '1', '--reason', 'lost');
    await until(
      () => place.results().has('shop/1') && place.csvResults().size === 2,
      'the results that an operator wants',
    );
    expect(place.results().get('shop/1')?.lines).toEqual(before.get('shop/1')?.lines);
    await worker.end('SIGTERM');
  });

  it('is shredded: no file has its codes any more, also after a kill, but a backup from before', async () => {
    await buy();
    await cli('db', 'backup');
    const codes = deliveredCodes(place);
    const kept = codes.filter((code) =>
      JSON.stringify(place.results().get('shop/3')).includes(code),
    );
    const shredded = codes.filter((code) =>
      ['shop/1', 'shop/2'].some((order) =>
        JSON.stringify(place.results().get(order)).includes(code),
      ),
    );
    expect([shredded.length, filesWith(shredded).includes('order-sync.db')]).toEqual([3, true]);
    place.configure((config) => {
      config.results = { keep_days: 10 };
      config.retention = { codes_days: 30 };
    });
    letDaysPass(31);
    const worker = place.start();
    await worker.line(({ msg }) => msg === 'codes were shredded');
    await worker.line(({ msg }) => msg === 'old results were removed');
    await worker.end('SIGKILL');
    expect(filesWith(shredded)).toEqual([expect.stringMatching(/^backups\/order-sync-.*\.db$/)]);
    for (const code of kept) expect(filesWith([code])).toContain('order-sync.db');
    expect(findSecrets(codes, new Map([['log', JSON.stringify(worker.log)]]))).toEqual([]);
    const audited = place.query<{ subject: string }>(
      "SELECT subject FROM audit_log WHERE action = 'shred_codes'",
    );
    expect(audited.map(({ subject }) => subject).toSorted()).toEqual([
      'shop/1',
      'shop/2',
      'shop/4',
    ]);
    // Nothing can be delivered again, so nothing in the shop is replaced by less.
    await expect(
      cli('results', 'rewrite', '--source', 'shop', '--order', '1', '--reason', 'test'),
    ).rejects.toThrow('were shredded');
  });
});
