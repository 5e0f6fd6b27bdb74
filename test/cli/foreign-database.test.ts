import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { processContext } from '../../src/cli/context.ts';
import { buildProgram } from '../../src/cli/commands/program.ts';
import { sealKey } from '../support/seal-keys.ts';
import { loadDump } from '../store/tagged-databases/dump.ts';
import { knownInstallation, type Installation } from './installation.ts';
import { fillOutbox, openOutbox } from './sample-outbox.ts';

const dumps = resolve(import.meta.dirname, '../store/tagged-databases/foreign');

/** Changes what an own database records about itself. */
const changed = (sql: string) => async (place: Installation, path: string) => {
  await openOutbox(place).close();
  const database = new SqliteDatabase(path);
  database.exec(sql);
  database.close();
};

/** How databases come into being that are not of this program, or not of its migrations. */
const foreign: Readonly<Record<string, (place: Installation, path: string) => unknown>> = {
  ...Object.fromEntries(
    readdirSync(dumps).map((name) => [
      name,
      (_place: Installation, path: string) =>
        loadDump(readFileSync(join(dumps, name), 'utf8'), path),
    ]),
  ),
  'of the sandbox': (_place, path) => {
    const database = new SqliteDatabase(path);
    // "sand" in ASCII.
    database.exec(
      'CREATE TABLE accounts (id); PRAGMA application_id = 1935764068; PRAGMA user_version = 2',
    );
    database.close();
  },
  'of another program, without any number': (_place, path) => {
    const database = new SqliteDatabase(path);
    database.exec('CREATE TABLE notes (text)');
    database.close();
  },
  'without a record of migrations': changed("DELETE FROM meta WHERE name LIKE 'schema:%'"),
  'with a migration of another text': changed(
    "UPDATE meta SET value = replace(value, '1', '2') WHERE name LIKE 'schema:0001%'",
  ),
  'with an unknown migration in the place of a known one': changed(
    "UPDATE meta SET name = 'schema:0001_other.sql' WHERE name LIKE 'schema:0001%'",
  ),
  'with more migrations than it records': changed('PRAGMA user_version = 2'),
};

/** Commands that neither read nor write the outbox. */
const withoutOutbox = ['wire', 'sandbox', 'topups', 'alerts test'];

const why = ['--reason', 'test'];
/** What a command needs besides its name. */
const needed: Readonly<Record<string, readonly string[]>> = {
  'orders show': ['1001'],
  'orders ack': ['line:1', ...why],
  'orders resolve': ['os-reference', '--as', 'rejected', ...why],
  'orders reorder': ['os-reference', '--confirm', 'os-reference', ...why],
  ...Object.fromEntries(
    ['retry', 'hold', 'release', 'cancel'].map((action) => [
      `orders ${action}`,
      ['os-reference', ...why],
    ]),
  ),
  'balance set': ['USD', '1200.00'],
  'queue pause': ['account', ...why],
  'queue resume': ['account', ...why],
  'results rewrite': ['--all', '--yes', ...why],
  'wire test': ['--last', 'submit'],
};

async function commandsOf(): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = (command: Command, path: readonly string[]) => {
    if (command.commands.length === 0) found.push(path.join(' '));
    for (const each of command.commands) walk(each, [...path, each.name()]);
  };
  walk(await buildProgram(processContext(() => undefined)), []);
  return found.filter((name) => !withoutOutbox.includes(name));
}

/** The files of the database as they are; the lock beside it is none of them. */
const filesOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => /^order-sync\.db(-wal)?$/.test(name))
      .map((name) => [name, readFileSync(join(folder, name), 'base64')])
      // A connection that only reads may leave an empty one.
      .filter(([, content]) => content !== ''),
  );

async function installationWith(name: string): Promise<Installation & { readonly path: string }> {
  const place = knownInstallation();
  const path = join(place.dataDir, 'order-sync.db');
  await foreign[name]?.(place, path);
  for (const folder of ['inbox', 'work', 'archive', 'rejected', 'results']) {
    mkdirSync(join(place.dataDir, folder), { recursive: true });
  }
  writeFileSync(
    join(place.folder, 'skus.csv'),
    'sku,type,variant\nCARD,gift_card_order,steam-10\n',
  );
  appendFileSync(place.configFile, `seal: { keys: [{ id: k1, value: ${sealKey('k1').value} }] }\n`);
  const line = {
    line_id: '1',
    type: 'gift_card_order',
    variant: 'steam-10',
    quantity: 1,
    currency: 'USD',
  };
  writeFileSync(
    join(place.folder, 'orders.json'),
    JSON.stringify({ order_id: '1', lines: [line] }),
  );
  return { ...place, path };
}

describe('a database of something else', () => {
  it.each(Object.keys(foreign))(
    'is refused by every command, and stays as it is: %s',
    async (name) => {
      const place = await installationWith(name);
      const before = filesOf(place.dataDir);
      const own: Readonly<Record<string, readonly string[]>> = {
        ...needed,
        submit: [join(place.folder, 'orders.json')],
        'skus check': [
          '--set',
          'intake.folders.0.name=folder',
          '--set',
          `intake.folders.0.sku_map=${join(place.folder, 'skus.csv')}`,
        ],
        'db restore': [join(place.folder, 'orders.json')],
      };
      // The others differ only in how they are recognised.
      const commands = name.endsWith('.sql')
        ? await commandsOf()
        : ['run', 'doctor', 'db check', 'orders list', 'health'];
      for (const command of commands) {
        const { code, stdout, stderr } = await place.run(
          ...command.split(' '),
          ...(own[command] ?? []),
        );
        const said = `${stdout}${stderr}`;
        expect([command, code]).toEqual([command, command === 'doctor' ? 8 : 5]);
        expect(said).toContain(`${place.path} is not a database of this version of order-sync: `);
        expect(said).toMatch(/nothing was changed/i);
        expect(filesOf(place.dataDir)).toEqual(before);
      }
    },
  );

  it.each(Object.keys(foreign))('is no backup to restore: %s', async (name) => {
    const { path } = await installationWith(name);
    const place = knownInstallation();
    await fillOutbox(place);
    const before = filesOf(place.dataDir);
    const { code, stderr } = await place.run('db', 'restore', path);
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining(`${path} is not a database of this version`),
    ]);
    expect(filesOf(place.dataDir)).toEqual(before);
  });

  it('is refused too while what it wrote last is in its write-ahead log only', async () => {
    const place = knownInstallation();
    const made = join(place.folder, 'made.db');
    const database = new SqliteDatabase(made);
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE entries (id); PRAGMA user_version = 17');
    for (const side of ['', '-wal']) {
      writeFileSync(join(place.dataDir, `order-sync.db${side}`), readFileSync(`${made}${side}`));
    }
    database.close();
    const before = filesOf(place.dataDir);
    expect(Object.keys(before)).toHaveLength(2);
    for (const command of [['init'], ['db', 'check'], ['orders', 'list'], ['health']]) {
      expect(await place.run(...command)).toMatchObject({
        code: 5,
        stderr: expect.stringContaining('user_version is 17'),
      });
      expect(filesOf(place.dataDir)).toEqual(before);
    }
  });
});
