import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import { Installation, type LogLine, type WorkerProcess } from '../support/worker-process.ts';

let place: Installation;
afterEach(() => place.close());

const amazon = {
  name: 'amazon',
  currency: 'EUR',
  columns: { order_id: 'amazon-order-id', quantity: 'qty-purchased' },
};

/**
 * The folder `folder` with our columns and dollars, and `amazon` with its own columns and euros.
 */
async function open(): Promise<Installation> {
  place = await Installation.open({ folder: { currency: 'USD' }, folders: [amazon] });
  return place;
}

const ofFolder = 'order_id,variant,quantity\n1,steam-usd-5,2\n';
const ofAmazon = 'amazon-order-id,variant,qty-purchased\n1,steam-usd-5,3\n';

const accepted = (folder: string) => (line: LogLine) =>
  line.msg === 'order file accepted' && line['folder'] === folder;
const written = (line: LogLine): boolean =>
  line.msg === 'result delivered' && line['sink'] === 'csv';

/** What was asked for, as `source/order quantity currency`. */
const bought = (): readonly string[] =>
  place
    .query<{ text: string }>(
      `SELECT r.source || '/' || r.order_id || ' ' || l.quantity || ' ' || l.currency AS text
       FROM lines l JOIN requests r ON r.id = l.request_id ORDER BY text`,
    )
    .map(({ text }) => text);

async function get(worker: WorkerProcess, path: string): Promise<string> {
  const { admin } = await worker.started();
  return await (await fetch(`http://${String(admin)}${path}`)).text();
}

describe('two watched folders', () => {
  it('of one worker each have their own columns, currency, source and results, also for files of one name', async () => {
    await open();
    const worker = place.start();
    await worker.started();
    place.drop('orders.csv', ofFolder);
    place.drop('orders.csv', ofAmazon, 'amazon/inbox');
    for (const name of ['folder', 'amazon']) await worker.line(accepted(name));
    await worker.line((line) => worker.log.filter(written).length === 2 && written(line));
    expect(bought()).toEqual(['amazon/1 3 EUR', 'folder/1 2 USD']);
    const headers = [...place.csvResults().values()].map((text) =>
      text.slice(0, text.indexOf(',result_')),
    );
    expect(headers.toSorted()).toEqual([
      'amazon-order-id,variant,qty-purchased',
      'order_id,variant,quantity',
    ]);
    expect(place.query('SELECT name, folder FROM files ORDER BY folder')).toEqual([
      { name: 'orders.csv', folder: 'amazon' },
      { name: 'orders.csv', folder: 'folder' },
    ]);
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
  });

  it('each take up the files that were claimed when the worker was killed', async () => {
    await open();
    const claimed = '01HZZZZZZZZZZZZZZZZZZZZZZ';
    mkdirSync(join(place.folder, 'amazon/work'), { recursive: true });
    mkdirSync(join(place.folder, 'work'));
    writeFileSync(join(place.folder, 'work', `${claimed}A__orders.csv`), ofFolder);
    writeFileSync(join(place.folder, 'amazon/work', `${claimed}B__orders.csv`), ofAmazon);
    const worker = place.start();
    for (const name of ['folder', 'amazon']) await worker.line(accepted(name));
    expect(bought()).toEqual(['amazon/1 3 EUR', 'folder/1 2 USD']);
  });

  it('do not wait for each other: one on a missing volume is named, not made, and read when it is back', async () => {
    await open();
    const first = place.start();
    await first.started();
    await first.end('SIGTERM');
    place.configure((config) => {
      config.init = 'never';
    });
    const [volume, away] = ['amazon', 'unmounted'].map((name) => join(place.folder, name));
    renameSync(volume ?? '', away ?? '');
    const worker = place.start();
    await worker.started();
    await worker.line((line) => line['folder'] === 'amazon' && line.msg.includes('cannot be used'));
    place.drop('orders.csv', ofFolder);
    await worker.line(accepted('folder'));
    expect(JSON.parse(await get(worker, '/healthz')).checks).toMatchObject({
      'folder:folder': 'pass',
      'folder:amazon': 'fail',
    });
    expect(await get(worker, '/readyz')).toContain('pass');
    expect(await get(worker, '/metrics')).toContain('order_sync_health{check="folder:amazon"} 2');
    const doctor = await runHere(['doctor', '--config', place.configFile], new SystemClock());
    expect(doctor.stdout).toContain(`There is no folder ${volume}/inbox (intake.folders.1.inbox)`);
    expect(existsSync(volume ?? '')).toBe(false);

    renameSync(away ?? '', volume ?? '');
    place.drop('orders.csv', ofAmazon, 'amazon/inbox');
    await worker.line(accepted('amazon'));
    expect(bought()).toEqual(['amazon/1 3 EUR', 'folder/1 2 USD']);
  });

  it('stop the start where none can be used', async () => {
    await open();
    const first = place.start();
    await first.started();
    await first.end('SIGTERM');
    place.configure((config) => {
      config.init = 'never';
    });
    for (const name of ['amazon', 'inbox']) rmSync(join(place.folder, name), { recursive: true });
    const worker = place.start();
    expect(await worker.exited()).toBe(5);
    expect(worker.stderr).toContain('There is no folder');
    expect(readdirSync(place.folder)).not.toContain('inbox');
  });

  it('get other settings by a reload, and another list of folders by a restart', async () => {
    await open();
    const worker = place.start();
    await worker.started();
    place.configure((config) => {
      config.intake.folders[1].columns.order_id = 'id';
    });
    expect(await worker.reload()).toMatchObject({
      applied: ['intake.folders[].columns.order_id'],
      need_restart: [],
    });
    place.configure((config) => {
      config.intake.folders.reverse();
      config.intake.folders[1].currency = 'EUR';
    });
    expect(await worker.reload()).toMatchObject({
      applied: [],
      need_restart: expect.arrayContaining(['intake.folders[].name']),
    });
    place.drop('orders.csv', ofFolder);
    place.drop('orders.csv', ofAmazon.replace('amazon-order-id', 'id'), 'amazon/inbox');
    for (const name of ['folder', 'amazon']) await worker.line(accepted(name));
    expect(bought()).toEqual(['amazon/1 3 EUR', 'folder/1 2 USD']);
  });

  it('need a name for `submit`, because each means another source and currency', async () => {
    await open();
    const worker = place.start();
    await worker.started();
    const file = join(place.folder, 'mine.csv');
    writeFileSync(file, ofAmazon);
    const submit = (...more: string[]) =>
      runHere(['submit', file, '--config', place.configFile, ...more], new SystemClock());
    expect(await submit()).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--folder.*folder, amazon/),
    });
    expect(await submit('--folder', 'ebay')).toMatchObject({ code: 2 });
    expect(await submit('--folder', 'amazon')).toMatchObject({ code: 0 });
    expect(bought()).toEqual(['amazon/1 3 EUR']);
  });
});
