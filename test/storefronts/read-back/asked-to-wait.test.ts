import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { ShopHttp } from '../../../src/storefronts/shop/shop-http.ts';

const clock = new SystemClock();
const { signal } = new AbortController();
const deadlineMs = 3_000_000;

/** Waits end at once, and are kept. Deadlines never end. */
class PassingClock extends SystemClock {
  readonly waits: number[] = [];
  #aheadMs = 0;

  override steadyMs(): number {
    return super.steadyMs() + this.#aheadMs;
  }

  override async sleep(ms: number, ended?: AbortSignal): Promise<void> {
    if (ms === deadlineMs) return await super.sleep(ms, ended);
    this.waits.push(Math.round(ms / 1000));
    this.#aheadMs += ms;
  }
}

/** The calls to a shop that answers like this. */
async function callsTo(
  answer: (response: ServerResponse, url: string) => void,
  ofShop: SystemClock = clock,
): Promise<ShopHttp> {
  const server = createServer(({ url = '' }, response) => answer(response, url)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo;
  const http = new ShopHttp({
    clock: ofShop,
    version: '0.0.0',
    rest: {
      url: `http://127.0.0.1:${port}`,
      schedule: '* * * * *',
      overlapS: 0,
      pageSize: 100,
      pagesPerRun: 1,
      bodyBytes: 1_048_576,
      timeouts: { connectMs: 60_000, totalMs: deadlineMs },
    },
    secrets: () => [],
    platform: 'WooCommerce',
    errorText: () => '',
  });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  return http;
}

it('a shop that wants no calls for a second gets none, also after a call that is not repeated', async () => {
  const calledAtMs: number[] = [];
  const http = await callsTo((response) => {
    calledAtMs.push(performance.now());
    if (calledAtMs.length > 1) return void response.end('{}');
    response.writeHead(503, { 'retry-after': '1' }).end();
  });
  // A proxy may answer 503 for a note that the shop makes all the same, so it is not sent again.
  const note = { method: 'POST', path: '/notes', headers: {}, body: '{}', signal } as const;
  await expect(
    http.call({ ...note, once: { latestStartMs: clock.steadyMs() + 60_000 } }),
  ).rejects.toMatchObject({
    kind: 'unavailable',
  });
  await http.call({ method: 'GET', path: '/orders/2', headers: {}, signal });
  const [refusedAtMs = 0, nextAtMs = 0] = calledAtMs;
  expect(nextAtMs - refusedAtMs).toBeGreaterThanOrEqual(990);
});

it('a shop gets four calls at once, fewer when it fails, and four again when it has answered for a while', async () => {
  const open: ServerResponse[] = [];
  let changed = (): void => undefined;
  const http = await callsTo((response, url) => {
    if (url === '/fails') return void response.writeHead(500).end();
    open.push(response);
    changed();
  });
  const get = (path: string) => http.call({ method: 'GET', path, headers: {}, signal });
  /** Answers until each of these calls has its answer. Returns how many were open at once. */
  const answered = async (count: number, together: number): Promise<number> => {
    let most = 0;
    const calls = Array.from({ length: count }, () => get('/orders'));
    for (let left = count; left > 0; ) {
      while (open.length < Math.min(together, left))
        await new Promise<void>((resolve) => (changed = resolve));
      most = Math.max(most, open.length);
      left -= open.length;
      for (const response of open.splice(0)) response.end('{}');
    }
    await Promise.all(calls);
    return most;
  };
  expect(await answered(8, 4)).toBe(4);
  for (let times = 0; times < 3; times += 1)
    await expect(get('/fails')).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await answered(2, 1)).toBe(1);
  await answered(40, 1);
  expect(await answered(8, 4)).toBe(4);
});

it('a stop lets a call end that cannot be repeated, and begins no other', async () => {
  const stopping = new AbortController();
  const begun: string[] = [];
  const http = await callsTo((response) => {
    stopping.abort();
    setImmediate(() => response.end('{}'));
  });
  const post = async (name: string): Promise<unknown> => {
    const begins = async (): Promise<void> => void begun.push(name);
    const note = { latestStartMs: clock.steadyMs() + 60_000, begins };
    return await http.call({
      method: 'POST',
      path: '/notes',
      headers: {},
      body: '{}',
      signal: stopping.signal,
      once: note,
    });
  };
  await expect(post('first')).resolves.toMatchObject({ value: {} });
  await expect(post('second')).rejects.toMatchObject({ kind: 'stopped' });
  expect(begun).toEqual(['first']);
});

it.each([
  ['announces ten minutes', { 'retry-after': '600' }],
  ['announces nothing', {}],
])(
  'a shop in maintenance that %s is asked again after 10, 20 and 40 seconds, then every minute',
  async (_, headers) => {
    const passing = new PassingClock();
    let calls = 0;
    let isUpAt = 5;
    const http = await callsTo((response) => {
      calls += 1;
      if (calls < isUpAt) response.writeHead(503, headers).end('<title>Maintenance</title>');
      else response.end('{}');
    }, passing);
    await http.call({ method: 'GET', path: '/orders', headers: {}, signal });
    expect(passing.waits).toEqual([10, 20, 40, 60]);
    // It is up: the next maintenance begins with ten seconds again.
    isUpAt = Number.POSITIVE_INFINITY;
    passing.waits.length = 0;
    const failed = http.call({ method: 'GET', path: '/orders', headers: {}, signal });
    await expect(failed).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 60_000 });
    expect([passing.waits, calls]).toEqual([[10, 20, 40, 60], 10]);
  },
);

it('a shop in maintenance that announces less is asked again after that, and another 429 after what it asks', async () => {
  const passing = new PassingClock();
  let calls = 0;
  const http = await callsTo((response) => {
    calls += 1;
    if (calls === 1) response.writeHead(503, { 'retry-after': '3' }).end();
    else if (calls === 2) response.writeHead(429, { 'retry-after': '59' }).end();
    else response.end('{}');
  }, passing);
  await http.call({ method: 'GET', path: '/orders', headers: {}, signal });
  expect(passing.waits).toEqual([3, 59]);
});
