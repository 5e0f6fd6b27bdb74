import { afterEach, describe, expect, it } from 'vitest';
import { Installation, order } from '../support/worker-process.ts';

const open = new Set<Installation>();
afterEach(async () => {
  for (const installation of open) await installation.close();
  open.clear();
});

/** The supplier allows 4 orders in a second. */
const windowMs = 1000;
const limits = { window_ms: windowMs, requests: 12, orders: 4, transit_ms: 100 };
const supplier = { limits: { enabled: true, window_ms: windowMs, requests: 12, orders: 4 } };

async function installed(options: Parameters<typeof Installation.open>[0]): Promise<Installation> {
  const installation = await Installation.open({ limits, ...options });
  open.add(installation);
  return installation;
}

const orders = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `${order(from + index)}\n`).join('');

const attention = 'SELECT kind, scope, since FROM outbox_attention';
interface Row {
  readonly kind: string;
  readonly scope: string;
  readonly since: string;
}

describe('a key that two workers use', () => {
  it('is in the attention list of a worker that gets 429 again and again within its limits, with since when', async () => {
    const first = await installed({ sandbox: supplier });
    const second = await installed({ api: first.sandbox.url });
    first.drop('a.ndjson', orders(1, 60));
    second.drop('b.ndjson', orders(1001, 60));
    const startedAt = Date.now();
    const [one, two] = [first.start(), second.start()];
    await Promise.all([one.started(), two.started()]);
    const rows = (): Row[] => [...first.query<Row>(attention), ...second.query<Row>(attention)];
    await expect
      .poll(rows, { timeout: 40_000 })
      .toContainEqual(expect.objectContaining({ kind: 'key_used_elsewhere', scope: 'key:main' }));
    for (const { since } of rows()) expect(Date.parse(since)).toBeGreaterThanOrEqual(startedAt);
    await Promise.all([one.end('SIGTERM'), two.end('SIGTERM')]);
  });

  it('is not there while one worker uses it, also after a single 429', async () => {
    const fault = { fault: 'rate_limited' as const, retry_after_s: 1 };
    const faults = [{ fault, match: { operation: 'gift_card_order' as const }, at: [3] }];
    const only = await installed({ sandbox: { ...supplier, faults } });
    only.drop('a.ndjson', orders(1, 12));
    const worker = only.start();
    await expect.poll(() => only.sandbox.ledger().orders.length, { timeout: 30_000 }).toBe(12);
    expect(worker.log.filter((line) => line['outcome'] === 'rate_limited')).toHaveLength(1);
    expect(only.query(attention)).toEqual([]);
    await worker.end('SIGTERM');
  });
});
