import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import * as z from 'zod';
import { createSandbox } from '../sandbox/create-sandbox.ts';

/**
 * The orders per second of a sandbox without limits, over real sockets, with durable commits.
 * Usage: node bench/sandbox-throughput.ts [seconds] [connections] [full|relaxed]
 * The clients run in another thread: on two cores they do not slow the sandbox down.
 */
if (isMainThread) {
  const [seconds = '10', connections = '64', durability = 'full'] = process.argv.slice(2);
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-bench-'));
  const sandbox = await createSandbox({
    database: join(folder, 'sandbox.db'),
    config: {
      limits: { enabled: false },
      durability: durability === 'relaxed' ? 'relaxed' : 'full',
      accounts: [
        {
          id: 'bench',
          balances: { USD: '999999999.00' },
          keys: [{ name: 'bench', value: 'bench-key-1' }],
        },
      ],
    },
  });
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { url: sandbox.url, seconds: Number(seconds), connections: Number(connections) },
  });
  const { promise, resolve, reject } = Promise.withResolvers<{
    orders: number;
    elapsedMs: number;
    latencies: number[];
  }>();
  worker.on('message', resolve);
  worker.on('error', reject);
  const { orders, elapsedMs, latencies } = await promise;
  const { total } = await sandbox.operate((operator) => ({
    total: operator.ledger().orders.length,
  }));
  await sandbox.close();
  rmSync(folder, { recursive: true });
  const at = (share: number): string =>
    `${(latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(1)} ms`;
  process.stdout.write(
    `${Math.round((orders / elapsedMs) * 1000)} orders/s (${orders} acknowledged, ${total} in the ledger, ${(elapsedMs / 1000).toFixed(1)} s, ${connections} connections, ${durability}); latency p50 ${at(0.5)}, p99 ${at(0.99)}\n`,
  );
} else {
  const { url, seconds, connections } = z
    .object({ url: z.string(), seconds: z.number(), connections: z.number() })
    .parse(workerData);
  const pool = new Pool(url, { connections });
  const started = performance.now();
  const until = started + seconds * 1000;
  const latencies: number[] = [];
  let next = 0;
  const order = async (): Promise<void> => {
    while (performance.now() < until) {
      const sent = performance.now();
      next += 1;
      const { statusCode, body } = await pool.request({
        path: '/orders',
        method: 'POST',
        headers: { authorization: 'Bearer bench-key-1', 'content-type': 'application/json' },
        body: `{"reference":"bench-${next}","variant":"steam-usd-20","quantity":1,"currency":"USD"}`,
      });
      await body.dump();
      if (statusCode !== 201) throw new Error(`an order was answered with ${statusCode}`);
      latencies.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: connections }, order));
  const elapsedMs = performance.now() - started;
  await pool.close();
  const report = {
    orders: latencies.length,
    elapsedMs,
    latencies: latencies.toSorted((a, b) => a - b),
  };
  parentPort?.postMessage(report);
}
