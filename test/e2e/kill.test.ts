import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

/** mulberry32. The seed decides when the worker is killed; it is printed when a run fails. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const seed = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
// CI runs it with 30 kills. With fewer than 11, not all files would be written.
const kills = Number(process.env['KILLS'] ?? 12);
const orders = 200;

describe('a worker that is killed again and again', () => {
  it(`buys each of ${orders} orders exactly once, writes every result, and stays within its budget (seed ${seed})`, {
    timeout: 170_000,
  }, async () => {
    const random = randomFrom(seed);
    const windowMs = 2000;
    installation = await Installation.open({
      folder: { source: 'shop' },
      sandbox: {
        limits: { enabled: true, window_ms: windowMs, orders: 40, requests: 120 },
        latency: { before_ms: [0, 40], after_ms: [0, 60] },
        // Some answers are lost, too.
        faults: [
          {
            fault: { fault: 'lost_answer' },
            match: { operation: ['gift_card_order', 'esim_order'] },
            probability: 0.05,
          },
        ],
      },
      limits: { window_ms: windowMs, orders: 40, requests: 120, transit_ms: 100 },
    });
    const expected = new Map<string, number>();
    for (let order = 0; order < orders; order += 1) expected.set(`shop/${order}`, 1);
    const request = (order: number) =>
      order % 4 === 0
        ? {
            source: 'shop',
            order_id: String(order),
            currency: 'USD',
            lines: [{ line_id: '1', type: 'esim_order', plan: 'es-1gb-7d', quantity: 1 }],
          }
        : {
            source: 'shop',
            order_id: String(order),
            currency: 'USD',
            lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
          };
    const requests = Array.from({ length: orders }, (_, order) => request(order));
    const part = (from: number, to: number) => requests.slice(from, to);

    const dropped = new Map<string, string>();
    const drop = (name: string, text: string): void => {
      dropped.set(name, text);
      installation?.drop(name, text);
    };
    for (let kill = 0; kill < kills; kill += 1) {
      // Files arrive between the kills, which also interrupt claims, parsing and archiving.
      if (kill === 0)
        drop(
          'a.ndjson',
          part(0, 80)
            .map((asked) => JSON.stringify(asked))
            .join('\n')
            .concat('\n'),
        );
      if (kill === 5) drop('b.json', JSON.stringify(part(80, 140)));
      if (kill === 10) {
        const rows = part(140, 200).map(({ order_id: id, lines: [line] }) => {
          const variant = line !== undefined && 'variant' in line ? line.variant : '';
          const plan = line !== undefined && 'plan' in line ? line.plan : '';
          return `shop,${id},1,${line?.type},${variant},${plan},,1,,USD`;
        });
        drop(
          'c.csv',
          [
            'source,order_id,line_id,type,variant,plan,iccid,quantity,days,currency',
            ...rows,
            '',
          ].join('\n'),
        );
      }
      const worker = installation.start();
      // A quarter of the kills interrupt the start, the others the work.
      if (random() < 0.75) await worker.started();
      await delay(random() * 700);
      await worker.end('SIGKILL');
    }

    const last = installation.start();
    await last.started();
    // A file that was open at two kills needs review: the operator sends it again, as its report
    // says.
    for (const { name, code } of installation.query<{ name: string; code: string }>(
      "SELECT name, error_code AS code FROM files WHERE state = 'rejected'",
    )) {
      expect(code).toBe('poison_file');
      installation.drop(`again-${name}`, dropped.get(name) ?? '');
    }
    // A deadline of its own: a run that does not finish shows its state.
    const deadline = performance.now() + 60_000;
    const states = () =>
      installation?.query<{ state: string; n: number }>(
        'SELECT state, count(*) AS n FROM outbox GROUP BY state',
      );
    while (performance.now() < deadline) {
      const undelivered = installation.query('SELECT 1 FROM delivery_log WHERE done = 0').length;
      if (undelivered === 0 && states()?.find((row) => row.state === 'fulfilled')?.n === orders)
        break;
      await delay(100);
    }
    expect(states(), JSON.stringify(installation.query('SELECT * FROM outbox_attention'))).toEqual([
      { state: 'fulfilled', n: orders },
    ]);
    expect(await last.end('SIGTERM'), last.stderr).toBe(0);

    const ledger = installation.sandbox.ledger();
    const outbox = installation.query<{
      reference: string;
      source: string;
      order_id: string;
      state: string;
    }>('SELECT * FROM outbox');
    // The sandbox has exactly one order for each line, and no other order.
    const bought = new Map<string, number>();
    for (const { reference } of ledger.orders) {
      const line = outbox.find((entry) => entry.reference === reference);
      const name = line === undefined ? `nobody's ${reference}` : `${line.source}/${line.order_id}`;
      bought.set(name, (bought.get(name) ?? 0) + 1);
    }
    expect(bought).toEqual(expected);
    // Every result is written completely.
    const results = installation.results();
    expect([...results.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
    expect([...results.values()].filter((result) => result.state !== 'completed')).toEqual([]);
    // Every call that arrived is on disk as an attempt.
    const recorded = new Map(
      installation
        .query<{ reference: string; n: number }>(
          "SELECT reference, count(*) AS n FROM attempt_log WHERE purpose = 'submit' GROUP BY reference",
        )
        .map((row) => [row.reference, row.n]),
    );
    const arrived = new Map<string, number>();
    for (const call of ledger.calls) {
      if (call.reference !== null && call.operation.endsWith('_order'))
        arrived.set(call.reference, (arrived.get(call.reference) ?? 0) + 1);
    }
    const unrecorded = [...arrived].filter(
      ([reference, count]) => count > (recorded.get(reference) ?? 0),
    );
    expect(unrecorded).toEqual([]);
    expect(installation.query('SELECT 1 FROM attempt_log WHERE closed_at IS NULL')).toEqual([]);
    // The server, which counts arrivals in a sliding window, never rate-limited a call.
    const [key] = ledger.keys;
    expect(key).toMatchObject({ limited: 0 });
    expect(key?.max_orders_in_window).toBeLessThanOrEqual(40);
  });
});
