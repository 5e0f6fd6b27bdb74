import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { AttackPlan } from '../test/e2e/attacks/attacker.ts';
import { Installation } from '../test/support/worker-process.ts';
import { goal, median, type Row } from './support/row.ts';

/** What the shop posts in a second: more than the largest shop, and less than the intake takes. */
const ordersPerSecond = 200;
const everyMs = 1000 / ordersPerSecond;
const measuredMs = 5000;
const rounds = 3;
const token = 'the-token-of-the-shop';
const attacks = ['tiny_parts', 'pipelining', 'held_connections', 'slow_bodies', 'wrong_tokens'];

/** Posts orders at the rate of the shop, and returns how many were acknowledged in a second. */
async function acknowledgedPerSecond(pool: Pool, prefix: string): Promise<number> {
  let acknowledged = 0;
  const startMs = performance.now();
  const isOver = (): boolean => performance.now() - startMs >= measuredMs;
  const posts: Promise<void>[] = [];
  for (let index = 0; !isOver(); index += 1) {
    const post = async (): Promise<void> => {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/v1/orders',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: `{"source":"shop","order_id":"${prefix}-${index}","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"steam-usd-5","quantity":1}]}`,
      });
      await body.dump();
      if (statusCode === 202 && !isOver()) acknowledged += 1;
    };
    posts.push(post());
    await sleep(Math.max(0, startMs + (index + 1) * everyMs - performance.now()));
  }
  await Promise.all(posts);
  return (acknowledged * 1000) / measuredMs;
}

function startAttack(plan: AttackPlan): ChildProcess {
  const program = join(import.meta.dirname, '../test/e2e/attacks/attacker.ts');
  return spawn(process.execPath, [program, JSON.stringify(plan)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

/** The rate of the shop alone and beside an attack from other addresses, in turns. */
async function measureAttack(attack: string): Promise<{ aloneRate: number; besideRate: number }> {
  const installation = await Installation.open({
    limits: { window_ms: 1000, requests: 100, orders: 20, transit_ms: 50 },
    webhook: {
      tokens: [{ name: 'shop', value: token }],
      standard_webhooks: [
        { name: 'signed', secret: `whsec_${Buffer.alloc(32, 3).toString('base64')}` },
      ],
      limits: { requests_per_minute: 1_000_000 },
    },
  });
  try {
    const started = await installation.start().started();
    const port = Number(String(started['webhook']).split(':').at(-1));
    const pool = new Pool(`http://127.0.0.1:${port}`, {
      connections: 8,
      localAddress: '127.0.0.2',
    });
    const alone: number[] = [];
    const attacked: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await acknowledgedPerSecond(pool, `alone-${round}`));
      const child = startAttack({ attack, port, adminPort: 0, from: null, token: 'unknown' });
      const ended = once(child, 'exit');
      await once(child.stdout ?? child, 'data');
      attacked.push(await acknowledgedPerSecond(pool, `attacked-${round}`));
      child.stdin?.end();
      await ended;
    }
    await pool.close();
    return { aloneRate: median(alone), besideRate: median(attacked) };
  } finally {
    await installation.close();
  }
}

export async function measure(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const attack of attacks) {
    const { aloneRate, besideRate } = await measureAttack(attack);
    const ratio = besideRate / aloneRate;
    rows.push({
      bench: 'flood',
      what: `a shop that posts ${ordersPerSecond} orders/s beside ${attack} from 20 other addresses`,
      result: `${besideRate.toFixed(0)} orders/s, alone ${aloneRate.toFixed(0)}`,
      ratio: ratio.toFixed(2),
      goal: goal('0.9', ratio >= 0.9),
    });
  }
  return rows;
}
