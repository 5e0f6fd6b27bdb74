import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { Installation, order } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const kills = Number(process.env['KILLS'] ?? 12);
const copies = Number(process.env['COPIES'] ?? 300);

it(`two shops that send a cart ${copies} times spend nothing above its limit, through ${kills} kills and lost answers`, {
  timeout: 170_000,
}, async () => {
  installation = await Installation.open({
    sandbox: {
      latency: { before_ms: [0, 40], after_ms: [0, 60] },
      faults: [
        {
          fault: { fault: 'lost_answer' },
          match: { operation: ['gift_card_order'] },
          probability: 0.1,
        },
      ],
    },
  });
  installation.configure((config) => {
    config.intake.folders[0].source = ['shop', 'other'];
    config.spend = { limits: [{ amount: '100.00 USD', per: 'day' }] };
  });
  const spent = (): number =>
    (installation?.sandbox.ledger().orders ?? []).reduce((sum, sold) => sum + sold.cost_minor, 0) /
    100;
  const half = copies / 2;
  const carts = Array.from({ length: copies }, (_, id) =>
    order(id).replace('"shop"', id % 2 === 0 ? '"shop"' : '"other"'),
  );
  installation.drop('a.ndjson', carts.slice(0, half).join('\n').concat('\n'));
  for (let kill = 0; kill < kills; kill += 1) {
    if (kill === 1) installation.drop('b.ndjson', carts.slice(half).join('\n').concat('\n'));
    const worker = installation.start();
    await worker.started();
    await delay(50 + kill * 40);
    await worker.end('SIGKILL');
    expect(spent()).toBeLessThanOrEqual(100);
  }
  const last = installation.start();
  await last.started();
  const open = () =>
    installation?.query<{ state: string; n: number }>(
      "SELECT state, count(*) AS n FROM outbox WHERE state <> 'fulfilled' GROUP BY state",
    );
  const deadline = performance.now() + 60_000;
  // All but what was bought waits for room: 21 orders of 4.73 are 99.33.
  while (performance.now() < deadline && open()?.find(({ n }) => n === copies - 21) === undefined)
    await delay(100);
  expect(open()).toEqual([{ state: 'held', n: copies - 21 }]);
  expect(spent()).toBeCloseTo(99.33, 6);
  expect(
    installation.query("SELECT DISTINCT reason, code FROM outbox_attention WHERE kind = 'held'"),
  ).toEqual([{ reason: 'over_limit', code: '100.00 USD per day' }]);
  expect(await last.end('SIGTERM'), last.stderr).toBe(0);
});
