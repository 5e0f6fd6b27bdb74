import { once } from 'node:events';
import { chownSync, readdirSync, renameSync, statSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Installation, order } from '../support/worker-process.ts';

let place: Installation;
afterEach(() => place.close());

const nobody = 65534;

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

it.skipIf(process.getuid?.() !== 0)(
  'a file that the worker may not read is named in its log, with its rights and the command',
  async () => {
    place = await Installation.open();
    for (const name of ['', 'inbox', 'worker.yaml'])
      chownSync(join(place.folder, name), nobody, nobody);
    const worker = place.start(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']);
    await worker.started();
    const file = join(place.folder, 'inbox', 'orders.json');
    const draft = join(place.folder, 'orders.json');
    writeFileSync(draft, order(1), { mode: 0o600 });
    renameSync(draft, file);
    const { level } = await worker.line(({ msg }) =>
      msg.endsWith(
        `order-sync runs as uid:gid 65534:65534, and ${file} belongs to 0:0 with mode 0600; give the file a group of the user of order-sync, and run chmod 640 on it`,
      ),
    );
    expect(level).toBe('error');
  },
);
