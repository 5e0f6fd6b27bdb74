import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation, type LogLine, order } from '../../support/worker-process.ts';
import type { AttackPlan } from './attacker.ts';

/**
 * How long each attack lasts. CI lets each last longer, and measures the times: nothing else may
 * run beside it.
 */
const attackMs = Number(process.env['ATTACK_MS'] ?? 1000);
const isMeasured = process.env['ATTACK_MS'] !== undefined;
const token = 'the-long-token-of-the-shop';
const signingKey = Buffer.alloc(32, 3);
/** Of another shop, whose server attacks. */
const otherToken = 'the-token-of-the-other';

let ordersSent = 0;
const nextOrder = (): number => (ordersSent += 1);

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

/**
 * Runs one call after another, each on a new connection, at least twice. Resolves to the longest
 * time in ms.
 */
async function measured(
  call: () => Promise<void>,
  pauseMs: number,
  isOver: () => boolean,
): Promise<number> {
  let longestMs = 0;
  for (let calls = 0; calls < 2 || !isOver(); calls += 1) {
    const startMs = performance.now();
    await call();
    longestMs = Math.max(longestMs, performance.now() - startMs);
    await sleep(pauseMs);
  }
  return longestMs;
}

/** Who orders during an attack, and how it proves who it is. */
interface Caller {
  readonly address: string;
  readonly by: 'token' | 'signature';
}

interface Kind {
  readonly attack: string;
  /** The only address of the attacker; null: it has many, 127.0.1.1 is one of them. */
  readonly from: string | null;
  readonly callers: readonly Caller[];
  /**
   * When the measuring begins: at once, after each caller has ordered, or when this line is in the
   * log, before any has.
   */
  readonly after?: (line: LogLine) => boolean;
}

const shop: Caller = { address: '127.0.0.2', by: 'token' };
/** Whoever comes through the proxy of the attacker, for example. */
const shopAt = (address: string): Caller => ({ address, by: 'token' });
const ofMany = (attack: string): Kind => ({
  attack,
  from: null,
  callers: [shop, shopAt('127.0.1.1')],
});

const kinds: readonly Kind[] = [
  ofMany('tiny_parts'),
  ofMany('pipelining'),
  ofMany('pipelining_of_many'),
  ofMany('no_host'),
  ofMany('expect'),
  ofMany('many_headers'),
  ofMany('held_connections'),
  ofMany('slow_headers'),
  ofMany('slow_bodies'),
  ofMany('unknown_keys'),
  ofMany('gzip_and_deep_json'),
  ofMany('wrong_tokens'),
  { attack: 'two_gets', from: '127.0.0.1', callers: [shop, shopAt('127.0.0.1')] },
  {
    attack: 'tiny_chunks_behind_proxy',
    from: '127.0.0.3',
    callers: [shopAt('127.0.0.3')],
    after: ({ reason }) => reason === 'tiny_parts',
  },
  {
    attack: 'guessing',
    from: '127.0.0.3',
    callers: [shopAt('127.0.0.3')],
    after: (line) => line['wrong_tokens'] === 100,
  },
  {
    attack: 'held_bodies',
    from: '127.0.1.1',
    callers: [{ ...shop, by: 'signature' }, shopAt('127.0.1.1')],
  },
];

/** What proves that the order is of the shop. */
function proofOf(by: Caller['by'], body: string): Record<string, string> {
  if (by === 'token') return { authorization: `Bearer ${token}` };
  const id = `msg_${randomUUID()}`;
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', signingKey)
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

/**
 * Sends one order on a new connection, as many shops' programs do. Throws when it is not accepted.
 */
async function sendOrder(port: number, { address, by }: Caller): Promise<void> {
  const client = new Client(`http://127.0.0.1:${port}`, { localAddress: address });
  const body = order(nextOrder());
  try {
    const headers = { ...proofOf(by, body), 'content-type': 'application/json' };
    const answer = await client.request({ method: 'POST', path: '/v1/orders', headers, body });
    expect([answer.statusCode, await answer.body.text()]).toEqual([202, expect.any(String)]);
  } finally {
    await client.destroy();
  }
}

async function underAttack({ attack, from, callers, after }: Kind) {
  const installation = await Installation.open({
    // The API runs in this process, which measures: it must have little to do.
    limits: { window_ms: 1000, requests: 100, orders: 20, transit_ms: 50 },
    webhook: {
      tokens: [
        { name: 'shop', value: token },
        { name: 'other', value: otherToken },
      ],
      standard_webhooks: [{ name: 'signed', secret: `whsec_${signingKey.toString('base64')}` }],
    },
  });
  open.push(installation);
  const worker = installation.start(['env', 'NODE_OPTIONS=--max-old-space-size=192']);
  const started = await worker.started();
  const port = Number(String(started['webhook']).split(':').at(-1));
  const adminPort = Number(String(started['admin']).split(':').at(-1));
  const livez = async (): Promise<void> => {
    const answer = await fetch(`http://${String(started['admin'])}/livez`);
    expect(await answer.json()).toEqual({ status: 'pass' });
  };
  if (after === undefined) for (const caller of callers) await sendOrder(port, caller);
  const plan: AttackPlan = { attack, port, adminPort, from, token: otherToken };
  const attacker = spawn(
    process.execPath,
    [join(import.meta.dirname, 'attacker.ts'), JSON.stringify(plan)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  children.add(attacker);
  const ended = once(attacker, 'exit');
  await once(attacker.stdout, 'data');
  if (after !== undefined) await worker.line(after);
  const before = ordersSent;
  const endMs = performance.now() + attackMs;
  const isOver = (): boolean => performance.now() >= endMs || attacker.exitCode !== null;
  const [livezMs, ...orderMs] = await Promise.all([
    measured(livez, 50, isOver),
    ...callers.map((caller) => measured(() => sendOrder(port, caller), 100, isOver)),
  ]);
  expect(attacker.exitCode).toBeNull();
  attacker.stdin.end();
  const [code] = await ended;
  children.delete(attacker);
  expect(code).toBe(0);
  return { peakMb: peakMb(worker.pid), livezMs, orderMs, orders: ordersSent - before };
}

describe('a worker with 192 MB of heap, under attack', () => {
  it.each(kinds)(
    '$attack: stays small, answers, and takes the orders of the shop',
    async (kind) => {
      const { peakMb: mb, livezMs, orderMs, orders } = await underAttack(kind);
      expect(orders).toBeGreaterThanOrEqual(2 * kind.callers.length);
      expect(mb).toBeLessThan(230);
      if (!isMeasured) return;
      const figures = [mb, livezMs, ...orderMs].map(Math.round);
      process.stdout.write(
        `${JSON.stringify({ attack: kind.attack, mb_livez_orders: figures, orders })}\n`,
      );
      expect(livezMs).toBeLessThan(500);
      expect(Math.max(...orderMs)).toBeLessThan(2000);
    },
    attackMs + 60_000,
  );
});
