import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { minutesAgo, oneCard } from './running-read-back.ts';
import { deliver, installationFor, settled } from './shop-worker.ts';
import { StubWooCommerce } from './stub-shop.ts';

const orders = 36;

/**
 * The shop sends each webhook once, while the worker is killed again and again and reads back
 * whenever it runs. At the end its disk is lost, and everything is recovered from the shop's list
 * alone.
 */
it('a worker that is killed again and again buys every paid order once, under the same references after its disk was lost', async () => {
  const stub = await new StubWooCommerce().open();
  const installation = await installationFor(
    stub,
    { schedule: '* * * * * *' },
    { sandbox: { latency: { before_ms: [0, 20], after_ms: [0, 20] } } },
  );
  const acknowledged = new Set<string>();
  let sent = 0;
  for (let kill = 0; kill < 3; kill += 1) {
    const worker = installation.start();
    await worker.started();
    const dead = delay(30 + kill * 120).then(() => worker.end('SIGKILL'));
    for (const until = sent + orders / 3; sent < until; ) {
      sent += 1;
      const id = String(sent);
      const order = stub.put({
        id,
        modifiedMs: minutesAgo(60) + sent * 10_000,
        body: oneCard(`${id}1`),
      });
      // A failed webhook is never repeated.
      await deliver(worker, stub.shown(order)).then(
        () => acknowledged.add(id),
        () => undefined,
      );
    }
    await dead;
    // Every acknowledged order is on disk, whenever the process was killed.
    const known = new Set(
      installation
        .query<{ order_id: string }>('SELECT order_id FROM requests')
        .map((row) => row.order_id),
    );
    expect([...acknowledged].filter((id) => !known.has(id))).toEqual([]);
  }
  expect(acknowledged.size).toBeLessThan(orders);
  const bought = async (): Promise<readonly string[]> => {
    const worker = installation.start();
    const all = "SELECT count(*) AS n FROM requests WHERE source = 'main'";
    await worker.started();
    while ((installation.query<{ n: number }>(all)[0]?.n ?? 0) < orders) await delay(100);
    await settled(installation);
    expect(await worker.end('SIGTERM')).toBe(0);
    return installation.sandbox.ledger().orders.map(({ reference }) => reference);
  };
  const once = await bought();
  expect([once.length, new Set(once).size]).toEqual([orders, orders]);
  for (const name of readdirSync(installation.folder)) {
    if (name.startsWith('order-sync.db'))
      rmSync(join(installation.folder, name), { recursive: true });
  }
  expect(await bought()).toEqual(once);
});
