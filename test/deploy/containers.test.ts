import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { projectRoot } from '../support/worker-process.ts';

/*
 * Builds the image and runs both compose files with the commands of docs/deploy.md, from a checkout
 * that only its owner may read. The production worker buys from the sandbox of the trial. It runs
 * where Docker and Compose answer; only the ports are others, so that it runs beside everything
 * else on this machine.
 */

const answers = [['version'], ['compose', 'version']].every(
  (args) => spawnSync('docker', args, { timeout: 30_000 }).status === 0,
);

const secrets = {
  wholesale_key: 'sandbox-key-main',
  shop_token: 's'.repeat(32),
  pages_token: 'p'.repeat(32),
};
const trial = { project: `order-sync-trial-${process.pid}`, file: 'compose' };
const production = { project: `order-sync-production-${process.pid}`, file: 'compose.production' };
const image = `${production.project}-order-sync`;
type Example = typeof trial;

let place: string;

/** Runs docker in the checkout. */
function docker(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('docker', args, {
    cwd: place,
    encoding: 'utf8',
    timeout: 540_000,
  });
  return { code: status, stdout, stderr };
}

const argsOf = ({ project, file }: Example): readonly string[] => [
  'compose',
  '-p',
  project,
  '-f',
  `deploy/${file}.yaml`,
  '-f',
  `${file}.ports.yaml`,
];
const compose = (example: Example, ...args: readonly string[]) =>
  docker(...argsOf(example), ...args);

function succeeds({ code, stdout, stderr }: ReturnType<typeof docker>): string {
  expect({ code, stderr: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Reads the worker's log from its first start on, until a line is the one that is waited for. */
async function logged(example: Example, isTheOne: (line: string) => boolean): Promise<string> {
  const args = [...argsOf(example), 'logs', '--follow', '--no-log-prefix', 'order-sync'];
  const logs = spawn('docker', args, { cwd: place, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    for await (const line of createInterface({ input: logs.stdout }))
      if (isTheOne(line)) return line;
  } finally {
    logs.kill();
  }
  throw new Error('the log ended before');
}

const has =
  (...texts: readonly string[]) =>
  (line: string): boolean =>
    texts.every((text) => line.includes(text));
const isCompleted = (order: string) =>
  has(`"order_id":"${order}"`, '"completed"', 'result delivered');

/** A container of another user with the volume of orders, as a shop has it. */
const asShop = (script: string, user = '33:33') => {
  const orders = `${production.project}_orders:/orders`;
  return docker(
    'run',
    '--rm',
    '--user',
    user,
    '--volume',
    orders,
    '--entrypoint',
    'sh',
    image,
    '-c',
    script,
  );
};

/** Replaces the configuration as an editor does: the file is another one after it. */
function configure(change: (text: string) => string): void {
  const path = join(place, 'deploy/production/order-sync.yaml');
  writeFileSync(`${path}~`, change(readFileSync(path, 'utf8')));
  chmodSync(`${path}~`, 0o644);
  renameSync(`${path}~`, path);
}

/** Where a port of the production worker is on this machine. */
const addressOf = (port: number): string =>
  `http://${succeeds(compose(production, 'port', 'order-sync', String(port))).trim()}`;

const containerOf = (example: Example): string =>
  succeeds(compose(example, 'ps', '--all', '-q', 'order-sync')).trim();
const stateOf = (example: Example, field: string): string =>
  succeeds(docker('inspect', '--format', `{{.State.${field}}}`, containerOf(example))).trim();

function copyCheckout(): void {
  const sent = readFileSync(join(projectRoot, '.dockerignore'), 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  for (const name of [...sent, '.dockerignore', 'Dockerfile'])
    cpSync(join(projectRoot, name), join(place, name), { recursive: true });
  for (const entry of readdirSync(place, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
  for (const name of ['compose.yaml', 'compose.production.yaml', 'trial', 'production'])
    cpSync(join(projectRoot, 'deploy', name), join(place, 'deploy', name), { recursive: true });
  mkdirSync(join(place, 'deploy/secrets'));
  for (const [name, text] of Object.entries({ ...secrets, reference_secret: '0'.repeat(64) }))
    writeFileSync(join(place, 'deploy/secrets', name), text);
  // What is mounted and not copied must be readable for the user of the image.
  for (const folder of ['trial', 'production', 'secrets'].map((name) =>
    join(place, 'deploy', name),
  )) {
    chmodSync(folder, 0o755);
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
  }
}

beforeAll(() => {
  if (!answers) return;
  place = mkdtempSync(join(tmpdir(), 'order-sync-containers-'));
  copyCheckout();
  writeFileSync(
    join(place, 'compose.ports.yaml'),
    'services: { order-sync: { ports: !override ["127.0.0.1::9090"] }, sandbox: { ports: !reset [] } }\n',
  );
  const network = { external: true, name: `${trial.project}_default` };
  const ports = { ports: ['127.0.0.1::9090', '127.0.0.1::8080'], networks: ['trial'] };
  const others = stringify({ services: { 'order-sync': ports }, networks: { trial: network } });
  writeFileSync(
    join(place, 'compose.production.ports.yaml'),
    others.replace('ports:', 'ports: !override'),
  );
});

afterAll(() => {
  if (!answers) return;
  for (const example of [production, trial])
    compose(example, 'down', '--volumes', '--rmi', 'local', '--timeout', '1');
  rmSync(place, { recursive: true, force: true });
}, 120_000);

const skipped = answers ? '' : ' (skipped: no Docker with Compose answers here)';

describe.skipIf(!answers)(
  `the image and the compose files, run${skipped}`,
  { timeout: 600_000 },
  () => {
    it('build from a checkout that only its owner may read, and add at most 9 MB to the base image', () => {
      succeeds(compose(trial, 'build'));
      succeeds(compose(production, 'build'));
      const layers = succeeds(
        docker('history', '--human=false', '--format', '{{.Size}} {{.CreatedBy}}', image),
      );
      const rows = layers.trim().split('\n');
      const own = rows.slice(
        0,
        rows.findIndex((row) => row.includes('WORKDIR /app')),
      );
      const bytes = own.map((row) => Number(row.split(' ')[0]));
      expect(own.length).toBeGreaterThan(5);
      expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(9e6);
    });

    it('start a trial that buys', async () => {
      succeeds(compose(trial, 'up', '--detach', '--wait'));
      const sample = ['submit', 'data/samples/1-gift-cards.json'];
      succeeds(
        compose(trial, 'exec', '--no-TTY', 'order-sync', 'node', 'bin/order-sync.js', ...sample),
      );
      await logged(trial, isCompleted('1001'));
      const path = '/orders/results/demo-shop/1001.json';
      const result = JSON.parse(
        succeeds(compose(trial, 'exec', '--no-TTY', 'order-sync', 'cat', path)),
      );
      expect(result.lines.map(({ state }: { state: string }) => state)).toEqual([
        'fulfilled',
        'fulfilled',
      ]);
      const change = compose(
        trial,
        'exec',
        '--no-TTY',
        'order-sync',
        'sh',
        '-c',
        'id -u; test -w /app/bin',
      );
      expect(change).toMatchObject({ code: 1, stdout: '1000\n' });
    });

    it('refuse the address of the example before they make a database, and start with one of an API', () => {
      const once = ['run', '--rm', 'order-sync'] as const;
      for (const command of ['check-config', 'init']) {
        const refused = compose(production, ...once, command);
        expect(refused).toMatchObject({
          code: 3,
          stderr: expect.stringContaining('wholesale.base_url'),
        });
      }
      const open = (text: string): string => text.replaceAll(/^(\s*)#(?=[a-z-])/gm, '$1');
      configure((text) =>
        open(text).replace(
          'https://wholesale.example.com',
          'http://sandbox:8090\n  environment: sandbox',
        ),
      );
      const file = join(place, 'deploy/compose.production.yaml');
      writeFileSync(file, open(readFileSync(file, 'utf8')));
      expect(succeeds(compose(production, ...once, 'check-config'))).toContain('is valid');
      expect(succeeds(compose(production, ...once, 'init'))).toContain('made  /data/order-sync.db');
      succeeds(compose(production, 'up', '--detach', '--wait'));
    });

    it('let a shop of uid 33 put in orders and read results, and nothing else', async () => {
      const sample = '/app/data/samples/1-gift-cards.json';
      succeeds(
        asShop(`cp ${sample} /orders/inbox/.one && mv /orders/inbox/.one /orders/inbox/one.json`),
      );
      await logged(production, isCompleted('1001'));
      expect(JSON.parse(succeeds(asShop('cat /orders/results/demo-shop/1001.json')))).toMatchObject(
        {
          state: 'completed',
        },
      );
      for (const denied of ['touch /orders/results/demo-shop/1002.json', 'ls /orders/work'])
        expect(asShop(denied).stderr).toContain('Permission denied');
      expect(asShop('touch /orders/inbox/two.json', '34:34').stderr).toContain('Permission denied');
    });

    it('open the pages, the metrics and the intake over HTTP, with tokens', async () => {
      const [pages, intake] = [addressOf(9090), addressOf(8080)];
      expect(await (await fetch(`${pages}/metrics`)).text()).toContain(
        'order_sync_lines_accepted_total',
      );
      expect((await fetch(pages)).status).toBe(401);
      const signIn = (token: string) =>
        fetch(`${pages}/sign-in`, {
          method: 'POST',
          redirect: 'manual',
          headers: { origin: pages },
          body: new URLSearchParams({ token }),
        });
      expect((await signIn('another')).status).toBe(401);
      expect((await signIn(secrets.pages_token)).status).toBe(303);
      const line = { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 };
      const body = JSON.stringify({
        source: 'shop',
        order_id: 'http',
        currency: 'USD',
        lines: [line],
      });
      const post = (token: string) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        return fetch(`${intake}/v1/orders`, { method: 'POST', headers, body });
      };
      expect((await post('another')).status).toBe(401);
      expect((await post(secrets.shop_token)).status).toBe(202);
      await logged(production, isCompleted('http'));
    });

    it('stop at once, and end with 0', () => {
      succeeds(compose(production, 'stop'));
      // 137 would be a kill after the grace period.
      expect(stateOf(production, 'ExitCode')).toBe('0');
      succeeds(compose(production, 'up', '--detach', '--wait'));
    });

    it('start a killed worker again, which delivers what was open', async () => {
      const line = { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 };
      // The API takes 20 orders in a minute: some are open at the kill.
      const open = new Set(Array.from({ length: 24 }, (_, index) => `killed-${index}`));
      const orders = [...open].map((id) => ({
        source: 'shop',
        order_id: id,
        currency: 'USD',
        lines: [line],
      }));
      const text = orders.map((order) => JSON.stringify(order)).join('\n');
      succeeds(
        asShop(
          `echo '${text}' > /orders/inbox/.many && mv /orders/inbox/.many /orders/inbox/many.ndjson`,
        ),
      );
      await logged(production, has('"order_id":"killed-', 'result delivered'));
      const kill = `kill -9 ${stateOf(production, 'Pid')}`;
      succeeds(
        docker(
          'run',
          '--rm',
          '--pid',
          'host',
          '--user',
          '0',
          '--entrypoint',
          'sh',
          image,
          '-c',
          kill,
        ),
      );
      let starts = 0;
      // The third start: it was stopped once.
      const start = await logged(
        production,
        (entry) => has('worker started')(entry) && ++starts === 3,
      );
      expect(Number(/"open":(\d+)/.exec(start)?.[1])).toBeGreaterThan(0);
      await logged(production, (entry) => {
        for (const id of open) if (isCompleted(id)(entry)) open.delete(id);
        return open.size === 0;
      });
    });

    it('name a mistake in the configuration, and start when it is corrected', async () => {
      configure((text) => text.replace('instance:', 'instanse:'));
      const check = compose(production, 'run', '--rm', 'order-sync', 'check-config');
      expect(check).toMatchObject({ code: 3, stderr: expect.stringContaining('instanse') });
      succeeds(compose(production, 'restart'));
      await logged(production, has('instanse'));
      configure((text) => text.replace('instanse:', 'instance:'));
      succeeds(compose(production, 'up', '--detach', '--wait'));
      expect(stateOf(production, 'Health.Status')).toBe('healthy');
    });

    it('stop also when they are asked to at once after their start', () => {
      for (let times = 0; times < 4; times += 1) {
        succeeds(compose(production, 'stop', '--timeout', '0'));
        const container = containerOf(production);
        succeeds(docker('start', container));
        succeeds(docker('kill', '--signal', 'TERM', container));
        // Ends when the container does; without an init, half of the signals were lost.
        expect(succeeds(docker('wait', container)).trim()).toMatch(/^(?:0|143)$/);
      }
    });

    it('restore a backup that outlived the volume of the database', () => {
      const once = ['run', '--rm', 'order-sync'] as const;
      succeeds(compose(production, 'up', '--detach', '--wait'));
      const cli = ['exec', '--no-TTY', 'order-sync', 'node', 'bin/order-sync.js'];
      succeeds(compose(production, ...cli, 'db', 'backup'));
      succeeds(compose(production, 'rm', '--stop', '--force'));
      succeeds(docker('volume', 'rm', `${production.project}_data`));
      const list = ['run', '--rm', '--entrypoint', 'ls', 'order-sync', '/backups'];
      const backup = succeeds(compose(production, ...list)).trim();
      succeeds(compose(production, ...once, 'db', 'restore', `/backups/${backup}`));
      succeeds(compose(production, 'up', '--detach', '--wait'));
      const orders = succeeds(compose(production, ...cli, 'orders', 'list'));
      expect(orders).toContain('1001');
    });
  },
);
