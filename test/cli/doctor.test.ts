import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import SqliteDatabase from 'better-sqlite3';
import {
  type Answer,
  answersLookups,
  FakeApi,
  type LookupAnswer,
  page,
  refusal,
} from '../support/fake-api.ts';
import { Installation } from '../support/worker-process.ts';
import { send, StubWooCommerce, woo } from '../storefronts/read-back/stub-shop.ts';
import { certificates } from '../wholesale/transport/certificates.ts';
import { recordPause } from '../../src/store/entries/pauses.ts';
import { apiFor, cli, doctor } from './doctor-checks.ts';

/** The bytes, the time and the rows of the database. */
function contentOf(place: Installation) {
  const { databasePath } = place;
  const { mtimeMs, size } = statSync(databasePath);
  const rows = ['pauses', 'audit', 'budget_slots', 'meta', 'wholesale_keys'].map((table) =>
    place.query(`SELECT * FROM ${table}`),
  );
  return { sha256: hash('sha256', readFileSync(databasePath)), mtimeMs, size, rows };
}

describe('order-sync doctor', () => {
  it('passes a new installation, one line a check, asks the API on the budget, and writes nothing', async () => {
    const limits = { window_ms: 60_000, requests: 60, orders: 20, transit_ms: 50 };
    const { api, place } = await apiFor({ limits });
    const before = contentOf(place);
    const { code, stdout } = await cli(place, 'doctor');
    expect(stdout.split('\n').map((line) => line.split(':')[0])).toEqual([
      'pass  config',
      'pass  data_dir',
      'pass  disk',
      'pass  folders',
      'pass  database',
      'warn  lookups',
      '      To do',
      'pass  key',
      'pass  prices',
      'pass  clock',
      'pass  admin.listen',
      '',
    ]);
    expect(code).toBe(0);
    // An absence alone proves nothing: any path that the API does not have is answered so.
    expect(api.calls.map(({ kind }) => kind)).toEqual(['lookup', 'products']);
    expect(api.orders).toEqual([]);
    expect(contentOf(place)).toEqual(before);
  });

  it('pauses nothing because of a key that is denied, and leaves an older database as it is', async () => {
    const { place } = await apiFor({
      keys: [{ name: 'main', value: 'another-key-that-was-revoked' }],
    });
    const database = new SqliteDatabase(place.databasePath);
    database.pragma('wal_checkpoint(TRUNCATE)');
    const before = contentOf(place);
    expect((await doctor(place)).of('key:main').message).toContain('invalid_key');
    expect(contentOf(place)).toEqual(before);
    // As a version with other views left it.
    database.exec(
      "UPDATE meta SET value = replace(value, 'a', 'b') WHERE name LIKE 'schema:views/%'",
    );
    database.close();
    const older = contentOf(place);
    const { code, of } = await doctor(place);
    expect(code).toBe(0);
    expect(of('database')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/schema (\d+) of \1: the next start will migrate it$/),
      next: expect.stringContaining('order-sync db backup'),
    });
    expect(of('api').status).toBe('warn');
    expect(contentOf(place)).toEqual(older);
  });

  const html = page(200);
  it.each<[string, LookupAnswer, Answer, string]>([
    ['a web page', () => html, html, 'unreadable_success'],
    ['a page for each path', () => page(404), page(404), 'foreign_refusal'],
    [
      'JSON of another service',
      () => ({ http: 200, body: { ok: 1 } }),
      { http: 200, body: { ok: 1 } },
      'unreadable_success',
    ],
    [
      'JSON of another gateway',
      () => ({ http: 404, body: { message: 'no Route' } }),
      { http: 404, body: {} },
      'foreign_refusal',
    ],
    ['a path too much', answersLookups, refusal(404, 'not_found'), 'not_found'],
  ])('fails where not the API answers: %s', async (_what, lookups, catalogue, outcome) => {
    const { api, place } = await apiFor();
    Object.assign(api, { lookups, catalogue });
    const { code, of } = await doctor(place);
    expect(code).toBe(8);
    expect(of('key:main')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining(outcome),
      next: expect.stringContaining('is a path such as /v1 missing'),
    });
  });

  const products = [
    { variant: 'card', prices: { USD: '9.00', EUR: '8.00' } },
    { variant: 'other' },
  ];
  it.each([
    [
      'a currency that no product has',
      products,
      'prices in USD, EUR, none in GBP',
      'correct the currency',
    ],
    [
      'a catalogue whose prices are not read',
      [{ variant: 'card' }],
      'prices in no currency, none in GBP',
      'wholesale.wire.catalogue',
    ],
    [
      'a catalogue that is not mapped',
      [],
      'no product of the catalogue was read',
      'wholesale.wire.catalogue',
    ],
  ])('warns of %s', async (_what, shown, words, step) => {
    const { api, place } = await apiFor({ folder: { currency: 'GBP' } });
    api.catalogue = { http: 200, body: { products: shown } };
    const { of } = await doctor(place);
    const [message, next] = [words, step].map((part): unknown => expect.stringContaining(part));
    expect(of('prices')).toEqual({ check: 'prices', status: 'warn', message, next });
  });

  it('names what is paused, what it waits for, and the command', async () => {
    const { api, place } = await apiFor();
    const database = new SqliteDatabase(place.databasePath);
    onTestFinished(() => void database.close());
    const pause = { openedBy: 'worker', probeAtMs: null, nowMs: Date.now() } as const;
    const message = 'Does wholesale.wire fit the API?';
    recordPause(database, {
      ...pause,
      scope: 'family:gift_card',
      reason: 'connector_unproven',
      message,
    });
    recordPause(database, {
      ...pause,
      scope: 'balance:USD',
      reason: 'insufficient_balance',
      message: 'none',
      nowMs: 1,
    });
    database
      .prepare(
        "INSERT INTO wholesale_keys (key_name, rate_limited_at_ms, used_elsewhere_since_ms) VALUES ('spare', ?, ?)",
      )
      .run(Date.now(), Date.now());
    const before = api.calls.length;
    const { healthy, of } = await doctor(place);
    expect(healthy).toBe(true);
    expect(of('key:spare')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(
        /^key_used_elsewhere since .* answers 429 to key:spare although/,
      ),
      next: expect.stringContaining('Stop the other worker or program that uses this key'),
    });
    expect(of('family:gift_card')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(
        /^connector_unproven since \d{4}-.*, holds up gift card orders: Does wholesale\.wire fit the API\?$/,
      ),
      next: expect.stringMatching(/`wire test --last submit`.*`queue resume family:gift_card`\.$/),
    });
    expect(of('balance:USD').next).toContain('Top up at the supplier, then');
    // The lookup and the catalogue of the check of the key.
    expect(api.calls.length - before).toBe(2);
  });

  it('names the key that the API denies, and the next step', async () => {
    const { place } = await apiFor({
      keys: [
        { name: 'main', value: 'sandbox-key-main' },
        { name: 'old', value: 'another-key-that-was-revoked' },
      ],
    });
    const { code, healthy, of } = await doctor(place);
    expect([code, healthy]).toEqual([8, false]);
    expect(of('key:main').status).toBe('pass');
    expect(of('key:old')).toMatchObject({
      status: 'fail',
      next: expect.stringContaining('wholesale.keys'),
    });
    expect(of('key:old').message).toContain('invalid_key');
  });

  it('says that the certificate is not trusted, and trusts the authority of wholesale.ca_file', async () => {
    const { api, place } = await apiFor();
    // TLS in front of the API, with a certificate that it signed itself.
    const { good, elsewhere } = certificates;
    const tls = createTlsServer(good, (socket) => {
      const inner = connect(Number(new URL(api.url).port), '127.0.0.1');
      socket.on('error', () => inner.destroy()).on('close', () => inner.destroy());
      inner.on('error', () => socket.destroy());
      socket.pipe(inner).pipe(socket);
    });
    tls.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await once(tls, 'listening');
    onTestFinished(() => void tls.close());
    const address = tls.address();
    const trust = (caFile: string | null, text = '') => {
      if (caFile !== null) writeFileSync(join(place.folder, caFile), text);
      place.configure((config) => {
        config.wholesale.base_url = `https://localhost:${typeof address === 'object' ? address?.port : ''}`;
        config.wholesale.ca_file = caFile === null ? undefined : join(place.folder, caFile);
      });
    };
    trust(null);
    const untrusted = (await doctor(place)).of('key:main');
    expect(untrusted).toMatchObject({
      status: 'fail',
      next: expect.stringContaining('wholesale.ca_file'),
    });
    expect(untrusted.message).toMatch(
      /^tls_refused: .*self.signed certificate.*wholesale\.ca_file/,
    );
    trust('other.pem', elsewhere.cert);
    expect((await doctor(place)).of('key:main').message).toContain('tls_refused');
    trust('own.pem', `# The supplier's.\n${elsewhere.cert}${good.cert}`);
    expect((await doctor(place)).of('key:main').status).toBe('pass');
    trust('damaged.pem', good.cert.replace('MIIBp', 'MIIBB'));
    expect((await doctor(place)).of('config').message).toContain(
      'wholesale.ca_file names a file whose certificate 1 of 1 is',
    );
    trust('key.pem', good.key);
    expect((await doctor(place)).of('config').message).toContain(
      'must name a file with certificates in PEM',
    );
  });

  it('says what the key of a shop may do, and how its orders come', async () => {
    const stub = await new StubWooCommerce().open();
    const { place } = await apiFor();
    const rest = { url: stub.url, consumer_key: woo.key, consumer_secret: woo.secret };
    const skus = join(place.folder, 'skus.yaml');
    writeFileSync(skus, 'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }\n');
    const shop = {
      shop: 'main',
      secrets: [{ value: 'a-webhook-secret-of-the-shop' }],
      sku_map: skus,
      rest,
    };
    place.configure((config) => {
      config.intake.webhook = { listen: '127.0.0.1:0', woocommerce: [{ ...shop, write_back: {} }] };
    });
    const found = async () => (await doctor(place)).of('shop:main');
    expect(await found()).toMatchObject({
      status: 'pass',
      message: expect.stringMatching(/read and write; no webhook/),
    });
    const webhook = {
      id: 7,
      topic: 'order.updated',
      delivery_url: 'https://x.example/webhooks/woocommerce/main',
    };
    stub.webhooks.push({ ...webhook, status: 'active' });
    expect(await found()).toMatchObject({
      status: 'pass',
      message: expect.stringContaining('7 (active)'),
    });
    for (const address of [
      'https://localhost',
      'http://10.1.2.3:8080',
      'https://x.example:8787',
      'http://172.31.0.2',
    ]) {
      Object.assign(stub.webhooks[0] ?? {}, {
        delivery_url: `${address}/webhooks/woocommerce/main`,
      });
      expect(await found()).toMatchObject({
        status: 'pass',
        message: expect.stringContaining('order-sync-webhooks.php'),
      });
    }
    for (const address of ['https://x.example', 'http://x.example:8080', 'http://172.32.0.2']) {
      Object.assign(stub.webhooks[0] ?? {}, {
        delivery_url: `${address}/webhooks/woocommerce/main`,
      });
      expect(await found()).toMatchObject({ message: expect.stringMatching(/7 \(active\)$/) });
    }
    Object.assign(stub.webhooks[0] ?? {}, { status: 'disabled' });
    expect(await found()).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('7 (disabled)'),
    });
    stub.mailsNotes = false;
    expect(await found()).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('7 (disabled)'),
    });
    place.configure(
      (config) =>
        void (config.intake.webhook.woocommerce[0].write_back = { deliver_codes: 'note' }),
    );
    expect(await found()).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('"Customer note" of the shop is off'),
    });
    stub.mailsNotes = true;
    expect(await found()).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('7 (disabled)'),
    });
    stub.permission = 'read';
    expect(await found()).toMatchObject({
      status: 'warn',
      next: expect.stringContaining('Read/Write'),
    });
    expect(stub.webhooks[0]?.status).toBe('disabled');
    const location = `${stub.url}/wp-json/wc/v3/orders/`;
    stub.misbehave = (_, response) =>
      send(response, 301, '', { location, 'x-redirect-by': 'WordPress' });
    expect(await found()).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('permalinks'),
    });
  });

  it('says that nothing answers, and where to look', async () => {
    const { api, place } = await apiFor();
    await api.close();
    const { code, of } = await doctor(place);
    expect(code).toBe(8);
    expect(of('key:main')).toMatchObject({
      status: 'fail',
      next: expect.stringContaining('base_url'),
    });
  });

  it('warns of a proxy in front of the API', async () => {
    const { api, place } = await apiFor();
    api.condition = 'page_503';
    expect((await doctor(place)).of('key:main').status).not.toBe('pass');
  });

  it.each([
    [-5 * 86_400_000, '5 d ahead of'],
    [2 * 3_600_000, '2 h behind'],
  ])('warns of a clock that differs from that of the API by %i ms', async (clockAheadMs, words) => {
    const { api, place } = await apiFor();
    api.clockAheadMs = clockAheadMs;
    const { code, of } = await doctor(place);
    expect(code).toBe(0);
    expect(of('clock').status).toBe('warn');
    expect(
      of('clock')
        .message.replace(/1 h 59 min/, '2 h')
        .replace(/4 d 23 h/, '5 d'),
    ).toContain(words);
  });

  it('does not call the API before there is a database, and says how to make one', async () => {
    const api = await FakeApi.open();
    const place = await Installation.open({ api: api.url });
    onTestFinished(() => place.close());
    const { code, of } = await doctor(place);
    expect(code).toBe(8);
    expect(of('database')).toMatchObject({
      status: 'fail',
      next: expect.stringContaining('order-sync init'),
    });
    expect(of('api').status).toBe('warn');
    expect(api.calls).toEqual([]);
  });

  it('does not call the API while calls of a lost outbox may still be on their way', async () => {
    const api = await FakeApi.open();
    const place = await Installation.open({ api: api.url });
    onTestFinished(() => place.close());
    await cli(place, 'init', '--after-loss');
    const { code, of } = await doctor(place);
    expect([code, of('key:main').status]).toEqual([0, 'warn']);
    expect(of('key:main').message).toContain('no call is made for');
    expect(api.calls).toEqual([]);
  });

  it('finds a database of another secret or another upstream, and a damaged one', async () => {
    const { place } = await apiFor();
    const secret = join(place.folder, 'reference.secret');
    writeFileSync(secret, '09'.repeat(32));
    expect((await doctor(place)).of('database').message).toContain('is not the one');
    rmSync(secret);
    expect((await doctor(place)).of('database').message).toContain('does not exist');
    writeFileSync(place.databasePath, 'this is no database');
    const damaged = await doctor(place);
    expect([damaged.code, damaged.of('database').status]).toEqual([8, 'fail']);
  });

  it('finds a port that another program uses', async () => {
    const { place } = await apiFor();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    place.configure((config) => {
      config.admin = { listen: `127.0.0.1:${port}` };
    });
    const { code, of } = await doctor(place);
    expect(code).toBe(8);
    expect(of('admin.listen')).toMatchObject({
      status: 'fail',
      next: expect.stringContaining('admin.listen'),
    });
  });

  it('reports every mistake of the configuration, and checks nothing else then', async () => {
    const { place } = await apiFor();
    place.configure((config) => {
      config.submit = { concurrency: -1, in_flight_window_ms: 'long' };
    });
    const { code, stdout } = await cli(place, 'doctor');
    expect(code).toBe(8);
    expect(stdout).toMatch(/^fail {2}config: .* has 2 mistakes:\n {6}.*concurrency/);
    expect(stdout).not.toContain('database');
  });

  it('warns of a folder that keeps the group of the results out', async () => {
    const { place } = await apiFor();
    const gid = process.getgid?.() ?? 0;
    place.configure((config) => {
      config.results = {
        group: String(gid),
        folder: join(place.folder, 'for-the-shop', 'results'),
      };
    });
    mkdirSync(join(place.folder, 'for-the-shop'));
    chmodSync(place.folder, 0o711);
    expect((await doctor(place)).of('results')).toMatchObject({ status: 'pass' });
    chmodSync(join(place.folder, 'for-the-shop'), 0o700);
    const { healthy, of } = await doctor(place);
    expect(healthy).toBe(true);
    expect(of('results')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('for-the-shop,'),
    });
  });
});
