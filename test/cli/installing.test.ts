import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { defaultKey, FakeApi } from '../support/fake-api.ts';
import { migrations } from '../../src/store/sqlite/schema.ts';
import { installation, knownInstallation, nowMs, runHere, sandboxConfig } from './installation.ts';
import { fillOutbox, line as acceptedLine, openOutbox } from './sample-outbox.ts';

describe('order-sync init', () => {
  it('makes the folders, the secret and the database, and changes nothing the second time', async () => {
    const fresh = installation();
    const made = await fresh.run('init');
    expect(made.code).toBe(0);
    expect(made.stdout.replaceAll(fresh.dataDir, 'DATA')).toBe(
      [
        'DATA',
        'DATA/inbox',
        'DATA/work',
        'DATA/archive',
        'DATA/rejected',
        'DATA/results',
        'DATA/reference.secret',
        'DATA/order-sync.db',
      ]
        .map((path) => `made  ${path}\n`)
        .join(''),
    );
    expect(made.stderr).toContain('Keep a copy of');
    const secret = readFileSync(join(fresh.dataDir, 'reference.secret'), 'utf8');
    expect(statSync(join(fresh.dataDir, 'results')).mode & 0o007).toBe(0);

    const again = await fresh.run('init');
    expect(again.stdout).not.toContain('made');
    expect(readFileSync(join(fresh.dataDir, 'reference.secret'), 'utf8')).toBe(secret);
  });

  it('writes an example of the configuration that needs only what it marks as yours, and replaces none', async () => {
    const folder = installation().dataDir;
    const file = join(folder, 'config', 'order-sync.yaml');
    const made = await runHere(['init', '--example', '--config', file]);
    expect(made).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining(`made  ${file}\n`),
    });
    writeFileSync(join(folder, 'key'), 'sk-test');
    const own = 'wholesale.base_url=https://api.example.com';
    const set = [`data_dir=${folder}`, own, `wholesale.keys.0.value=file:${join(folder, 'key')}`];
    const checked = await runHere([
      'check-config',
      '--config',
      file,
      ...set.flatMap((value) => ['--set', value]),
    ]);
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('valid') });
    const again = await runHere(['init', '--example', '--config', file]);
    expect(again).toMatchObject({ code: 5, stderr: expect.stringContaining('is there already') });
  });

  it('keeps a restored secret: after a lost disk the references are the same', async () => {
    const restored = knownInstallation();
    const { stdout } = await restored.run('init');
    expect(stdout).toContain(`found ${join(restored.dataDir, 'reference.secret')}`);
  });

  it('makes no new secret for a database that has lost its own', async () => {
    const damaged = installation();
    await damaged.run('init');
    rmSync(join(damaged.dataDir, 'reference.secret'));
    const { code, stderr } = await damaged.run('init');
    expect(code).toBe(5);
    expect(stderr).toContain('restore this file from your copy');
  });

  it('looks up first without being asked, if the database is new and the progress file says that there was another', async () => {
    const lost = installation();
    await lost.run('init');
    const status = async () => JSON.parse((await lost.run('queue', 'status', '--json')).stdout);
    expect(await status()).toMatchObject({ pauses: [], attention: [] });
    for (const name of readdirSync(lost.dataDir).filter((file) => file.startsWith('order-sync.db')))
      rmSync(join(lost.dataDir, name));
    const again = await lost.run('init');
    expect(again.stderr).toContain('this is not the outbox that the worker used last');
    expect(again.stdout).toContain('are looked up before they are sent');
    expect(await status()).toMatchObject({ pauses: [{ scope: 'account', reason: 'older_copy' }] });
    // A third time is no loss.
    expect((await lost.run('init')).stderr).toBe('');
  });

  it('is not the only command that notices it: each that opens the outbox does', async () => {
    const lost = knownInstallation();
    await lost.run('init');
    const copy = readFileSync(join(lost.dataDir, 'order-sync.db'));
    expect((await lost.run('queue', 'pause', 'balance:USD', '--reason', 'first')).stderr).toBe('');
    for (const end of ['-wal', '-shm'])
      rmSync(join(lost.dataDir, `order-sync.db${end}`), { force: true });
    writeFileSync(join(lost.dataDir, 'order-sync.db'), copy);
    const { code, stderr } = await lost.run('queue', 'pause', 'balance:EUR', '--reason', 'second');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('an older copy of the outbox'),
    });
  });

  it('says it once, also where the progress file cannot be written any more', async () => {
    const lost = installation();
    await lost.run('init');
    const [file = ''] = readdirSync(lost.dataDir).filter((name) => name.endsWith('.progress'));
    mkdirSync(join(lost.dataDir, `.${file}.tmp`));
    for (const name of readdirSync(lost.dataDir).filter((entry) =>
      entry.startsWith('order-sync.db'),
    ))
      rmSync(join(lost.dataDir, name));
    expect((await lost.run('init')).stderr).toContain('not the outbox that');
    expect((await lost.run('init')).stderr).toBe('');
  });

  it.each([
    ['for the in-flight window', 'submit: { in_flight_window_ms: 500000 }', 500_000],
    [
      'for a window of the budget, if that is longer',
      'submit: { in_flight_window_ms: 1000 }',
      60_000 + 5000,
    ],
  ])('after a loss lets nothing be called at first: %s', async (_, setting, waitMs) => {
    const lost = installation((folder) => `${sandboxConfig(folder)}${setting}\n`);
    expect((await lost.run('init', '--after-loss')).code).toBe(0);
    const { pauses } = JSON.parse((await lost.run('queue', 'status', '--json')).stdout);
    // Calls of the lost outbox may be on their way, and count in the window of the API.
    const probedAt = new Date(nowMs + waitMs).toISOString();
    expect(pauses).toMatchObject([{ scope: 'account', reason: 'older_copy', probe_at: probedAt }]);
  });

  it('after a loss lengthens a pause that the copy was made in, if it would end sooner', async () => {
    const lost = knownInstallation();
    const store = openOutbox(lost);
    const pause = {
      scope: 'account',
      reason: 'api_disabled',
      message: '',
      openedBy: 'worker',
      nowMs,
    };
    await store.pauses.open({ ...pause, probeAtMs: 1000 });
    await store.close();
    await lost.run('init', '--after-loss');
    const { pauses } = JSON.parse((await lost.run('queue', 'status', '--json')).stdout);
    const probedAt = new Date(nowMs + 120_000).toISOString();
    expect(pauses).toMatchObject([
      { scope: 'account', reason: 'api_disabled', probe_at: probedAt },
    ]);
  });

  it('takes two installations with one secret for two, by their instance', async () => {
    const one = installation();
    await one.run('init');
    const other = installation((folder) =>
      sandboxConfig(folder)
        .replace('acme', 'other')
        .concat(`reference: { secret_file: ${one.dataDir}/reference.secret }\n`),
    );
    for (const place of [other, one, other]) expect((await place.run('init')).stderr).toBe('');
    expect(readdirSync(one.dataDir).filter((name) => name.endsWith('.progress'))).toHaveLength(2);
  });

  it('says what to do when a folder cannot be made', async () => {
    const blocked = installation((folder) => sandboxConfig(folder).replace('/data', '/file/data'));
    writeFileSync(join(blocked.folder, 'file'), '');
    const { code, stderr } = await blocked.run('init');
    expect(code).toBe(5);
    expect(stderr).toMatch(
      /The folder .*\/file\/data cannot be made or written\nWhat to do: order-sync runs as uid:gid \d+:\d+, and .*\/file\/data cannot be seen; as root: install -d -o \d+ -g \d+ -m 0700 .*\/file\/data/,
    );
  });

  it('writes into each folder, also one that is there: a mount may be read-only or of another user', async () => {
    const blocked = installation(
      (folder) => `${sandboxConfig(folder)}reference: { progress_folder: /proc/self/fdinfo }\n`,
    );
    const { code, stdout, stderr } = await blocked.run('init');
    expect({ code, stdout }).toEqual({
      code: 5,
      stdout: expect.not.stringContaining('/proc/self/fdinfo'),
    });
    expect(stderr).toContain('The folder /proc/self/fdinfo cannot be made or written');
  });
});

const productionAt = (folder: string, address: string) => `instance: acme
data_dir: ${folder}/data
wholesale:
  base_url: ${address}
  keys: [{ name: main, value: file:${folder}/key }]
admin: { listen: 127.0.0.1:0 }
`;

describe('the address of the API', () => {
  async function placeWithApi() {
    const api = await FakeApi.open();
    const place = installation((folder) => productionAt(folder, `${api.url}/v1`));
    writeFileSync(join(place.folder, 'key'), defaultKey, { mode: 0o600 });
    const name = (address: string) =>
      writeFileSync(place.configFile, productionAt(place.folder, address));
    return { api, place, name };
  }

  it('is asked by init, and may be corrected until the database has orders', async () => {
    const { api, place, name } = await placeWithApi();
    const wrong = await place.run('init');
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain(
      `${place.configFile}:4:13 wholesale.base_url leads to no API that accepts orders: `,
    );
    expect(wrong.stderr).toContain('or should it not be there?');
    name(api.url);
    expect((await place.run('check-config')).code).toBe(0);
    expect(await place.run('init')).toMatchObject({ code: 0, stderr: '' });
    const asked = api.calls.length;
    // It is known now.
    expect((await place.run('init')).code).toBe(0);
    expect(api.calls).toHaveLength(asked);
    await fillOutbox(place, [], api.url);
    name('https://api.example.com');
    const refusals = [await place.run('init'), await place.run('check-config')];
    for (const { code, stderr } of refusals) {
      expect(code).toBe(3);
      expect(stderr).toContain(
        `${place.configFile}:4:13 wholesale.base_url must lead to the API ${api.url}`,
      );
    }
    expect(await place.run('run')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`but wholesale.base_url leads to https://api.example.com`),
    });
    expect((await place.run('doctor')).stdout).toMatch(
      /^fail {2}database: .*wholesale\.base_url leads to https:/m,
    );
  });

  it('may get another path while nothing was accepted under the first one', async () => {
    const { api, place, name } = await placeWithApi();
    mkdirSync(place.dataDir);
    const store = openOutbox(place, [], `${api.url}/v1`);
    const lines = [acceptedLine('1001', '1', { variant: 'card', quantity: 1 })];
    await store.intake.acceptBatch({ nowMs, fileId: null, lines, rejections: [] });
    await store.close();
    name('https://api.example.com');
    expect((await place.run('init')).code).toBe(3);
    name(api.url);
    expect((await place.run('init')).code).toBe(0);
    expect((await place.run('check-config')).code).toBe(0);
  });

  it('is not known while nothing answers there: init says so and ends well', async () => {
    const { api, place } = await placeWithApi();
    await api.close();
    const { code, stderr } = await place.run('init');
    expect([code, stderr]).toEqual([0, expect.stringContaining('warning: unreachable: ')]);
  });
});

describe('order-sync check-config', () => {
  it('reports every mistake, and ends with 3', async () => {
    const wrong = installation(() => 'instance: 1\nbase: 2\n');
    const { code, stdout, stderr } = await wrong.run('check-config');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr.split('\n').filter((line) => line.includes(wrong.configFile))).toHaveLength(4);
    const json = await wrong.run('check-config', '--json');
    const { error } = JSON.parse(json.stderr);
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.issues).toContainEqual({
      place: `${wrong.configFile}:2:1`,
      path: 'base',
      problem: expect.stringContaining('is no key of this version'),
    });
  });

  it('names file, line and rule of each mistake in the SKU maps, without which no worker starts', async () => {
    const webhook = (folder: string) => `
  webhook:
    listen: 127.0.0.1:0
    sku_map: ${folder}/http.csv
    woocommerce:
      - { shop: main, secrets: [{ value: a-secret-of-the-shop }], sku_map: ${folder}/shop.yaml }
      - { shop: other, secrets: [{ value: a-secret-of-another }], sku_map: ${folder}/shop.yaml }
      - { shop: third, secrets: [{ value: a-secret-of-a-third }], sku_map: ${folder}/missing.yaml }
`;
    const place = installation(
      (folder) =>
        `${sandboxConfig(folder)}intake:\n  folders: [{ name: folder, sku_map: ${folder}/folder.csv }]${webhook(folder)}`,
    );
    const shop = join(place.folder, 'shop.yaml');
    const missing = join(place.folder, 'missing.yaml');
    const folder = join(place.folder, 'folder.csv');
    const http = join(place.folder, 'http.csv');
    writeFileSync(http, 'sku,type\nA,esim_order\n');
    writeFileSync(shop, 'skus:\n  A: { type: card, variant: v }\n  B: { type: esim_order }\n');
    writeFileSync(folder, 'sku,type,plan,days\nA,esim_order,p,7\nB,esim_order,p,seven\n');
    const json = await place.run('check-config', '--json');
    expect([json.code, json.stdout]).toEqual([3, '']);
    const rule = expect.stringMatching(/^Invalid (input|discriminator)/);
    expect(JSON.parse(json.stderr).error.issues).toEqual([
      { place: `${shop}:2`, path: 'skus.A.type', problem: rule },
      { place: `${shop}:3`, path: 'skus.B.plan', problem: rule },
      { place: missing, path: '', problem: expect.stringContaining('cannot be read: ENOENT') },
      { place: `${folder}:3`, path: 'skus.B.days', problem: rule },
      { place: `${http}:2`, path: 'skus.A.plan', problem: rule },
    ]);
    expect((await place.run('check-config')).stderr).toContain(
      `\n  ${shop}:2 skus.A.type Invalid discriminator`,
    );
    expect((await place.run('doctor')).stdout).toContain(
      `fail  config: A SKU map of ${place.configFile} has 5 mistakes`,
    );
    // The start of the worker names the mistakes of a map in the same way.
    expect((await place.run('init')).code).toBe(3);
    writeFileSync(shop, 'skus: { S: { type: gift_card_order, variant: v } }\n');
    writeFileSync(missing, 'skus: { S: { type: gift_card_order, variant: v } }\n');
    writeFileSync(http, 'sku,type,variant\nA,gift_card_order,v\n');
    const broken = readFileSync(folder);
    writeFileSync(folder, 'sku,type,plan,days\nA,esim_order,p,7\n');
    await place.run('init');
    writeFileSync(folder, broken);
    expect(await place.run('run')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        `The SKU map ${folder} cannot be used: The SKU map has mistakes: line 3, skus.B.days`,
      ),
    });
    writeFileSync(folder, 'sku,type,plan,days\nA,esim_order,p,7\n');
    expect((await place.run('check-config')).code).toBe(0);
  });

  it('refuses another instance, prefix or reference secret than the database has, as a start does', async () => {
    const place = knownInstallation();
    const change = (from: string, to: string): void =>
      writeFileSync(place.configFile, sandboxConfig(place.folder).replace(from, to));
    await place.run('init');
    for (const [from, to] of [
      ['instance: acme', 'instance: other'],
      ['wholesale:', 'reference: { prefix: ab }\nwholesale:'],
    ] as const) {
      change(from, to);
      const { code, stdout, stderr } = await place.run('check-config');
      expect([code, stdout]).toEqual([5, '']);
      expect(stderr).toContain(
        'instance or prefix is not the one that this database was made with',
      );
      expect(await place.run('run')).toMatchObject({ code: 5 });
    }
    change('', '');
    expect((await place.run('check-config')).code).toBe(0);
    writeFileSync(join(place.dataDir, 'reference.secret'), '08'.repeat(32));
    expect((await place.run('check-config')).code).toBe(5);
  });

  it('compares it with what init has made: the folders of the shop', async () => {
    const production = (folder: string) => `instance: acme
data_dir: ${folder}/data
intake: { folders: [{ name: folder, inbox: ${folder}/inbox }] }
wholesale: { base_url: https://api.example.com, keys: [{ name: main, value: file:${folder}/key }] }
admin: { listen: 127.0.0.1:0 }
`;
    const place = installation(production);
    writeFileSync(join(place.folder, 'key'), 'sk-main', { mode: 0o600 });
    expect((await place.run('check-config')).code).toBe(0);
    expect((await place.run('init')).code).toBe(0);
    expect((await place.run('check-config')).code).toBe(0);
    // Somebody mistypes the inbox, and moves the API.
    const text = production(place.folder)
      .replace('/inbox', '/inbx')
      .replace('api.example.com', 'new.example.com');
    writeFileSync(place.configFile, text);
    rmSync(join(place.dataDir, 'results'), { recursive: true });
    const { code, stderr } = await place.run('check-config', '--json');
    expect(code).toBe(3);
    // Without orders, the database may belong to another API from now on.
    expect(JSON.parse(stderr).error.issues).toEqual([
      {
        place: `${place.configFile}:3:44`,
        path: 'intake.folders.0.inbox',
        problem: expect.stringContaining(
          `names a folder that does not exist: ${place.folder}/inbx.`,
        ),
      },
      {
        place: place.configFile,
        path: 'results.folder',
        problem: expect.stringContaining(`${place.dataDir}/results`),
      },
    ]);
    writeFileSync(place.configFile, text.replace('new.example.com', 'api.example.com'));
    const started = await place.run('run');
    expect(started).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`There is no folder ${place.folder}/inbx (`),
    });
    expect(existsSync(join(place.folder, 'inbx'))).toBe(false);
    expect((await place.run('doctor')).stdout).toContain(
      `fail  folders: There is no folder ${place.folder}/inbx`,
    );
    expect((await place.run('init')).code).toBe(0);
    expect((await place.run('check-config')).code).toBe(0);
  });

  it('prints each value and its source, with secrets masked', async () => {
    const { run, configFile } = installation();
    const { code, stdout } = await run('check-config', '--explain', '--set', 'log.level=debug');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^KEY +VALUE +SOURCE\n/);
    expect(stdout).toMatch(/^log\.level +debug +--set$/m);
    expect(stdout).toMatch(/^wholesale\.keys\.0\.value +\*\*\* +\S+:6:31$/m);
    expect(stdout).toMatch(/^submit\.concurrency +8 +default$/m);
    expect(stdout).not.toContain('sandbox-key-main');
    expect(stdout.endsWith(`${configFile} is valid\n`)).toBe(true);
  });
});

const why = ['--reason', 'the shop lost them'];

describe('order-sync results rewrite', () => {
  it('makes results due again, of one order or of all', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const one = await outbox.run(
      'results',
      'rewrite',
      '--source',
      'shop1',
      '--order',
      '1001',
      ...why,
    );
    expect(one).toMatchObject({ code: 0, stdout: 'the worker will write 1 result again\n' });
    const all = await outbox.run('results', 'rewrite', '--all', '--yes', '--json', ...why);
    expect(JSON.parse(all.stdout)).toEqual({ results_due: 2 });
  });

  it('shows with --dry-run how many there are, and does nothing', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const preview = await outbox.run(
      'results',
      'rewrite',
      '--source',
      'shop1',
      '--until',
      '2100-01-01',
      '--dry-run',
    );
    expect(preview).toMatchObject({
      code: 0,
      stdout: '2 results would be written again; do it with --yes\n',
    });
    const later = await outbox.run(
      'results',
      'rewrite',
      '--since',
      '2100-01-01',
      '--dry-run',
      '--json',
    );
    expect(JSON.parse(later.stdout)).toEqual({ would_rewrite: 0 });
  });

  it('ends with 2 without a reason, for a time or a sink that cannot be, or without a choice', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const unexplained = await outbox.run('results', 'rewrite', '--all', '--yes');
    expect([unexplained.code, unexplained.stderr]).toEqual([
      2,
      expect.stringContaining('--reason'),
    ]);
    expect((await outbox.run('results', 'rewrite', '--since', 'monday', ...why)).code).toBe(2);
    const unknown = await outbox.run('results', 'rewrite', '--sink', 'callback', '--yes', ...why);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('the configured sinks: folder'),
    ]);
  });

  it('ends with 2 when no order or more than one choice is named, and with 4 when no order has a result', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    expect((await outbox.run('results', 'rewrite')).code).toBe(2);
    expect((await outbox.run('results', 'rewrite', '--all', '--order', '1001')).code).toBe(2);
    expect((await outbox.run('results', 'rewrite', '--order', '9999', ...why)).code).toBe(4);
  });

  it('ends with 6 while a worker holds the outbox and takes no commands', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const worker = openOutbox(outbox);
    const { code, stderr } = await outbox.run('results', 'rewrite', '--all', '--yes', ...why);
    await worker.close();
    expect(code).toBe(6);
    expect(stderr).toContain('A worker holds the outbox, but does not take commands');
  });
});

describe('order-sync db check', () => {
  it('finds a database sound while its worker runs', async () => {
    const outbox = knownInstallation();
    const worker = openOutbox(outbox);
    const { code, stdout } = await outbox.run('db', 'check', '--json');
    await worker.close();
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ sound: true, problems: [], upstream: 'sandbox' });
  });

  it('finds what is damaged, and ends with 8', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const database = new SqliteDatabase(join(outbox.dataDir, 'order-sync.db'));
    database.pragma('foreign_keys = OFF');
    database.exec('DELETE FROM requests WHERE id = 1');
    database.close();
    const { code, stdout } = await outbox.run('db', 'check');
    expect(code).toBe(8);
    expect(stdout).toContain('refers to a missing row of requests');
  });

  it('does not touch a database of a newer version, and ends with 7', async () => {
    const outbox = knownInstallation();
    await openOutbox(outbox).close();
    const database = new SqliteDatabase(join(outbox.dataDir, 'order-sync.db'));
    const later = migrations().length + 1;
    database.exec(`INSERT INTO meta VALUES ('schema:000${later}_later.sql', '')`);
    database.pragma(`user_version = ${later}`);
    database.close();
    for (const command of [
      ['db', 'check'],
      ['orders', 'list'],
      ['init'],
      ['health'],
      ['check-config', '--reload'],
    ]) {
      expect((await outbox.run(...command)).code).toBe(7);
    }
  });

  it('does not read a database of an older version before a worker has migrated it', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const database = new SqliteDatabase(join(outbox.dataDir, 'order-sync.db'));
    // As a version with other views left it.
    database.exec(
      "UPDATE meta SET value = replace(value, 'a', 'b') WHERE name LIKE 'schema:views/%'",
    );
    database.exec('DROP VIEW outbox_attention');
    database.close();
    const asked = await outbox.run('orders', 'list', '--json');
    expect(asked.code).toBe(5);
    expect(JSON.parse(asked.stderr)).toMatchObject({ error: { code: 'DATABASE_OLDER' } });
    expect((await outbox.run('db', 'check')).code).toBe(0);
    await openOutbox(outbox).close();
    expect((await outbox.run('orders', 'list', '--attention')).stdout).toContain('1001');
  });

  it('ends with 4 where there is no database', async () => {
    const nothing = installation();
    mkdirSync(nothing.dataDir);
    expect((await nothing.run('db', 'check')).code).toBe(4);
  });
});
