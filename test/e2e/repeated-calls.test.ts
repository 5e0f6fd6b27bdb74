import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { toDecimal } from '../../sandbox/values/money.ts';
import { secondAnswers } from '../support/second-answers.ts';
import { Installation, projectRoot } from '../support/worker-process.ts';

/*
 * Something between the worker and the API repeats calls: the first copy is processed, and the
 * worker gets another answer. Meanwhile the worker is killed, orders end early, and people cancel.
 */

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const kills = Number(process.env['KILLS'] ?? 8);
const orders = kills * 15;

/** Without those that no order gets here, or that always need review. */
const answers = secondAnswers.filter(
  ([, code]) => !['not_found', 'reference_in_use', 'topup_not_allowed'].includes(code),
);

/** The order with this number, as a file has it: each family, each rule, some with a deadline. */
function requestOf(order: number): object {
  const isEsim = order % 4 === 0;
  const isLarge = order % 5 === 1;
  const [variant, quantity] = isLarge ? ['test-limit-5', 8] : ['steam-usd-5', 1 + (order % 3)];
  return {
    source: 'shop',
    order_id: String(order),
    currency: 'USD',
    ...(order % 6 === 5 ? { not_after: new Date(Date.now() + 3000).toISOString() } : {}),
    rules: { split: true, partial: true, fallback_currency: 'EUR' },
    lines: [
      isEsim
        ? { line_id: '1', type: 'esim_order', plan: 'es-1gb-7d', quantity: 1 }
        : { line_id: '1', type: 'gift_card_order', variant, quantity },
    ],
  };
}

interface EntryOfView {
  readonly reference: string;
  readonly state: string;
  readonly cost: string | null;
}

it(`tells what was bought: ${kills} kills, and every answer of the table to a second copy`, {
  timeout: 60_000 + kills * 12_000,
}, async () => {
  const operation: ('gift_card_order' | 'esim_order')[] = ['gift_card_order', 'esim_order'];
  installation = await Installation.open({
    folder: { source: 'shop' },
    timeScale: 0.01,
    sandbox: {
      limits: { enabled: false },
      latency: { before_ms: [0, 40], after_ms: [0, 60] },
      faults: answers.map(([status, code]) => ({
        fault: {
          fault: 'answer' as const,
          status,
          body: `{"error":{"code":"${code}","message":"not now"}}`,
        },
        match: { operation },
        probability: 0.02,
      })),
    },
  });
  const run = promisify(execFile);
  const cancel = (worker: Installation): Promise<unknown> =>
    run(
      process.execPath,
      [
        'bin/order-sync.js',
        'orders',
        'cancel',
        '--state',
        'waiting',
        '--reason',
        'they changed their minds',
        '--yes',
        '--config',
        worker.configFile,
      ],
      { cwd: projectRoot },
    ).catch(() => null);
  for (let kill = 0; kill < kills; kill += 1) {
    const part = Array.from({ length: 15 }, (_, index) => requestOf(kill * 15 + index));
    installation.drop(`${kill}.json`, JSON.stringify(part));
    const worker = installation.start();
    await worker.started();
    await delay(Math.random() * 900);
    if (kill % 2 === 1) await cancel(installation);
    await worker.end('SIGKILL');
  }
  const last = installation.start();
  await last.started();
  for (const { name, code } of installation.query<{ name: string; code: string }>(
    "SELECT name, error_code AS code FROM files WHERE state = 'rejected'",
  ))
    expect([name, code]).toEqual([name, 'poison_file']);
  const moving = () =>
    installation?.query<{ state: string }>(
      "SELECT state FROM outbox WHERE state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')",
    ).length;
  const deadline = performance.now() + 50_000 + kills * 4000;
  while (performance.now() < deadline && moving() !== 0) await delay(100);
  expect(moving()).toBe(0);
  expect(await last.end('SIGTERM'), last.stderr).toBe(0);

  const sold = new Map(
    installation.sandbox.ledger().orders.map((order) => [order.reference, order]),
  );
  const told = installation.query<EntryOfView>('SELECT reference, state, cost FROM outbox');
  const wrong = told.filter(({ reference, state, cost }) => {
    const order = sold.get(reference);
    if (state === 'needs_review') return false;
    if (state !== 'fulfilled') return order !== undefined;
    return order === undefined || cost !== toDecimal(order.cost_minor, order.currency);
  });
  expect(wrong).toEqual([]);
  const known = new Set(told.map(({ reference }) => reference));
  expect([...sold.keys()].filter((reference) => !known.has(reference))).toEqual([]);
  // The faults did hit, and most orders end by themselves.
  const count = (state: string) => told.filter((entry) => entry.state === state).length;
  const states = { fulfilled: count('fulfilled'), needs_review: count('needs_review') };
  expect(states.fulfilled, JSON.stringify(states)).toBeGreaterThan(orders / 2);
});
