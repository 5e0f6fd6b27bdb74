import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitOf } from '../limits/limits.ts';
import { mostInAnyWindow } from '../operator/ledger.ts';
import type { SandboxConfig } from '../settings/config.ts';
import {
  buyEsim,
  callerOf,
  esim,
  giftCard,
  startSandbox,
  temporaryFolder,
} from './running-sandbox.ts';

/** Time that only the test moves. */
function manualTime(): { time: () => number; advance: (ms: number) => void } {
  let now = Date.UTC(2026, 0, 1);
  return { time: () => now, advance: (ms) => (now += ms) };
}

async function sandboxWith(limits: NonNullable<SandboxConfig['limits']>) {
  const clock = manualTime();
  const sandbox = await startSandbox({ limits }, { time: clock.time });
  return { sandbox, caller: callerOf(sandbox), advance: clock.advance };
}

const windowMs = 1_000;
const cap = 5;

/** Increasing times. Many are equal or close to the edge of a window. */
const arrivals = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 400 }),
      fc.constant(windowMs),
    ),
    {
      maxLength: 120,
    },
  )
  .map((gaps) =>
    gaps.reduce<number[]>((times, gap) => [...times, (times.at(-1) ?? 7_000) + gap], []),
  );

it('a limit lets in the cap within any window, never more and never fewer, and says how long to wait', () => {
  fc.assert(
    fc.property(arrivals, (times) => {
      const limit = limitOf(windowMs, cap);
      const letIn: number[] = [];
      for (const now of times) {
        const isLetIn = limit.waitMs(now) === 0;
        expect(isLetIn).toBe(letIn.filter((at) => at > now - windowMs).length < cap);
        if (!isLetIn) continue;
        limit.count(now);
        letIn.push(now);
      }
      expect(mostInAnyWindow(letIn, windowMs)).toBeLessThanOrEqual(cap);
      const now = times.at(-1) ?? 0;
      expect(limit.waitMs(now + limit.waitMs(now))).toBe(0);
    }),
  );
});

describe('the limits of a key', () => {
  it('60 requests are let in within any minute, and the next one gets 429 with Retry-After', async () => {
    const { sandbox, caller, advance } = await sandboxWith({});
    for (let count = 0; count < 60; count += 1)
      expect((await caller.get('/balances')).status).toBe(200);
    const limited = await caller.get('/balances');
    expect(limited.status).toBe(429);
    expect(limited.headers.get('retry-after')).toBe('60');
    advance(59_999);
    expect((await caller.get('/balances')).status).toBe(429);
    advance(1);
    expect((await caller.get('/balances')).status).toBe(200);
    expect(sandbox.ledger().keys[0]).toMatchObject({ limited: 2, max_requests_in_window: 60 });
  });

  it('20 orders of both families, top-ups and cancels together are let in within a minute', async () => {
    const { sandbox, caller, advance } = await sandboxWith({});
    const iccid = await buyEsim(caller, 'e0');
    const other = await buyEsim(caller, 'e1');
    for (let count = 0; count < 8; count += 1) await caller.post('/orders', giftCard(`g${count}`));
    for (let count = 2; count < 10; count += 1)
      await caller.post('/esim/orders', esim(`e${count}`));
    await caller.post(`/esim/esims/${iccid}/topups`, {
      reference: 't',
      plan: 'es-1gb-7d',
      currency: 'USD',
    });
    await caller.post(`/esim/esims/${other}/cancel`);
    expect(sandbox.ledger().keys[0]?.orders_at).toHaveLength(20);
    expect((await caller.post('/orders', giftCard('one-too-many'))).status).toBe(429);
    // A call that does not move money is not counted toward the order limit (Spec 4).
    expect((await caller.get('/products')).status).toBe(200);
    expect((await caller.get(`/esim/esims/${iccid}/topups`)).status).toBe(200);
    advance(60_000);
    expect((await caller.post('/orders', giftCard('one-too-many'))).status).toBe(201);
  });

  it('each key has limits of its own', async () => {
    const sandbox = await startSandbox({
      limits: { requests: 1 },
      accounts: [
        {
          id: 'acme',
          keys: [
            { name: 'one', value: 'key-number-one' },
            { name: 'two', value: 'key-number-two' },
          ],
        },
      ],
    });
    for (const key of ['key-number-one', 'key-number-two']) {
      expect((await callerOf(sandbox, key).get('/balances')).status).toBe(200);
      expect((await callerOf(sandbox, key).get('/balances')).status).toBe(429);
    }
  });

  it('a restart does not reset the limits', async () => {
    const clock = manualTime();
    const database = `${temporaryFolder()}/sandbox.db`;
    const config: SandboxConfig = { limits: { requests: 5, orders: 2 } };
    const first = await startSandbox(config, { database, time: clock.time });
    await callerOf(first).get('/balances');
    await callerOf(first).post('/orders', giftCard('a'));
    await first.close();
    const second = await startSandbox(config, { database, time: clock.time });
    const caller = callerOf(second);
    // One order and two requests are counted already, so one more order and three more requests are
    // let in.
    const statuses: number[] = [];
    for (const reference of ['b', 'c'])
      statuses.push((await caller.post('/orders', giftCard(reference))).status);
    for (let count = 0; count < 3; count += 1)
      statuses.push((await caller.get('/balances')).status);
    expect(statuses).toEqual([201, 429, 200, 200, 429]);
    clock.advance(60_000);
    expect((await caller.post('/orders', giftCard('c'))).status).toBe(201);
  });

  it('a call is counted after the first delay and before the second one', async () => {
    const sandbox = await startSandbox({ latency: { before_ms: [80, 80], after_ms: [80, 80] } });
    const sent = performance.timeOrigin + performance.now();
    await callerOf(sandbox).post('/orders', giftCard('a'));
    const received = performance.timeOrigin + performance.now();
    const [stamp = 0] = sandbox.ledger().keys[0]?.orders_at ?? [];
    // Arrival times are whole milliseconds, and a timer can fire up to 1 ms early.
    expect(stamp - sent).toBeGreaterThanOrEqual(78);
    expect(received - stamp).toBeGreaterThanOrEqual(78);
  });
});
