import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { hangs, Receiver } from '../support/receiver.ts';
import { Installation, order } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

/** Runs a command as the first process of a namespace, as a container without an init does. */
const asFirst = ['unshare', '--map-root-user', '--pid', '--fork', '--kill-child'];
const mayBeFirst = spawnSync(asFirst[0] ?? '', [...asFirst.slice(1), 'true']).status === 0;

/** Signals the only child of a process, if it has one at the moment. */
function signalChildOf(pid: number, signal: NodeJS.Signals): void {
  try {
    const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));
    if (child > 0) process.kill(child, signal);
  } catch {
    // It has ended.
  }
}

describe('a worker that gets a stop signal', () => {
  it.skipIf(!mayBeFirst)(
    'ends before it has loaded, also where the system ignores what no handler waits for',
    async () => {
      installation = await Installation.open();
      const first = installation.start(asFirst);
      let end: number | null | 'running' = 'running';
      // Node itself takes a moment, in which a signal is lost.
      while (end === 'running') {
        signalChildOf(first.pid, 'SIGTERM');
        const soon = new Promise<void>((resolve) => void setTimeout(resolve, 5));
        end = await Promise.race([first.exited(), soon.then(() => 'running' as const)]);
      }
      // While Node starts its threads, the system may also end it by the signal itself.
      expect(end ?? first.signal).toBeOneOf([143, 'SIGTERM']);
      expect({ log: first.log, stderr: first.stderr }).toEqual({ log: [], stderr: '' });
    },
  );

  it('exits 0 at once when it has nothing to do, and removes its run file', async () => {
    installation = await Installation.open();
    const worker = installation.start();
    await worker.started();
    const asked = performance.now();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(performance.now() - asked).toBeLessThan(3000);
    expect(() => statSync(join(installation?.folder ?? '', 'run.json'))).toThrow('ENOENT');
  });

  it('waits for a call in flight, writes its result, and sends nothing more', async () => {
    installation = await Installation.open({
      sandbox: { limits: { enabled: false }, latency: { after_ms: [1500, 1500] } },
      submit: { concurrency: 1 },
    });
    installation.drop('a.ndjson', `${order(1)}\n${order(2)}\n`);
    const worker = installation.start();
    await worker.started();
    while (installation.sandbox.ledger().orders.length === 0)
      await new Promise((resolve) => void setTimeout(resolve, 10));
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(installation.sandbox.ledger().orders).toHaveLength(1);
    expect([...installation.results().keys()]).toEqual(['shop/1']);
    expect(installation.query('SELECT state FROM outbox ORDER BY order_id')).toEqual([
      { state: 'fulfilled' },
      { state: 'pending' },
    ]);
  });

  it('exits 0 within 9 s when a call does not end; the next start looks the order up', {
    timeout: 40_000,
  }, async () => {
    installation = await Installation.open({
      sandbox: {
        limits: { enabled: false },
        faults: [
          {
            fault: { fault: 'hang', when: 'after', duration_ms: 60_000 },
            match: { operation: 'gift_card_order' },
            at: [1],
          },
        ],
      },
    });
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    await worker.started();
    while (installation.sandbox.ledger().orders.length === 0)
      await new Promise((resolve) => void setTimeout(resolve, 10));
    const asked = performance.now();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(performance.now() - asked).toBeLessThan(9000);
    expect(installation.query('SELECT state, outcome_unknown FROM outbox')).toEqual([
      { state: 'unknown', outcome_unknown: 1 },
    ]);

    const next = installation.start();
    await next.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    await next.end('SIGTERM');
    expect(installation.sandbox.ledger().orders).toHaveLength(1);
    expect(installation.query('SELECT outcome FROM attempt_log ORDER BY opened_at')).toEqual([
      { outcome: 'shutdown' },
      { outcome: 'accepted' },
    ]);
  });

  it('exits 0 in time when a caller, the supplier and a receiver of results hang, all at once', {
    timeout: 40_000,
  }, async () => {
    const receiver = await Receiver.open(hangs);
    onTestFinished(() => receiver.close());
    const token = 'a-token-of-this-test-1';
    installation = await Installation.open({
      sandbox: {
        limits: { enabled: false },
        faults: [
          {
            fault: { fault: 'hang', when: 'after', duration_ms: 60_000 },
            match: { operation: 'gift_card_order' },
            at: [2],
          },
        ],
      },
      webhook: { tokens: [{ name: 'shop', value: token }] },
      callback: {
        url: receiver.url,
        secrets: [{ value: `whsec_${Buffer.alloc(32, 9).toString('base64')}` }],
      },
      // The receiver has as long as in production.
      timeScale: 1,
    });
    // One after the other they would take longer than 9 s.
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    const { webhook } = await worker.started();
    await receiver.arrived(1);
    installation.drop('b.ndjson', `${order(2)}\n`);
    while (installation.sandbox.ledger().orders.length < 2)
      await new Promise((resolve) => void setTimeout(resolve, 10));
    const [host, port] = String(webhook).split(':');
    const caller = connect(Number(port), host);
    onTestFinished(() => void caller.destroy());
    caller.on('error', () => undefined);
    const head = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000`;
    caller.write(`POST /v1/orders HTTP/1.1\r\n${head}\r\nExpect: 100-continue\r\n\r\n{`);
    // This answer proves that the request has begun; its body never ends.
    expect(String(await once(caller, 'data'))).toContain('100 Continue');
    const asked = performance.now();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(performance.now() - asked).toBeLessThan(9000);
  });

  it('has written results that only their owner can read', async () => {
    installation = await Installation.open();
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    await worker.line((line) => line.msg === 'result delivered');
    await worker.end('SIGTERM');
    const path = join(installation.folder, 'results/shop/1.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      sandbox: true,
      state: 'completed',
    });
    // The result contains the delivered code; no line of the log does.
    const code = String(JSON.parse(readFileSync(path, 'utf8')).lines[0].entries[0].units[0].code);
    expect(JSON.stringify(worker.log)).not.toContain(code);
    expect(JSON.stringify(worker.log)).not.toContain('sandbox-key-main');
  });
});
