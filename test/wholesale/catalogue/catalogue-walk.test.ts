import { onTestFinished, describe, expect, it } from 'vitest';
import { wireSchema, type WireOverrides } from '../../../src/wholesale/connector/wire.ts';
import {
  type ItemReader,
  readPlan,
  readProduct,
} from '../../../src/wholesale/catalogue/catalogue-item.ts';
import { readCataloguePage } from '../../../src/wholesale/catalogue/catalogue-walk.ts';
import { parseExactJson } from '../../../src/core/exact-json.ts';
import { clientOf, keyValue } from '../api-calls.ts';
import { httpAnswer, RawServer } from '../transport/raw-server.ts';

type Paging = NonNullable<NonNullable<WireOverrides['catalogue']>['paging']>;

/**
 * Reads the whole list from a server that answers by path. Returns the keys, the requested paths
 * and `incomplete`.
 */
async function walkOver(answerTo: (path: string) => string, paging: Paging) {
  const server = await RawServer.start((socket, request) => {
    socket.write(httpAnswer(200, answerTo(request.split(' ')[1] ?? '')));
  });
  onTestFinished(async () => server.close());
  const client = clientOf(`${server.url}/v1`, {
    wire: wireSchema.parse({ catalogue: { paging } }),
  });
  onTestFinished(async () => client.close());
  const walk = client.products();
  const keys: string[] = [];
  while (!walk.done) {
    const step = await walk.read({ keyValue });
    if (step.kind === 'failed')
      return { keys, failed: step.outcome.row, incomplete: walk.incomplete, paths: [] };
    keys.push(...step.items.map((product) => product.variant));
  }
  const paths = server.requests.map((request) => request.split(' ')[1] ?? '');
  return { keys, paths, incomplete: walk.incomplete, failed: null };
}
const list = (keys: readonly string[], more: object = {}): string =>
  JSON.stringify({ products: keys.map((variant) => ({ variant })), ...more });
const pageOf = (path: string): number => Number(new URL(path, 'http://x').searchParams.get('page'));

describe('a catalogue is read', () => {
  it('in one request by default, and is called incomplete when the answer names another page', async () => {
    expect(await walkOver(() => list(['a', 'b']), {})).toMatchObject({
      keys: ['a', 'b'],
      paths: ['/v1/products'],
      incomplete: null,
    });
    const more = await walkOver(() => list(['a'], { next: '/v1/products?page=2' }), {});
    expect(more).toMatchObject({ keys: ['a'], paths: ['/v1/products'] });
    expect(more.incomplete).toContain('paging');
  });

  it('page by page until an empty page', async () => {
    const pages = [['a', 'b'], ['b', 'c'], []];
    const walk = await walkOver((path) => list(pages[pageOf(path) - 1] ?? []), {
      mode: 'page',
      size_param: 'limit',
      size: 2,
    });
    expect(walk).toMatchObject({ keys: ['a', 'b', 'c'], incomplete: null });
    expect(walk.paths).toEqual([1, 2, 3].map((page) => `/v1/products?limit=2&page=${page}`));
  });

  it('up to the last page that the answer names', async () => {
    const walk = await walkOver((path) => list([`p${pageOf(path)}`], { meta: { last_page: 2 } }), {
      mode: 'page',
    });
    expect(walk).toMatchObject({ keys: ['p1', 'p2'], incomplete: null });
    expect(walk.paths).toHaveLength(2);
  });

  it('with at most two requests from a server that ignores the page number', async () => {
    const walk = await walkOver(() => list(['a', 'b']), { mode: 'page' });
    expect(walk.keys).toEqual(['a', 'b']);
    expect(walk.paths).toHaveLength(2);
  });

  it('up to the limit of pages, and is called incomplete', async () => {
    const walk = await walkOver((path) => list([`p${pageOf(path)}`]), {
      mode: 'page',
      max_pages: 3,
    });
    expect(walk.keys).toEqual(['p1', 'p2', 'p3']);
    expect(walk.incomplete).toContain('3 pages');
  });

  it('by the address or the token of the next page in each answer', async () => {
    const byAddress = await walkOver(
      (path) =>
        path.includes('after')
          ? list(['b'])
          : list(['a'], { links: { next: '/v1/products?after=a%20b' } }),
      { mode: 'next' },
    );
    expect(byAddress).toMatchObject({
      keys: ['a', 'b'],
      paths: ['/v1/products', '/v1/products?after=a%20b'],
    });
    const byToken = await walkOver(
      (path) =>
        path.includes('cursor') ? list(['b'], { next: null }) : list(['a'], { next: 'x/y=' }),
      { mode: 'next' },
    );
    expect(byToken).toMatchObject({
      keys: ['a', 'b'],
      paths: ['/v1/products', '/v1/products?cursor=x%2Fy%3D'],
    });
  });

  it.each([
    'https://evil.example/v1/products',
    '//evil.example/v1/products',
    '/admin/products',
    '/v1/../admin',
  ])('never beyond the base address: %s', async (next) => {
    const walk = await walkOver(() => list(['a'], { next }), { mode: 'next' });
    expect(walk).toMatchObject({ keys: ['a'], paths: ['/v1/products'] });
    expect(walk.incomplete).toContain('outside of wholesale.base_url');
  });

  it('as a failed step when the answer has no list', async () => {
    expect(await walkOver(() => '{"ok":true}', {})).toMatchObject({
      keys: [],
      failed: 'unreadable_success',
    });
  });
});

describe('an item of the catalogue', () => {
  const { catalogue } = wireSchema.parse({});
  const product = (text: string) => readItem(text, readProduct);
  const plan = (text: string) => readItem(text, readPlan);
  const readItem = <T>(text: string, reader: ItemReader<T>): T | undefined =>
    readCataloguePage([parseExactJson(text) ?? null], reader, catalogue)?.items[0]?.item;

  it.each([
    ['a map by currency', '{"id":"a","prices":{"USD":9.50,"eur":"8.7"}}', { USD: 9.5, EUR: 8.7 }],
    [
      'a list of pairs',
      '{"id":"a","prices":[{"currency":"USD","amount":"9.5"},{"currency":"EUR","value":8}]}',
      { USD: 9.5, EUR: 8 },
    ],
    ['one price', '{"id":"a","price":9.5,"currency":"USD"}', { USD: 9.5 }],
    ['a pair', '{"id":"a","price":{"amount":9.5,"currency":"USD"}}', { USD: 9.5 }],
    ['a map of objects', '{"id":"a","prices":{"USD":{"amount":"9.50"}}}', { USD: 9.5 }],
    ['nothing', '{"id":"a","price":{"amount":"9 dollars","currency":"USD"}}', {}],
  ])('has the prices and currencies that are read from %s', (_what, text, prices) => {
    expect(product(text)?.prices).toEqual(prices);
    expect(product(text)?.currencies).toEqual(Object.keys(prices));
  });

  it('is not sellable when it is sold on the website only', () => {
    expect(product('{"id":"a"}')).toEqual({
      variant: 'a',
      sellable: true,
      maxQuantity: null,
      currencies: [],
      prices: {},
    });
    expect(product('{"id":"a","website_only":true}')?.sellable).toBe(false);
    expect(product('{"id":"a","api_sellable":false}')?.sellable).toBe(false);
  });

  it('has the range of days when it is a daily plan', () => {
    expect(plan('{"plan":"p","is_daily":true,"days":{"min":1,"max":30}}')).toMatchObject({
      daily: true,
      minDays: 1,
      maxDays: 30,
    });
    expect(plan('{"plan":"p","type":"DAILY"}')).toMatchObject({ daily: true, minDays: null });
    expect(plan('{"plan":"p","data_gb":5,"validity":30}')).toMatchObject({ daily: false });
  });

  it('is omitted when it has no key', () => {
    expect(product('{"name":"nothing to order it by"}')).toBeUndefined();
    expect(product('null')).toBeUndefined();
  });
});
