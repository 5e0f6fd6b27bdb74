import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SealedRun, soldLines } from '../support/sealed-run.ts';
import { contentsOf, filesBelow, findSecrets } from '../support/secret-search.ts';

/*
 * A whole life of an installation that seals: then every place is searched for every code and every
 * key. Exempt are the delivery itself (results and callback), the config with its secret files, and
 * the sandbox, who sold the codes.
 */

const open: SealedRun[] = [];
afterEach(async () => {
  for (const run of open.splice(0)) await run.close();
});

async function opened(): Promise<SealedRun> {
  const run = await SealedRun.open();
  open.push(run);
  return run;
}

describe('an installation that seals', { timeout: 90_000 }, () => {
  it('has no code and no key in any file, log, answer or output, also after it was killed', async () => {
    const run = await opened();
    const worker = await run.start();
    await run.buyEverything();
    expect(soldLines.map(([id]) => `${id} ${run.stateOf(id)?.state}`)).toEqual(
      expect.arrayContaining([
        'cards fulfilled',
        'delayed fulfilled',
        'refused rejected',
        'esim fulfilled',
        'mismatch fulfilled',
      ]),
    );
    expect(findSecrets(run.codes(), new Map([['read', await run.read('cards')]]))).toHaveLength(3);
    await run.health();
    await run.cli('orders', 'list', '--json');
    for (const [id] of soldLines) await run.cli('orders', 'show', id, '--answers', '--json');
    await run.cli('queue', 'status');
    await run.cli('db', 'check');
    await run.cli('db', 'backup');
    await worker.end('SIGKILL');
    run.sealWith('k2', 'k1');
    const next = await run.start();
    await next.line(({ msg }) => msg === 'all codes are sealed with the first key');
    await run.cli('seal', 'rotate', '--dry-run');
    await next.end('SIGKILL');

    expect(run.codes().length).toBeGreaterThan(6);
    const places = run.places();
    expect([...places.keys()].map((name) => name.split('/').at(-1))).toEqual(
      expect.arrayContaining([
        'order-sync.db',
        'order-sync.db-wal',
        'run.json',
        'worker 1',
        'orders show cards --answers --json',
      ]),
    );
    expect([...places.keys()].some((name) => /\/backups\/order-sync-\w+\.db$/.test(name))).toBe(
      true,
    );
    expect(findSecrets(run.secrets(), places)).toEqual([]);
    // The search finds what is there: the results have every code of an order that was delivered.
    const results = contentsOf(filesBelow(join(run.place.folder, 'results')));
    expect(findSecrets(run.codes(), results).length).toBeGreaterThan(4);
    expect(
      run.shop.posts.some(
        ({ body }) => findSecrets(run.codes(), new Map([['post', body]])).length > 0,
      ),
    ).toBe(true);
  });
});
