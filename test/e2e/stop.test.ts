import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { hangs, Receiver } from '../support/receiver.ts';
import { House } from '../support/worker-process.ts';

let house: House | null = null;
afterEach(async () => {
  await house?.close();
  house = null;
});

const order = (id: number) =>
  JSON.stringify({
    source: 'shop',
    order_id: String(id),
    currency: 'USD',
    lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
  });

describe('a worker that is asked to end', () => {
  it('exits 0 at once when it has nothing to do, and leaves no trace of running', async () => {
    house = await House.open();
    const worker = house.start();
    await worker.started();
    const asked = performance.now();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(performance.now() - asked).toBeLessThan(3000);
    expect(() => statSync(join(house?.folder ?? '', 'run.json'))).toThrow('ENOENT');
  });

  it('waits for a call that is open, writes its result, and sends nothing more', async () => {
    house = await House.open({
      sandbox: { limits: { enabled: false }, latency: { after_ms: [1500, 1500] } },
      submit: { concurrency: 1 },
    });
    house.drop('a.ndjson', `${order(1)}\n${order(2)}\n`);
    const worker = house.start();
    await worker.started();
    while (house.sandbox.ledger().orders.length === 0) await new Promise((resolve) => void setTimeout(resolve, 10));
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(house.sandbox.ledger().orders).toHaveLength(1);
    expect([...house.results().keys()]).toEqual(['shop/1']);
    expect(house.query('SELECT state FROM outbox ORDER BY order_id')).toEqual([
      { state: 'fulfilled' },
      { state: 'pending' },
    ]);
  });

  it('exits 0 within 9 s when a call does not end; the next start finds out what became of it', {
    timeout: 40_000,
  }, async () => {
    house = await House.open({
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
    house.drop('a.ndjson', `${order(1)}\n`);
    const worker = house.start();
    await worker.started();
    while (house.sandbox.ledger().orders.length === 0) await new Promise((resolve) => void setTimeout(resolve, 10));
    const asked = performance.now();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(performance.now() - asked).toBeLessThan(9000);
    expect(house.query('SELECT state, outcome_unknown FROM outbox')).toEqual([
      { state: 'unknown', outcome_unknown: 1 },
    ]);

    const next = house.start();
    await next.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    await next.end('SIGTERM');
    expect(house.sandbox.ledger().orders).toHaveLength(1);
    expect(house.query('SELECT outcome FROM attempt_log ORDER BY opened_at')).toEqual([
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
    house = await House.open({
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
      callback: { url: receiver.url, secret: `whsec_${Buffer.alloc(32, 9).toString('base64')}`, total_ms: 60_000 },
    });
    // One after the other they would take longer than the 9 s that there are.
    house.configure((config) => (config.shutdown = { grace_ms: 5500 }));
    house.drop('a.ndjson', `${order(1)}\n`);
    const worker = house.start();
    const { webhook } = await worker.started();
    await receiver.arrived(1);
    house.drop('b.ndjson', `${order(2)}\n`);
    while (house.sandbox.ledger().orders.length < 2) await new Promise((resolve) => void setTimeout(resolve, 10));
    const [host, port] = String(webhook).split(':');
    const caller = connect(Number(port), host);
    onTestFinished(() => void caller.destroy());
    caller.on('error', () => undefined);
    const head = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000`;
    caller.write(`GET /nothing HTTP/1.1\r\nHost: x\r\n\r\nPOST /v1/orders HTTP/1.1\r\n${head}\r\n\r\n{`);
    // The first answer shows that the connection is open, and the second request behind it.
    await once(caller, 'data');
    const asked = performance.now();
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);
    expect(performance.now() - asked).toBeLessThan(9000);
  });

  it('is the only one: a second worker on the same outbox says so and exits 5', async () => {
    house = await House.open();
    const first = house.start();
    await first.started();
    const second = house.start();
    expect(await second.exited()).toBe(5);
    expect(second.stderr).toContain('Another worker holds the outbox');
    expect(await first.end('SIGTERM')).toBe(0);
  });

  it('has written results that only their owner may read', async () => {
    house = await House.open();
    house.drop('a.ndjson', `${order(1)}\n`);
    const worker = house.start();
    await worker.line((line) => line.msg === 'result delivered');
    await worker.end('SIGTERM');
    const path = join(house.folder, 'results/shop/1.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ sandbox: true, state: 'completed' });
    // The delivered code stands in the result, and in no line of the log.
    const code = String(JSON.parse(readFileSync(path, 'utf8')).lines[0].entries[0].units[0].code);
    expect(JSON.stringify(worker.log)).not.toContain(code);
    expect(JSON.stringify(worker.log)).not.toContain('sandbox-key-main');
  });
});
