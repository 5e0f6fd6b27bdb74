import { createHmac } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startIntake } from '../../intake/http/running-intake.ts';
import { certificates } from '../../wholesale/transport/certificates.ts';
import { minutesAgo, readBackOf, shopifyBody, wooBody } from './running-read-back.ts';
import {
  type Misbehaviour,
  send,
  type ShopCallSeen,
  StubShopify,
  type StubShop,
  StubWooCommerce,
} from './stub-shop.ts';

const platforms = [
  ['woocommerce', StubWooCommerce, wooBody],
  ['shopify', StubShopify, shopifyBody],
] as const;

const isList = ({ url }: ShopCallSeen): boolean => /\/orders(\.json)?$/.test(url.pathname);
const sizeOf = ({ url }: ShopCallSeen): number =>
  Number(url.searchParams.get('per_page') ?? url.searchParams.get('limit'));
const isLight = ({ url }: ShopCallSeen): boolean =>
  url.searchParams.has('_fields') || url.searchParams.has('fields');

/** A shop that fails at each question whose answer has one of these orders. */
function failsAt(
  stub: StubShop,
  ids: readonly string[],
  fails: (call: ShopCallSeen) => boolean,
): void {
  stub.spoil = (call, body) =>
    fails(call) && ids.some((id) => new RegExp(`"id":${id}[,}]`).test(body));
}

describe.each(platforms)('a shop on %s', (platform, Stub, body) => {
  async function shopWith(orders: number) {
    const stub = await new Stub().open();
    for (let id = 1; id <= orders; id += 1)
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body: body(`${id}1`) });
    return { stub, ...(await readBackOf(platform, stub)) };
  }

  it.each<[string, Misbehaviour]>([
    ['500', (_, r) => send(r, 500, '<title>Error</title>')],
    ['502 of a proxy', (_, r) => send(r, 502, '<html><title>502 Bad Gateway</title>')],
    [
      '503 of a cache before it',
      (_, r) => send(r, 503, '<title>503 Backend fetch failed</title>', { 'retry-after': '0' }),
    ],
    ['200 and a page', (_, r) => send(r, 200, '<b>Fatal error</b>: Allowed memory size exhausted')],
    ['200 and a part of its JSON', (_, r) => send(r, 200, '[{"id":1')],
    [
      'the end of the connection',
      (_, r) => {
        r.socket?.destroy();
        return true;
      },
    ],
  ])(
    'that answers large pages with %s is read in smaller ones, within one run',
    async (_, fault) => {
      const { stub, run, bought, watermark, flagged } = await shopWith(25);
      stub.misbehave = (call, response) =>
        isList(call) && sizeOf(call) > 3 && fault(call, response);
      expect(await run()).toMatchObject({ complete: true, accepted: 25, error: null });
      expect([bought().length, flagged(), await watermark()]).toEqual([
        25,
        [],
        stub.orders.at(-1)?.modifiedMs,
      ]);
      // It asks for more again, and not for the largest page each time.
      expect(Math.max(...stub.calls.slice(6).map(sizeOf))).toBeGreaterThan(3);
      expect(stub.calls.filter((call) => sizeOf(call) === 10)).toHaveLength(1);
      stub.misbehave = () => false;
      for (let runs = 0; runs < 5; runs += 1) await run();
      expect(stub.calls.slice(-1).map(sizeOf)).toEqual([10]);
    },
  );

  it('that fails at one order for ever is read all the same: the order is flagged, until it can be read', async () => {
    const { stub, run, bought, flagged, watermark, readBack } = await shopWith(25);
    failsAt(stub, ['13'], (call) => !isLight(call));
    expect(await run()).toMatchObject({ complete: true, accepted: 24, error: null });
    expect([flagged(), readBack.health()]).toEqual([['13/null unreadable_order'], 'pass']);
    expect(await watermark()).toBe(stub.orders.at(-1)?.modifiedMs);
    // It costs a few questions in each run, not a search.
    const calls = stub.calls.length;
    expect(await run()).toMatchObject({ complete: true, accepted: 0, error: null });
    expect([flagged(), stub.calls.length - calls < 40]).toEqual([
      ['13/null unreadable_order'],
      true,
    ]);
    stub.put({ id: '90', modifiedMs: minutesAgo(1), body: body('901') });
    await run();
    stub.spoil = () => false;
    // The list begins after it now: it is read alone.
    expect(await run()).toMatchObject({ accepted: 1, error: null });
    expect([bought().length, flagged()]).toEqual([26, []]);
  });

  it.each([
    ['first', '1'],
    ['last', '25'],
  ])('that fails at the %s order is read, and has that one flagged', async (_, id) => {
    const { stub, run, bought, flagged } = await shopWith(25);
    failsAt(stub, [id], (call) => !isLight(call));
    expect(await run()).toMatchObject({ complete: true, error: null });
    expect([bought().length, flagged()]).toEqual([24, [`${id}/null unreadable_order`]]);
  });

  it('that fails at several orders in a row has each of them flagged', async () => {
    const { stub, run, bought, flagged } = await shopWith(15);
    failsAt(stub, ['4', '5', '6', '7'], (call) => !isLight(call));
    for (let runs = 0; runs < 2; runs += 1) await run();
    const rows = ['4', '5', '6', '7'].map((id) => `${id}/null unreadable_order`);
    expect([bought().length, flagged()]).toEqual([11, rows]);
  });

  it('that fails once is flagged for nothing', async () => {
    const { stub, run, flagged } = await shopWith(5);
    let failures = 0;
    stub.misbehave = (call, response) =>
      isList(call) && sizeOf(call) > 1 && (failures += 1) === 1 && send(response, 500, '');
    expect(await run()).toMatchObject({ complete: true, accepted: 5, error: null });
    expect(flagged()).toEqual([]);
  });

  it('that is down costs two questions a run, flags nothing, and is read from the same place later', async () => {
    const { stub, run, flagged, watermark } = await shopWith(5);
    await run();
    const before = await watermark();
    stub.put({ id: '9', modifiedMs: minutesAgo(1), body: body('91') });
    stub.misbehave = (_, response) => send(response, 502, '<title>Bad gateway</title>');
    const calls = stub.calls.length;
    for (let runs = 0; runs < 3; runs += 1) expect((await run()).error?.kind).toBe('unavailable');
    expect([stub.calls.length - calls, flagged(), await watermark()]).toEqual([6, [], before]);
    stub.misbehave = () => false;
    expect(await run()).toMatchObject({ complete: true, accepted: 1, error: null });
  });

  it.each([
    ['X-Cache', { 'x-cache': 'HIT from edge-7' }],
    ['Age', { age: '120' }],
    ['CF-Cache-Status', { 'cf-cache-status': 'HIT' }],
  ])(
    'whose answers come from a cache by their %s is not believed, and the health warns',
    async (_, headers) => {
      const { stub, run, watermark, readBack } = await shopWith(5);
      stub.misbehave = (__, response) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        return false;
      };
      const failed = await run();
      expect(failed).toMatchObject({
        accepted: 0,
        error: { kind: 'cached', message: expect.stringMatching(/exclude .*\/wp-json\//) },
      });
      expect((await watermark()) ?? 0).toBeLessThan(stub.orders[0]?.modifiedMs ?? 0);
      expect([readBack.health(), readBack.details()?.['reason']]).toEqual([
        'warn',
        failed.error?.message,
      ]);
      stub.misbehave = () => false;
      expect(await run()).toMatchObject({ accepted: 5, error: null });
      expect(readBack.health()).toBe('pass');
    },
  );

  it('whose answers repeat a time that is past is not believed, and its object cache disturbs nobody', async () => {
    const { stub, run } = await shopWith(5);
    stub.misbehave = (_, response) => {
      response.setHeader('x-object-cache', 'HIT');
      response.setHeader('x-cache', 'MISS from edge-7');
      return false;
    };
    expect(await run()).toMatchObject({ accepted: 5, error: null });
    stub.clockAheadMs = -60_000;
    expect((await run()).error).toMatchObject({
      kind: 'cached',
      message: expect.stringMatching(/date: .* before the call/),
    });
    // Somebody has set its clock back.
    expect(await run()).toMatchObject({ error: null });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])(
    'that answers in %s is read, and not more of it than the longest answer',
    async (encoding, compress) => {
      const { stub, run } = await shopWith(5);
      stub.encode = (text) => ({ encoding, bytes: compress(Buffer.from(text)) });
      expect(await run()).toMatchObject({ accepted: 5, error: null });
      stub.encode = () => ({ encoding, bytes: compress(Buffer.alloc(2_000_000, ' ')) });
      expect((await run()).error).toMatchObject({
        kind: 'unreadable',
        message: expect.stringMatching(/longer than 1048576/),
      });
    },
  );

  it('that begins its answers with byte order marks is read', async () => {
    const { stub, run } = await shopWith(5);
    stub.encode = (text) => ({ encoding: 'identity', bytes: Buffer.from(`\uFEFF\uFEFF\n${text}`) });
    expect(await run()).toMatchObject({ accepted: 5, error: null });
  });

  it('is asked for answers that no cache keeps', async () => {
    const { stub, run } = await shopWith(1);
    await run();
    expect(stub.calls.map(({ headers }) => headers['cache-control'])).toEqual(
      stub.calls.map(() => 'no-cache'),
    );
  });
});

describe('a shop whose webhooks have a wrong signature', () => {
  it('is flagged when read-back brings an order, until a signed webhook comes', async () => {
    const stub = await new StubWooCommerce().open();
    const running = await readBackOf('woocommerce', stub);
    const { run, flagged, handler, readBack } = running;
    const { call } = await startIntake({
      handlers: {
        handlerFor: () => handler,
        formats: [handler.webhook],
        details: () => null,
      },
    });
    const deliver = async (
      secret: string,
      headers: Record<string, string> = {},
    ): Promise<number> => {
      const text = '{}';
      const signature = createHmac('sha256', secret).update(text).digest('base64');
      const own = {
        'content-type': 'application/json',
        'x-wc-webhook-signature': signature,
        ...headers,
      };
      return (await call('POST', '/webhooks/woocommerce/main', own, text)).status;
    };
    const topic = { 'x-wc-webhook-topic': 'order.updated' };
    stub.put({ id: '1', modifiedMs: minutesAgo(9), body: wooBody('11') });
    // Anybody may send that.
    expect(await deliver('another-secret')).toBe(401);
    expect(await run()).toMatchObject({ accepted: 1 });
    expect([flagged(), readBack.health()]).toEqual([[], 'pass']);
    expect(await deliver('another-secret', topic)).toBe(401);
    expect(await run()).toMatchObject({ accepted: 0 });
    expect([flagged(), readBack.health()]).toEqual([[], 'pass']);
    stub.put({ id: '2', modifiedMs: minutesAgo(8), body: wooBody('21') });
    expect(await run()).toMatchObject({ accepted: 1 });
    expect([flagged(), readBack.health()]).toEqual([['null/null signature_refused'], 'warn']);
    expect(running.outbox.store.read.attention(9)).toMatchObject([{ reason: 'signature_refused' }]);
    expect(readBack.details()).toMatchObject({
      reason: expect.stringMatching(/main signs .* not in `secrets`/),
    });
    expect(await deliver('a-secret-of-the-shop', { 'x-wc-webhook-topic': 'product.updated' })).toBe(
      200,
    );
    expect([flagged(), readBack.health(), readBack.details()]).toEqual([[], 'pass', null]);
    // The next order comes by read-back, because it was faster.
    stub.put({ id: '3', modifiedMs: minutesAgo(7), body: wooBody('31') });
    expect(await run()).toMatchObject({ accepted: 1 });
    expect(flagged()).toEqual([]);
  });
});

describe('a WooCommerce shop', () => {
  async function shopWith(orders: number) {
    const stub = await new StubWooCommerce().open();
    for (let id = 1; id <= orders; id += 1)
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body: wooBody(`${id}1`) });
    return { stub, ...(await readBackOf('woocommerce', stub)) };
  }

  it('that does not even show the id of an order has that flagged, and the rest is read', async () => {
    const { stub, run, bought, flagged, watermark } = await shopWith(25);
    failsAt(stub, ['13'], () => true);
    for (let runs = 0; runs < 2; runs += 1)
      expect(await run()).toMatchObject({ complete: true, error: null });
    expect([bought().length, flagged()]).toEqual([24, ['null/null unreadable_order']]);
    expect(await watermark()).toBe(stub.orders.at(-1)?.modifiedMs);
  });

  it('that claims a wrong total is read to its end', async () => {
    const { stub, run, bought } = await shopWith(25);
    stub.claimsTotal = 1;
    expect(await run()).toMatchObject({ complete: true, accepted: 25, error: null });
    expect(bought()).toHaveLength(25);
  });

  it('behind a cache that looks at nothing but the address is asked at another address each time', async () => {
    const { stub, run } = await shopWith(1);
    await run();
    await run();
    expect(
      stub.calls.map(({ signed }) => signed.search).every((query) => /[?&]_=\d+$/.test(query)),
    ).toBe(true);
    expect(new Set(stub.calls.map(({ signed }) => signed.href)).size).toBe(stub.calls.length);
  });

  it.each([
    ['expired', /CERT_HAS_EXPIRED.*; renew the shop's certificate/, 'expired'],
    ['for another host', /ALTNAME.*; set rest\.url to a name/, 'elsewhere'],
  ] as const)(
    'with a certificate that is %s is not called, and that is said',
    async (_, message, name) => {
      const { cert, key } = certificates[name];
      const server = createTlsServer({ cert, key }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const stub = await new StubWooCommerce().open();
      const rest = { url: `https://localhost:${port}`, ca: cert };
      const { run } = await readBackOf('woocommerce', stub, { rest });
      expect((await run()).error).toMatchObject({
        kind: 'unreachable',
        message: expect.stringMatching(message),
      });
    },
  );
});
