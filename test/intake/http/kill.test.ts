import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { openReader } from '../../../src/store/read/outbox-reader.ts';
import { Installation, type WorkerProcess, projectRoot } from '../../support/worker-process.ts';
import { token } from './running-intake-config.ts';
import { order } from './running-intake.ts';

/** `KILLS=200` is the long run of CONTRIBUTING.md. */
const times = Number(process.env['KILLS'] ?? 3);
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
const [line] = order().lines;

/** Posts an order; null when the other side died instead of answering. */
async function post(
  address: string,
  body: unknown,
): Promise<{ status: number; text: string } | null> {
  try {
    const response = await fetch(`http://${address}/v1/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  } catch {
    return null;
  }
}

async function startChild(
  path: string,
  dies: string,
): Promise<{ child: ChildProcess; address: string }> {
  const child = spawn(process.execPath, ['test/intake/http/dying-child.ts', path, dies], {
    cwd: projectRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [address]: unknown[] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, address: String(address) };
}

describe('a process that dies around the commit of an order', () => {
  it.each(['commit', 'before'])(
    `(%s) has one entry for the order after it is sent again, ${times} times`,
    { timeout: 60_000 + times * 5000 },
    async (dies) => {
      const folder = mkdtempSync(join(tmpdir(), 'order-sync-dying-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const path = join(folder, 'order-sync.db');
      for (let time = 0; time < times; time += 1) {
        const body = order({ order_id: `k${time}`, lines: [line] });
        const dying = await startChild(path, dies);
        const exit = once(dying.child, 'exit');
        const answers = await Promise.all([post(dying.address, body), post(dying.address, body)]);
        expect(answers).toEqual([null, null]);
        expect(await exit).toEqual([null, 'SIGKILL']);
      }
      const { child, address } = await startChild(path, 'never');
      for (let time = 0; time < times; time += 1) {
        const body = order({ order_id: `k${time}`, lines: [line] });
        const answers = await Promise.all(Array.from({ length: 3 }, () => post(address, body)));
        // An order that was on disk is known; any other is accepted now, once.
        const expected = dies === 'commit' ? [200, 200, 200] : [200, 200, 202];
        expect(answers.map((answer) => answer?.status ?? 0).toSorted((a, b) => a - b)).toEqual(
          expected,
        );
      }
      child.kill('SIGKILL');
      await once(child, 'exit');
      const reader = openReader(path);
      expect(reader.counts().pending).toBe(times);
      reader.close();
    },
  );
});

describe('a worker that is killed while it receives orders over HTTP', () => {
  let installation: Installation | null = null;
  afterEach(async () => {
    await installation?.close();
    installation = null;
  });

  it('buys each acknowledged order once, and each other order once after it is sent again', async () => {
    installation = await Installation.open({
      webhook: { tokens: [{ name: 'shop1', value: token }] },
      sandbox: { latency: { before_ms: [0, 20], after_ms: [0, 20] } },
    });
    const orders = Array.from({ length: 60 }, (_, index) => {
      const card = { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 };
      return order({ order_id: `w${index}`, lines: [card] });
    });
    const references = new Map<unknown, string>();
    let open = [...orders];
    for (let kill = 0; kill <= 4 || open.length > 0; kill += 1) {
      const worker = installation.start();
      const address = await addressOf(worker);
      // The last worker is not killed; the others die while they receive orders.
      const dead = kill < 4 ? delay(20 + kill * 25).then(() => worker.end('SIGKILL')) : null;
      const left: typeof open = [];
      await Promise.all(
        open.map(async (body) => {
          const answer = await post(address, body);
          if (answer === null) return void left.push(body);
          expect([200, 202]).toContain(answer.status);
          references.set(body['order_id'], JSON.parse(answer.text).lines[0].reference);
        }),
      );
      await dead;
      open = left;
      if (kill < 4) continue;
      const all = await post(address, { orders });
      expect(all?.status).toBe(200);
      while (installation.query("SELECT 1 FROM outbox WHERE state <> 'fulfilled'").length > 0)
        await delay(50);
      const settled = await fetch(`http://${address}/v1/orders/shop1/w59`, { headers });
      expect(await settled.json()).toMatchObject({ state: 'completed', sandbox: true });
      expect(await worker.end('SIGTERM')).toBe(0);
    }
    const outbox = installation.query<{ order_id: string; reference: string }>(
      'SELECT order_id, reference FROM outbox',
    );
    expect(new Map(outbox.map((row) => [row.order_id, row.reference]))).toEqual(references);
    const bought = installation.sandbox.ledger().orders.map(({ reference }) => reference);
    expect(bought).toHaveLength(orders.length);
    expect(new Set(bought)).toEqual(new Set(references.values()));
  });

  it('reports its webhook as healthy, and stops when it is asked to', async () => {
    installation = await Installation.open({
      webhook: { tokens: [{ name: 'shop1', value: token }] },
    });
    const worker = installation.start();
    const started = await worker.started();
    const health = await fetch(`http://${String(started['admin'])}/healthz`);
    expect(await health.json()).toMatchObject({ checks: { webhook: 'pass' } });
    expect((await post(String(started['webhook']), order({ lines: [line] })))?.status).toBe(202);
    expect(await worker.end('SIGTERM')).toBe(0);
  });
});

async function addressOf(worker: WorkerProcess): Promise<string> {
  return String((await worker.started())['webhook']);
}
