import { once } from 'node:events';
import { createServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { WooCommerceApi } from '../../../src/storefronts/woocommerce/rest-client.ts';
import { certificates } from '../../wholesale/transport/certificates.ts';
import { StubWooCommerce, woo } from '../read-back/stub-shop.ts';
import { restSettings } from '../shop-settings.ts';

const { signal } = new AbortController();

function apiOf(url: string, ca: string | null = null): WooCommerceApi {
  const keys = { ca, consumerKey: woo.key, consumerSecret: woo.secret };
  const api = new WooCommerceApi(
    { ...restSettings(url), ...keys },
    { clock: new SystemClock(), version: '0.0.0' },
  );
  onTestFinished(() => api.close());
  return api;
}

describe('the keys of a WooCommerce shop', () => {
  it('are sent over http as signatures that are good once, and never as they are', async () => {
    const stub = await new StubWooCommerce().open();
    const api = apiOf(stub.url);
    await api.changedSince(Date.now() - 60_000).nextPage(signal);
    await api.ownSkus(["A'B (1)", 'ü,*'], signal);
    const [first, second] = stub.calls.map(({ headers }) => String(headers.authorization));
    expect(first).toMatch(/^OAuth oauth_consumer_key="ck_/);
    expect(JSON.stringify(stub.calls.map(({ headers }) => headers))).not.toContain(woo.secret);
    const again = await fetch(stub.calls[1]?.signed ?? '', {
      headers: { authorization: String(second) },
    });
    expect([again.status, await again.text()]).toEqual([401, expect.stringContaining('nonce')]);
  });

  it('are sent over TLS as they are, to a shop whose authority `ca_file` names', async () => {
    const { good, elsewhere } = certificates;
    const seen: (string | undefined)[] = [];
    const server = createServer(good, ({ headers }, response) => {
      seen.push(headers.authorization);
      response.end('[]');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const url = `https://localhost:${typeof address === 'object' ? address?.port : ''}`;
    for (const ca of [null, elsewhere.cert])
      await expect(apiOf(url, ca).notesOf('1', signal)).rejects.toThrow(/certificate/);
    expect(await apiOf(url, good.cert).notesOf('1', signal)).toEqual([]);
    expect(seen).toEqual([`Basic ${Buffer.from(`${woo.key}:${woo.secret}`).toString('base64')}`]);
  });
});
