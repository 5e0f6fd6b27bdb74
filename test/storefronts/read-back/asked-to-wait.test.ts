import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { ShopHttp } from '../../../src/storefronts/shop/shop-http.ts';

it('a shop that wants no calls for a second gets none, also after a call that is not repeated', async () => {
  const calledAtMs: number[] = [];
  const server = createServer((_, response) => {
    calledAtMs.push(performance.now());
    if (calledAtMs.length > 1) return void response.end('{}');
    response.writeHead(503, { 'retry-after': '1' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo;
  const clock = new SystemClock();
  const http = new ShopHttp({
    clock,
    version: '0.0.0',
    rest: {
      url: `http://127.0.0.1:${port}`,
      schedule: '* * * * *',
      lookbackH: 0,
      overlapS: 0,
      pageSize: 100,
      pagesPerRun: 1,
      requestIntervalMs: 0,
      bodyBytes: 1_048_576,
      timeouts: { connectMs: 60_000, totalMs: 60_000 },
    },
    secrets: () => [],
    errorText: () => '',
  });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const { signal } = new AbortController();
  // A proxy may answer 503 for a note that the shop makes all the same, so it is not sent again.
  const note = { method: 'POST', path: '/notes', headers: {}, body: '{}', signal } as const;
  await expect(http.call({ ...note, once: { latestStartMono: clock.monoMs() + 60_000 } })).rejects.toMatchObject({
    kind: 'unavailable',
  });
  await http.call({ method: 'GET', path: '/orders/2', headers: {}, signal });
  const [refusedAtMs = 0, nextAtMs = 0] = calledAtMs;
  expect(nextAtMs - refusedAtMs).toBeGreaterThanOrEqual(990);
});
