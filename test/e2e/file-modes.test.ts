import { once } from 'node:events';
import { readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Installation } from '../support/worker-process.ts';

let place: Installation;
afterEach(() => place.close());

/** What somebody else made: the shop its file, this test the configuration and the sandbox. */
const ofOthers = /^(?:inbox|worker\.yaml|sandbox\.db.*)$|^archive\/.*orders\.csv$/;

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

it('every file and folder that a worker makes is for its user alone; its group may list the results', async () => {
  place = await Installation.open();
  const worker = place.start();
  await worker.started();
  place.drop(
    'orders.csv',
    'order_id,variant,quantity,currency\n1001,steam-usd-5,1,USD\n1002,steam-usd-5,none,USD\n',
  );
  const results = watch(join(place.folder, 'results'), { recursive: true });
  while (place.csvResults().size === 0) await once(results, 'change');
  results.close();
  const made = readdirSync(place.folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !ofOthers.test(name) && !name.endsWith('.tmp'))
    .map((name) => [name, modeOf(join(place.folder, name))] as const);
  const names = made.map(([name]) => name.replace(/\.[0-9A-Z]{26}/, '')).join(' ');
  for (const expected of [
    'order-sync.db',
    'order-sync.db-lock',
    'order-sync.db-wal',
    'run.json',
    'reference.secret',
  ])
    expect(names).toContain(expected);
  expect(names).toContain('.error.json');
  const isFolder = (name: string): boolean => statSync(join(place.folder, name)).isDirectory();
  const open = made.filter(
    ([name, mode]) => !(isFolder(name) ? ['700', '750'] : ['600']).includes(mode),
  );
  expect(open).toEqual([]);
});
