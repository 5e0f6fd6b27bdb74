import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../support/worker-process.ts';

/*
 * Builds the image and runs deploy/compose.yaml with a real engine. It takes a minute, the npm registry and the ports 8090 and
 * 9090. DOCKER names another command than `docker`; it runs in the folder of the project.
 */

const [command = 'docker', ...before] = (process.env['DOCKER'] ?? 'docker').split(' ');
const run = (...args: readonly string[]) =>
  spawnSync(command, [...before, ...args], { cwd: projectRoot, encoding: 'utf8', timeout: 300_000 });
const isAsked = process.env['PACKAGE'] !== undefined;
const answers = isAsked && run('info').status === 0 && run('compose', 'version').status === 0;
const reason = answers ? '' : isAsked ? ': skipped, no `docker compose` answers' : ': skipped without PACKAGE=1';

const project = 'order-sync-engine-test';
const worker = `${project}-order-sync-1`;
const compose = (...args: readonly string[]) => run('compose', '-p', project, '-f', 'deploy/compose.yaml', ...args);

function succeeds({ status, stdout, stderr }: ReturnType<typeof run>): string {
  expect({ status, errors: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, errors: '' });
  return stdout;
}

const program = (...args: readonly string[]) =>
  compose('exec', '-T', 'order-sync', 'node', 'bin/order-sync.js', ...args);
const stateOf = (container: string): string =>
  succeeds(run('inspect', '-f', '{{.State.Status}} {{.State.ExitCode}}', container)).trim();

/** Runs a script as the user of the WordPress image, with the folders of orders. */
const asShop = (script: string) =>
  run(
    'run',
    '--rm',
    '-u',
    '33:33',
    '-v',
    `${project}_orders:/orders`,
    '--entrypoint',
    'sh',
    `${project}-order-sync`,
    '-c',
    script,
  );

afterAll(() => {
  if (!answers) return;
  run('rm', '-f', `${project}-shared`);
  compose('down', '-v', '--rmi', 'local');
}, 120_000);

describe.skipIf(!answers)(`deploy/compose.yaml on an engine${reason}`, { timeout: 600_000 }, () => {
  it('starts, buys, stops when it is asked, and continues after a kill', () => {
    succeeds(compose('build'));
    succeeds(compose('up', '-d', '--wait'));
    expect(succeeds(program('submit', 'data/samples/1-gift-cards.json'))).toContain('accepted');
    const wait = 'until grep -q completed /orders/results/demo-shop/1001.json; do sleep 1; done';
    succeeds(compose('exec', '-T', 'order-sync', 'timeout', '60', 'sh', '-c', wait));
    succeeds(compose('stop', 'order-sync'));
    expect(stateOf(worker)).toBe('exited 0');
    succeeds(compose('up', '-d', '--wait'));
    succeeds(run('kill', '-s', 'KILL', worker));
    succeeds(compose('up', '-d', '--wait'));
    expect(succeeds(program('orders', 'list'))).toMatch(/1001 .* 2 fulfilled/);
  });

  it('takes a file of another user of the group, and shows the result to it', () => {
    expect(asShop('touch /orders/inbox/x').status).not.toBe(0);
    succeeds(compose('stop', 'order-sync'));
    const own = ['--group-add', '33', '--volumes-from', worker, '--network', `${project}_default`];
    const groups = ['INTAKE__FOLDER__GROUP', 'RESULTS__GROUP'].flatMap((key) => ['-e', `ORDER_SYNC__${key}=33`]);
    succeeds(
      run('run', '-d', '--name', `${project}-shared`, '--read-only', ...own, ...groups, `${project}-order-sync`),
    );
    const order =
      '{"source":"shop","order_id":"33","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"steam-usd-5","quantity":1}]}';
    const drop = `umask 027; until echo '${order}' > /orders/inbox/.a; do sleep 1; done; mv /orders/inbox/.a /orders/inbox/a.json`;
    const read = 'until grep -q completed /orders/results/shop/33.json; do sleep 1; done; ls /orders/work';
    const { status, stderr } = asShop(`timeout 60 sh -c "${drop.replaceAll('"', String.raw`\"`)}; ${read}"`);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('/orders/work') });
    // No init in this container: the first process of it is the worker.
    succeeds(run('stop', `${project}-shared`));
    expect(stateOf(`${project}-shared`)).toBe('exited 0');
  });

  it('ends with 3 and names the mistake of a configuration', () => {
    const { status, stderr } = compose(
      'run',
      '--rm',
      '--no-deps',
      '-T',
      '-e',
      'ORDER_SYNC__LOG__LEVEL=loud',
      'order-sync',
      'check-config',
    );
    expect({ status, stderr }).toEqual({ status: 3, stderr: expect.stringContaining('log.level must be one of') });
  });
});
