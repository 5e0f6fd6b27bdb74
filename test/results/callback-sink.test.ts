import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ResultDocument } from '../../src/core/result/result-document.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { callbackSink } from '../../src/results/callback-sink.ts';
import type { Delivery, Sink } from '../../src/results/delivery-loop.ts';
import type { CallbackSettings } from '../../src/results/settings.ts';
import { answers, Receiver, takes } from '../support/receiver.ts';
import { certificates } from '../wholesale/transport/certificates.ts';

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const document: ResultDocument = {
  source: 'shop',
  order_id: '1001',
  state: 'completed',
  sandbox: true,
  metadata: {},
  lines: [],
  updated_at: '2026-11-21T12:00:00.000Z',
};
const clock = new SystemClock();

function sinkTo(url: string, secrets = [secret], events: CallbackSettings['events'] = null): Sink {
  return callbackSink({
    endpoint: 'shop',
    receiver: () => ({
      name: 'shop',
      url,
      secrets,
      sources: null,
      events,
      connectMs: 60_000,
      totalMs: 60_000,
    }),
    clock,
    version: '0.0.0',
    retryTimeScale: 1,
  });
}

const delivery = (version: number): Delivery => ({
  version,
  sharesName: false,
  ordered: new Map(),
  boughtInPlaceOf: new Map(),
  signal: new AbortController().signal,
  confirmed: null,
  confirm: async () => undefined,
  notePosts: null,
  flags: [],
  deliveredAtMs: 0,
  keepNotePosts: async () => undefined,
});

async function receiver(...given: Parameters<typeof Receiver.open>): Promise<Receiver> {
  const made = await Receiver.open(...given);
  onTestFinished(() => made.close());
  return made;
}

describe('the callback sink', () => {
  it('gives each version of a result one id for all its tries, and a new version a new id', async () => {
    const shop = await receiver(answers(500), takes);
    const sink = sinkTo(shop.url);
    await expect(sink.deliver(document, delivery(7))).rejects.toThrow('the receiver answered 500');
    await sink.deliver(document, delivery(7));
    await sink.deliver(document, delivery(8));
    const [first, second, third] = shop.posts.map((post) => post.headers['webhook-id']);
    expect(first).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    for (const { headers, body } of shop.posts) {
      const given = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      );
      expect(() => new Webhook(secret).verify(body, given)).not.toThrow();
      expect(() => new Webhook(secret).verify(`${body} `, given)).toThrow('No matching signature');
    }
  });

  it('signs each post with every secret: a receiver that knows one of them accepts it, and no other', async () => {
    const shop = await receiver(takes);
    const [old, next, stranger] = [9, 10, 11].map(
      (byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`,
    );
    await sinkTo(shop.url, [old ?? '', next ?? '']).deliver(document, delivery(1));
    const { headers, body } = shop.posts[0] ?? { headers: {}, body: '' };
    const given = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    );
    expect(given['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const known of [old, next]) {
      expect(new Webhook(known ?? '').verify(body, given)).toMatchObject({ order_id: '1001' });
      expect(() => new Webhook(known ?? '').verify(body.replace('1001', '1002'), given)).toThrow(
        'No matching',
      );
      const later = { ...given, 'webhook-id': 'msg_other' };
      expect(() => new Webhook(known ?? '').verify(body, later)).toThrow('No matching');
    }
    expect(() => new Webhook(stranger ?? '').verify(body, given)).toThrow('No matching');
  });

  it.each([
    [400, { refusesResult: true, retryAfterMs: null }],
    [422, { refusesResult: true, retryAfterMs: null }],
    [404, { refusesResult: false, retryAfterMs: null }],
    [429, { refusesResult: false, retryAfterMs: 7000 }],
    [503, { refusesResult: false, retryAfterMs: 7000 }],
    [500, { refusesResult: false, retryAfterMs: null }],
  ])(
    'says of status %s whose failure it is, and how long the receiver asks to wait',
    async (status, expected) => {
      const shop = await receiver(answers(status, { 'retry-after': '7' }));
      const delivered = sinkTo(shop.url).deliver(document, delivery(1));
      await expect(delivered).rejects.toMatchObject({ reason: `http_${status}`, ...expected });
    },
  );

  it.each([300, 301, 302, 303, 307, 308, 400, 401, 404, 410, 429, 500, 503])(
    'does not accept status %s as a confirmation, and follows no redirect',
    async (status) => {
      const elsewhere = await receiver(takes);
      const shop = await receiver(answers(status, { location: elsewhere.url }));
      await expect(sinkTo(shop.url).deliver(document, delivery(1))).rejects.toThrow(
        `the receiver answered ${status}`,
      );
      expect(elsewhere.posts).toEqual([]);
    },
  );

  it('sends nothing to a receiver without a trusted certificate, even if NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    const { cert, key } = certificates.good;
    let posts = 0;
    const server = createTlsServer({ cert, key }, (_, response) => {
      posts += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    onTestFinished(() => {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      server.close();
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(
      sinkTo(`https://localhost:${port}`).deliver(document, delivery(1)),
    ).rejects.toThrow(/CERT/);
    expect(posts).toBe(0);
  });

  it('fails when the receiver is killed during a delivery, and when no receiver is running', async () => {
    const code = `require('node:http').createServer(() => console.log('got it'))
      .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface({ input: child.stdout });
    const [port]: unknown[] = await once(lines, 'line');
    const sink = sinkTo(`http://127.0.0.1:${String(port)}/`);
    const delivered = sink.deliver(document, delivery(1));
    delivered.catch(() => undefined);
    await once(lines, 'line');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect(delivered).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await expect(sink.deliver(document, delivery(1))).rejects.toThrow(
      'could not be reached: ECONNREFUSED',
    );
  });

  it('waits longer after each failure, and gives up after the tenth', () => {
    const sink = sinkTo('http://127.0.0.1:1');
    const delays = Array.from(
      { length: 10 },
      (_, index) => sink.retryDelayMs?.(index + 1, null) ?? null,
    );
    const given = delays.filter((delay) => delay !== null);
    expect(given).toEqual(given.toSorted((a, b) => a - b));
    expect(given.reduce((sum, delay) => sum + delay, 0)).toBeGreaterThan(3 * 86_400_000);
    expect(delays[9]).toBeNull();
  });
});
