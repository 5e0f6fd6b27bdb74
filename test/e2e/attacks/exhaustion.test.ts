import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation } from '../../support/worker-process.ts';
import type { AttackPlan } from './attacker.ts';

/** How long each attack lasts. CI lets each last longer, and measures the times: nothing else may run beside it. */
const attackMs = Number(process.env['ATTACK_MS'] ?? 1000);
const isMeasured = process.env['ATTACK_MS'] !== undefined;
const token = 'the-token-of-the-shop';
/** Of another shop, whose server attacks. */
const otherToken = 'the-token-of-the-other';

const open: { close(): Promise<void> }[] = [];
const children = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  for (const each of open.splice(0).toReversed()) await each.close();
});

/** The most memory that a process has ever had, in MB. */
function peakMb(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** Runs one call after another, each on a new connection, until it is stopped. Resolves to the longest time in ms. */
async function measured(call: () => Promise<void>, pauseMs: number, isOver: () => boolean): Promise<number> {
  let longestMs = 0;
  while (!isOver()) {
    const startMs = performance.now();
    await call();
    longestMs = Math.max(longestMs, performance.now() - startMs);
    await sleep(pauseMs);
  }
  return longestMs;
}

async function underAttack(attack: string) {
  const installation = await Installation.open({
    // The API runs in this process, which measures: it must have little to do.
    limits: { window_ms: 1000, requests: 100, orders: 20, transit_ms: 50 },
    webhook: {
      tokens: [
        { name: 'shop', value: token },
        { name: 'other', value: otherToken },
      ],
      standard_webhooks: [{ name: 'signed', secret: `whsec_${Buffer.alloc(32, 3).toString('base64')}` }],
    },
  });
  open.push(installation);
  const worker = installation.start(['env', 'NODE_OPTIONS=--max-old-space-size=192']);
  const started = await worker.started();
  const port = Number(String(started['webhook']).split(':').at(-1));
  let next = 0;
  const order = async (): Promise<void> => {
    next += 1;
    // Its own address, as the shop's server has one; a new connection, as many shops' programs use.
    const client = new Client(`http://127.0.0.1:${port}`, { localAddress: '127.0.0.2' });
    try {
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: '/v1/orders',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          source: 'shop',
          order_id: `proven-${next}`,
          currency: 'USD',
          lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
        }),
      });
      await body.dump();
      expect(statusCode).toBe(202);
    } finally {
      await client.destroy();
    }
  };
  const livez = async (): Promise<void> => {
    const answer = await fetch(`http://${String(started['admin'])}/livez`);
    expect(await answer.json()).toEqual({ status: 'pass' });
  };
  await order();
  const plan: AttackPlan = { attack, port, ms: attackMs, token: otherToken };
  const attacker = spawn(process.execPath, [join(import.meta.dirname, 'attacker.ts'), JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(attacker);
  const ended = once(attacker, 'exit');
  await once(attacker.stdout, 'data');
  let isOver = false;
  const measuring = Promise.all([measured(livez, 50, () => isOver), measured(order, 100, () => isOver)]);
  const [code] = await Promise.race([ended, measuring.then(() => ended)]);
  children.delete(attacker);
  isOver = true;
  const [livezMs, orderMs] = await measuring;
  expect(code).toBe(0);
  return { peakMb: peakMb(worker.pid), livezMs, orderMs, orders: next };
}

describe('a worker with 192 MB of heap, under attack', () => {
  it.each([
    'tiny_parts',
    'pipelining',
    'pipelining_of_many',
    'no_host',
    'expect',
    'many_headers',
    'held_connections',
    'slow_headers',
    'slow_bodies',
    'unknown_keys',
    'waits',
    'gzip_and_deep_json',
    'wrong_tokens',
  ])(
    '%s: stays small, answers, and takes the orders of the shop',
    async (attack) => {
      const { peakMb: mb, livezMs, orderMs, orders } = await underAttack(attack);
      expect(orders).toBeGreaterThan(1);
      expect(mb).toBeLessThan(230);
      if (!isMeasured) return;
      process.stdout.write(`${JSON.stringify({ attack, mb, livezMs, orderMs, orders })}\n`);
      expect(livezMs).toBeLessThan(500);
      expect(orderMs).toBeLessThan(2000);
    },
    attackMs + 60_000,
  );
});
