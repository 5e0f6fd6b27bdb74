import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import { Installation } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const lines = 300;
/** After so many commits of a run the worker is killed. */
const kills = [1, 40, 99, 100, 101];
const why = ['--reason', 'the supplier repaired it'];

const order = (id: string, variant: string): string =>
  JSON.stringify({
    source: 'shop',
    order_id: id,
    currency: 'USD',
    lines: [{ line_id: '1', type: 'gift_card_order', variant, quantity: 1 }],
  });

// The code is about the balance, so it does not pause the product.
const body = '{"error":{"code":"currency_unavailable","message":"No price in USD."}}';

it(`${lines} refused lines are each bought once when they are ordered again, whenever the worker is killed`, async () => {
  const place = await Installation.open({
    folder: { source: 'shop' },
    sandbox: {
      limits: { enabled: false },
      faults: [
        // A lookup finds it: from now on lookups are believed.
        { fault: { fault: 'lost_answer' }, match: { item: 'steam-usd-10' }, at: [1] },
        {
          fault: { fault: 'answer', status: 422, body, when: 'before' },
          match: { item: 'steam-usd-5', operation: 'gift_card_order' },
          at: Array.from({ length: lines }, (_, index) => index + 1),
        },
      ],
    },
  });
  installation = place;
  const countOf = (where: string): number =>
    place.query<{ n: number }>(`SELECT count(*) AS n FROM entries WHERE ${where}`)[0]?.n ?? 0;
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) await delay(5);
  };
  const reorder = async (...more: readonly string[]) =>
    await runHere(
      ['orders', 'reorder', '--source', 'shop', '--config', place.configFile, ...more],
      new SystemClock(),
    );

  let worker = place.start();
  await worker.started();
  place.drop('a.ndjson', `${order('first', 'steam-usd-10')}\n`);
  await until(() => countOf("state = 'fulfilled'") === 1);
  const ids = Array.from({ length: lines }, (_, index) => String(index));
  place.drop('b.ndjson', ids.map((id) => `${order(id, 'steam-usd-5')}\n`).join(''));
  await until(() => countOf("state = 'rejected'") === lines);

  const codes: (number | null)[] = [];
  for (const after of kills) {
    const left = lines - countOf('replaced = 1');
    if (left < after) break;
    const look: { matched: number } = JSON.parse((await reorder('--json')).stdout);
    expect(look.matched).toBe(left);
    const run = reorder('--confirm', String(left), ...why);
    await until(() => countOf('replaced = 1') >= lines - left + after);
    await worker.end('SIGKILL');
    // Where the kill fell between two steps, the command line does the rest by itself.
    codes.push((await run).code);
    worker = place.start();
    await worker.started();
  }
  // The first kill is in the middle of a step: the answer to that is lost.
  expect(codes[0]).not.toBe(0);
  const left = lines - countOf('replaced = 1');
  if (left > 0) await reorder('--confirm', String(left), ...why);
  expect((await reorder()).stdout).toBe('no entries match\n');
  await until(() => countOf("state = 'fulfilled'") === lines + 1);
  expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);

  expect(place.query('SELECT state, count(*) AS n FROM entries GROUP BY state')).toEqual([
    { state: 'fulfilled', n: lines + 1 },
    { state: 'rejected', n: lines },
  ]);
  const bought = place.sandbox.ledger().orders.map(({ reference }) => reference);
  expect(bought).toHaveLength(lines + 1);
  const ofLines = place.query<{ reference: string; order_id: string }>(
    "SELECT reference, order_id FROM outbox WHERE state = 'fulfilled'",
  );
  expect(ofLines.map(({ reference }) => reference).toSorted()).toEqual(bought.toSorted());
  expect(ofLines.map(({ order_id: id }) => id).toSorted()).toEqual(['first', ...ids].toSorted());
  expect(place.query("SELECT 1 FROM audit_log WHERE action = 'reorder'")).toHaveLength(lines);
});
