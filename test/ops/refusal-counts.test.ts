import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { RefusalCounts } from '../../src/ops/refusal-counts.ts';
import { MachineClock } from '../support/machine-clock.ts';

test('a flood of refusals is a line a reason and one a minute, and only some of them warn', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = new Writable({
    write(text: Buffer, _encoding, done) {
      lines.push(JSON.parse(String(text)));
      done();
    },
  });
  const clock = new MachineClock();
  const counts = new RefusalCounts(clock, pino(log));
  expect(counts.recent()).toBeNull();
  for (let count = 0; count < 1000; count += 1) counts.count('pipelined');
  counts.count('connections');
  expect(counts.recent()).toEqual({ pipelined: 1000, connections: 1 });
  clock.pass(60_000);
  await expect.poll(() => counts.recent()).toBeNull();
  expect(lines).toMatchObject([
    {
      reason: 'pipelined',
      msg: 'refused a caller: for a minute, further refusals for this reason are only counted',
    },
    {
      reason: 'connections',
      msg: 'refused a caller: for a minute, further refusals for this reason are only counted',
    },
    {
      refused: { pipelined: 1000, connections: 1 },
      msg: 'callers were refused in the last minute',
    },
  ]);
  counts.count('unauthorized shop', false, { path: '/x' });
  expect([counts.recent(), lines.at(-1)]).toMatchObject([
    null,
    { reason: 'unauthorized shop', path: '/x' },
  ]);
  counts.count('connections');
  expect(counts.recent()).toEqual({ 'unauthorized shop': 1, connections: 1 });
  await counts.stop();
  expect([...counts.totals]).toEqual([
    ['pipelined', 1000],
    ['connections', 2],
    ['unauthorized', 1],
  ]);
});
