import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation, order, type WorkerProcess } from '../support/worker-process.ts';
import { projectRoot } from './shell-commands.ts';

/*
 * Performs the section "Restore" of docs/operating.md, command by command as it is written, in an
 * installation whose worker was killed after it had bought more than the backup knows.
 */

const section = (name: string): string => {
  const page = readFileSync(join(projectRoot, 'docs/operating.md'), 'utf8');
  return page.split(/^## /m).find((text) => text.startsWith(`${name}\n`)) ?? '';
};
const blocksOf = (name: string): string[][] =>
  [...section(name).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) =>
    block.trim().split('\n'),
  );

const [[backup = ''] = []] = blocksOf('Backup');
const [restore = [], [afterLoss = ''] = []] = blocksOf('Restore');

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

/**
 * An installation in which the commands of the page work: its data is in `data`, its config where
 * it is looked for.
 */
async function open(): Promise<Installation> {
  const place = await Installation.open();
  installation = place;
  place.configure((config) => {
    config.data_dir = join(place.folder, 'data');
    config.intake.folders[0].inbox = join(place.folder, 'inbox');
    for (const folder of ['archive', 'rejected'])
      config.intake.folders[0][folder] = join(place.folder, folder);
    config.results = { folder: join(place.folder, 'results') };
  });
  mkdirSync(join(place.folder, 'data'));
  mkdirSync(join(place.folder, 'config'));
  symlinkSync(place.configFile, join(place.folder, 'config/order-sync.yaml'));
  return place;
}

function shell(command: string, place: Installation): void {
  const own = `order-sync() { "${process.execPath}" "${join(projectRoot, 'bin/order-sync.js')}" "$@"; }; ${command}`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', own], {
    cwd: place.folder,
    encoding: 'utf8',
  });
  expect({ command, status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
}

async function buys(worker: WorkerProcess, place: Installation, id: number): Promise<void> {
  place.drop(`${id}.json`, order(id));
  await worker.line(
    ({ msg, order_id: about }) => msg === 'result delivered' && about === String(id),
  );
}

/**
 * Backs up after the first order, buys a second, stops the worker and puts the copy in the place of
 * the database.
 */
async function restored(place: Installation, putBack: () => void): Promise<void> {
  const worker = place.start();
  await worker.started();
  await buys(worker, place, 1);
  shell(backup, place);
  await buys(worker, place, 2);
  // A stop, as the page says: a killed worker is in test/e2e.
  await worker.end('SIGTERM');
  putBack();
}

describe('the section "Restore"', () => {
  it('leads to a worker that finds what was bought since the copy', async () => {
    const place = await open();
    await restored(place, () => {
      expect(restore.at(-1)).toBe('order-sync run');
      for (const command of restore.slice(0, -1)) shell(command, place);
    });
    const replaced =
      readdirSync(join(place.folder, 'data')).find((name) => name.startsWith('replaced-')) ?? '';
    expect(existsSync(join(place.folder, 'data', replaced, 'order-sync.db'))).toBe(true);
    expect(statSync(join(place.folder, 'data/order-sync.db')).mode & 0o777).toBe(0o600);
    const worker = place.start();
    await worker.started();
    // "Move the files of `archive/` that are newer than the copy to `inbox/` again."
    const [archived = ''] = readdirSync(join(place.folder, 'archive'), {
      recursive: true,
      encoding: 'utf8',
    }).filter((name) => name.endsWith('2.json'));
    shell(`mv "archive/${archived}" inbox/2.json`, place);
    await worker.line(({ msg, order_id: about }) => msg === 'result delivered' && about === '2');
    expect(place.sandbox.ledger().orders).toHaveLength(2);
    await worker.end('SIGTERM');
  });

  it('says what to do if the progress file is lost, too', async () => {
    const place = await open();
    const data = join(place.folder, 'data');
    await restored(place, () =>
      shell('rm data/order-sync.db* && cp data/backups/*.db data/order-sync.db', place),
    );
    for (const name of readdirSync(data).filter((file) => file.endsWith('.progress')))
      rmSync(join(data, name));
    expect(afterLoss).toBe('order-sync init --after-loss');
    shell(afterLoss, place);
    const worker = place.start();
    await worker.started();
    await buys(worker, place, 2);
    expect(
      place.sandbox.ledger().calls.filter(({ operation }) => operation === 'gift_card_order'),
    ).toHaveLength(2);
    await worker.end('SIGTERM');
  });
});
