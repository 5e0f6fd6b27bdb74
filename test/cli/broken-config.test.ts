import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { installation } from './installation.ts';

it('a mistake in the configuration does not keep people from looking, and one in data_dir is named', async () => {
  const made = installation();
  expect(await made.run('init')).toMatchObject({ code: 0 });
  const right = readFileSync(made.configFile, 'utf8');
  writeFileSync(made.configFile, `${right}\nsubmit: { concurrency: none }\n`);
  for (const command of [
    ['orders', 'list'],
    ['queue', 'status'],
    ['audit', 'list'],
  ])
    expect([command, (await made.run(...command)).code]).toEqual([command, 0]);
  // What a worker would not start with is not decided by either.
  const paused = await made.run('queue', 'pause', 'account', '--reason', 'for the test');
  expect(paused.code).not.toBe(0);
  expect(paused.stderr).toContain('submit.concurrency');
  writeFileSync(made.configFile, right.replace(/^data_dir:.*$/m, 'data_dir: [1]'));
  const listed = await made.run('orders', 'list');
  expect(listed).toMatchObject({ code: 3 });
  expect(listed.stderr).toContain('data_dir');
});
