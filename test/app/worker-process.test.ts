import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Installation, order } from '../support/worker-process.ts';

/** One run through what `test/e2e/` tests in full. */
describe('a worker as a process', () => {
  it('buys an order, is killed within the next one, looks that up after its restart, and stops when asked', async () => {
    const hang = { fault: 'hang', when: 'after', duration_ms: 600_000 } as const;
    const installation = await Installation.open({
      sandbox: {
        limits: { enabled: false },
        faults: [{ fault: hang, match: { operation: 'gift_card_order' }, at: [2] }],
      },
    });
    onTestFinished(() => installation.close());
    const openAttempts = () =>
      installation.query('SELECT 1 FROM attempt_log WHERE closed_at IS NULL').length;
    installation.drop('a.ndjson', `${order(1)}\n`);
    const first = installation.start();
    await first.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    installation.drop('b.ndjson', `${order(2)}\n`);
    while (installation.sandbox.ledger().orders.length < 2) await delay(10);
    expect(await first.end('SIGKILL')).toBeNull();
    expect(openAttempts()).toBe(1);

    const next = installation.start();
    await next.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    expect(await next.end('SIGTERM'), next.stderr).toBe(0);
    expect(installation.sandbox.ledger().orders).toHaveLength(2);
    const results = installation.results();
    expect(['shop/1', 'shop/2'].map((name) => results.get(name)?.state)).toEqual([
      'completed',
      'completed',
    ]);
    expect(openAttempts()).toBe(0);
  });
});
