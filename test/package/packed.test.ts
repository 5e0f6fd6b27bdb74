import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../support/worker-process.ts';

/*
 * Packs the project, installs the file into an empty folder as anybody would, and runs what is in
 * it. It takes a minute and needs the npm registry, so it runs where PACKAGE is set: .ci/run does
 * that.
 */

const asked = process.env['PACKAGE'] !== undefined;
const tools = join(projectRoot, 'node_modules/.bin');
let place: string;
let packed: string;

/**
 * Runs a program of this machine, with the Node of this test before any other, and without what a
 * clone has set.
 */
function run(command: string, args: readonly string[], cwd = place) {
  const { NODE_COMPILE_CACHE: _ours, ...rest } = process.env;
  const own = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !/^(npm_|ORDER_SYNC|VITEST)/i.test(name)),
  );
  const path = [join(place, 'node'), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);
  const ran = spawnSync(command, args, {
    cwd,
    env: { ...own, PATH: path },
    encoding: 'utf8',
    timeout: 300_000,
  });
  return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
}

function succeeds(command: string, args: readonly string[], cwd?: string): string {
  const { code, stdout, stderr } = run(command, args, cwd);
  expect({
    command: [command, ...args].join(' '),
    code,
    errors: code === 0 ? '' : stdout + stderr,
  }).toMatchObject({
    code: 0,
    errors: '',
  });
  return stdout;
}

beforeAll(() => {
  if (!asked) return;
  place = mkdtempSync(join(tmpdir(), 'order-sync-package-'));
  for (const folder of ['node', 'app']) mkdirSync(join(place, folder));
  symlinkSync(process.execPath, join(place, 'node/node'));
  succeeds('npm', ['run', 'package', '--', place], projectRoot);
  packed = join(place, readdirSync(place).find((name) => name.endsWith('.tgz')) ?? '');
  writeFileSync(join(place, 'app/package.json'), '{}');
  succeeds(
    'npm',
    ['install', '--no-audit', '--no-fund', '--prefer-offline', packed],
    join(place, 'app'),
  );
}, 600_000);

afterAll(() => {
  if (asked) rmSync(place, { recursive: true, force: true });
});

describe.skipIf(!asked)(
  'the packed file, installed into an empty folder (PACKAGE=1 runs it)',
  { timeout: 600_000 },
  () => {
    const app = () => join(place, 'app');
    const own = (...parts: string[]) => join(app(), 'node_modules/order-sync', ...parts);

    it('has the program as JavaScript, and neither sources nor secrets', () => {
      const names = readdirSync(own(), { recursive: true, encoding: 'utf8' });
      expect(names).toEqual(
        expect.arrayContaining([
          'dist/main.js',
          'dist/store/sqlite/migrations/0001_outbox.sql',
          'LICENSE',
        ]),
      );
      expect(
        names.filter((name) =>
          /(?<!\.d)\.ts$|\.(?:png|jpg)$|\.secret$|^config\/order-sync\.yaml$|^(src|test)\//.test(
            name,
          ),
        ),
      ).toEqual([]);
    });

    it('brings only what the bundle does not have: at most 10 packages, and 6 MB beside SQLite', () => {
      const { packages } = JSON.parse(
        readFileSync(join(app(), 'node_modules/.package-lock.json'), 'utf8'),
      );
      const { dependencies } = JSON.parse(readFileSync(own('package.json'), 'utf8'));
      expect(Object.keys(dependencies)).toEqual(['better-sqlite3']);
      expect(Object.keys(packages).length).toBeLessThanOrEqual(10);
      expect(
        Number(succeeds('du', ['-sm', 'node_modules/order-sync'], app()).split('\t')[0]),
      ).toBeLessThanOrEqual(6);
      // The manifest of the sources would bring all of theirs.
      expect(run('npm', ['pack', '--dry-run'], projectRoot)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('npm run package'),
      });
    });

    it('runs the demo, with results', () => {
      const { code, stderr } = run('npx', ['order-sync', 'demo', '--once'], app());
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringContaining('Every order is done:'),
      });
      expect(readdirSync(join(app(), 'data/demo/results/demo-shop'))).toContain('1001.json');
      // Everything that it wrote.
      expect(readdirSync(app()).toSorted()).toEqual([
        'data',
        'node_modules',
        'package-lock.json',
        'package.json',
      ]);
      expect(readdirSync(join(app(), 'data'))).toEqual(['demo']);
    });

    it('knows the configuration of the demo under the name that the documentation uses', () => {
      const shown = succeeds(
        'npx',
        ['order-sync', 'orders', 'show', '1001', '--json', '--config', 'config/sandbox.yaml'],
        app(),
      );
      expect(JSON.parse(shown)).toMatchObject({ order_id: '1001' });
      const unknown = run(
        'npx',
        ['order-sync', 'orders', 'list', '--config', 'config/order-sync.yaml'],
        app(),
      );
      expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining('does not exist') });
    });

    it('makes an installation for production from the example', () => {
      succeeds('npx', ['order-sync', 'init', '--example'], app());
      const example = readFileSync(join(app(), 'config/order-sync.yaml'), 'utf8');
      // An editor finds the schema that the documentation names, too.
      const schema = 'node_modules/order-sync/config/schema/order-sync.schema.json';
      expect(example.split('\n')[0]).toBe(`# yaml-language-server: $schema=../${schema}`);
      expect(existsSync(join(app(), schema))).toBe(true);
      writeFileSync(join(app(), 'wholesale.key'), 'sk-test', { mode: 0o600 });
      writeFileSync(
        join(app(), 'config/order-sync.yaml'),
        example
          .replace('/run/secrets/wholesale_key', 'wholesale.key')
          .replace('https://wholesale.example.com', 'https://127.0.0.1:9'),
      );
      // Beside the demo, whose database belongs to the sandbox.
      expect(succeeds('npx', ['order-sync', 'init'], app())).toContain('data/order-sync.db');
      expect(existsSync(join(app(), 'data/demo/order-sync.db'))).toBe(true);
    });

    it('can be imported, with types that need no option of the compiler', () => {
      const text = `
      import { createSandbox, type Sandbox } from 'order-sync/sandbox';
      import { createWholesaleClient } from 'order-sync/wholesale';
      const sandbox: Sandbox = await createSandbox({ database: ':memory:' });
      const client = createWholesaleClient({ baseUrl: sandbox.url, clock: { wallMs: () => Date.now() } });
      await sandbox.operate((operator) => operator.advanceClock(60_000));
      const order = {
        operation: 'gift_card_order', reference: 'r-1', variant: 'steam-usd-20', plan: null, iccid: null, quantity: 1,
        days: null, currency: 'USD',
      } as const;
      const outcome = await client.submit({
        ...client.render(order), operation: order.operation, keyValue: 'sandbox-key-main', expect: order,
      });
      console.log(outcome.row, sandbox.ledger().orders.length);
      await client.close();
      await sandbox.close();
      // @ts-expect-error a database is required
      const wrong: Parameters<typeof createSandbox>[0] = {};
    `;
      writeFileSync(join(app(), 'program.mts'), text);
      const options = {
        strict: true,
        noEmit: true,
        module: 'nodenext',
        target: 'es2024',
        lib: ['es2024', 'esnext.disposable'],
      };
      const types = { types: ['node'], typeRoots: [join(projectRoot, 'node_modules/@types')] };
      writeFileSync(
        join(app(), 'tsconfig.json'),
        JSON.stringify({ compilerOptions: { ...options, ...types } }),
      );
      succeeds(join(tools, 'tsc'), [], app());
      expect(succeeds('node', ['program.mts'], app())).toBe('accepted 1\n');
    });

    it('has nothing that publint or attw find', () => {
      expect(succeeds(join(tools, 'publint'), ['run', packed, '--strict'])).toContain('All good!');
      succeeds(join(tools, 'attw'), [packed, '--profile', 'esm-only']);
    });
  },
);
