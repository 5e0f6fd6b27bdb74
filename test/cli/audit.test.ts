import { expect, it } from 'vitest';
import { installation, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

async function decided(): Promise<Installation> {
  const outbox = installation();
  await fillOutbox(outbox);
  await outbox.run('queue', 'pause', 'family:esim', '--reason', 'maintenance \u001b[31m of theirs');
  await outbox.run('queue', 'resume', 'family:esim', '--reason', 'it is over');
  return outbox;
}

const json = async (outbox: Installation, ...args: readonly string[]) =>
  JSON.parse((await outbox.run(...args, '--json')).stdout);

it('lists what was decided, by filters, with nothing that controls a terminal', async () => {
  const outbox = await decided();
  const first = await json(outbox, 'audit', 'list', '--limit', '1');
  expect(first).toMatchObject({
    audit: [{ action: 'resume', subject: 'family:esim', reason: 'it is over' }],
    more: true,
  });
  const both = await json(outbox, 'audit', 'list', '--limit', '2');
  expect(both.audit[1]).toMatchObject({
    action: 'pause',
    subject: 'family:esim',
    actor: expect.stringMatching(/^cli:/),
  });
  const { stdout } = await outbox.run('audit', 'list', '--subject', 'family:esim');
  expect(stdout).toMatch(
    /^AT +ACTOR +ACTION +SUBJECT +REASON\n.* resume +family:esim +it is over\n/,
  );
  expect(stdout).not.toContain('\u001b');
  const none = await outbox.run('audit', 'list', '--since', '2100-01-01');
  expect([none.code, none.stdout, none.stderr]).toEqual([
    0,
    '',
    'Nothing was decided that fits.\n',
  ]);
});

it.each([
  ['--since', 'yesterday'],
  ['--limit', '0'],
])('refuses %s %s', async (option, value) => {
  const outbox = await decided();
  expect((await outbox.run('audit', 'list', option, value)).code).toBe(2);
});

it('shows everything that happened to an order, in the order of time', async () => {
  const outbox = await decided();
  const { stdout } = await outbox.run('orders', 'show', '1001', '--timeline');
  const what = stdout.split('\n').map((row) => row.slice(22).split(/ {2,}/).slice(0, 1).join(''));
  expect(what.filter((text) => text !== '')).toEqual([
    'WHAT',
    'received',
    'entry',
    'entry',
    'call',
    'not_accepted',
    'answer',
    'settled',
    'call',
    'answer',
    'settled',
  ]);
  expect(stdout).toContain('call 1, key main, HTTP 404, 250 ms, invalid_variant: No such');
  expect(stdout).not.toContain('\u001b');
  const { timeline, more } = await json(outbox, 'orders', 'show', '1001', '--timeline');
  expect([timeline.length, more]).toEqual([10, false]);
  expect(timeline[0]).toMatchObject({ kind: 'received', code: 'shop1', line_id: null });
});
