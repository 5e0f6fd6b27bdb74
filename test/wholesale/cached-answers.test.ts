import { describe, expect, it, onTestFinished } from 'vitest';
import type { LookupOutcome } from '../../src/core/answers/outcome.ts';
import type { WholesaleClient } from '../../src/wholesale/client.ts';
import { clientOf, keyValue, submit } from './api-calls.ts';
import { errorJson, httpAnswer, RawServer } from './transport/raw-server.ts';

/**
 * A client, and a server that answers each request with the next of these; the last one repeats.
 */
async function serve(
  answers: readonly string[],
): Promise<{ client: WholesaleClient; server: RawServer; clock: { mono: number } }> {
  const left = [...answers];
  const server = await RawServer.start(
    (socket) => void socket.end((left.length > 1 ? left.shift() : left[0]) ?? ''),
  );
  onTestFinished(async () => server.close());
  const clock = { mono: 0 };
  const answerTimes = { steadyMs: () => clock.mono, onAnswer: () => undefined };
  const client = clientOf(server.url, { answerTimes });
  onTestFinished(async () => client.close());
  return { client, server, clock };
}

const lookUp = (client: WholesaleClient): Promise<LookupOutcome> =>
  client.lookUp({ keyValue, family: 'gift_card', key: 'os-1', expectReference: 'os-1' });
const absent = (headers: Readonly<Record<string, string>>): string =>
  httpAnswer(404, errorJson('not_found'), headers);
const dated = (seconds: number): { date: string } => ({
  date: new Date(1_800_000_000_000 + seconds * 1000).toUTCString(),
});

describe('a lookup', () => {
  it('asks every cache on the way for the answer of the API; so does a read of the catalogue', async () => {
    const { client, server } = await serve([absent({})]);
    await lookUp(client);
    await client.products().read({ keyValue });
    await submit(client);
    const [ofLookup = '', ofCatalogue = '', ofOrder = ''] = server.requests;
    for (const request of [ofLookup, ofCatalogue]) {
      expect(request).toMatch(/^cache-control: no-cache\r$/im);
      expect(request).toMatch(/^pragma: no-cache\r$/im);
    }
    expect(ofOrder).not.toMatch(/^(cache-control|pragma):/im);
  });

  it.each<[string, string]>([
    ['age', '12'],
    ['x-cache', 'HIT'],
    ['x-cache', 'Hit from cloudfront'],
    ['x-cache', 'MISS, HIT'],
    ['x-cache', 'TCP_MEM_HIT from a23'],
    ['cf-cache-status', 'HIT'],
    ['cf-cache-status', 'STALE'],
    ['cache-status', 'ExampleCDN; hit; ttl=30'],
    ['x-proxy-cache', 'HIT'],
  ])('fails when its answer shows that a cache gave it: %s: %s', async (name, value) => {
    for (const answer of [
      absent({ [name]: value }),
      httpAnswer(200, '{"reference":"os-1","id":1}', { [name]: value }),
    ]) {
      const { client } = await serve([answer]);
      expect(await lookUp(client)).toMatchObject({
        kind: 'failed',
        outcome: {
          row: 'foreign_refusal',
          answer: null,
          message: expect.stringContaining(`${name}: ${value}`),
        },
      });
    }
  });

  it.each<[string, string]>([
    ['age', '0'],
    ['x-cache', 'MISS'],
    // Squid found it, and asked the API all the same, as the request said.
    ['x-cache-lookup', 'HIT from proxy:3128'],
    ['cf-cache-status', 'DYNAMIC'],
    ['cache-status', 'ExampleCDN; fwd=miss; stored'],
    ['cache-control', 'max-age=60'],
  ])('is answered when its answer shows that no cache gave it: %s: %s', async (name, value) => {
    const { client } = await serve([absent({ [name]: value })]);
    expect(await lookUp(client)).toMatchObject({ kind: 'absent' });
  });

  it('fails when its answer was made before the call, by the clock of the API', async () => {
    const { client, clock } = await serve([absent(dated(0)), absent(dated(1)), absent(dated(1))]);
    expect(await lookUp(client)).toMatchObject({ kind: 'absent' });
    clock.mono = 2999;
    expect(await lookUp(client)).toMatchObject({ kind: 'absent' });
    for (clock.mono = 10_000; clock.mono < 200_000; clock.mono += 10_000)
      expect(await lookUp(client)).toMatchObject({
        kind: 'failed',
        outcome: { row: 'foreign_refusal' },
      });
  });

  it('is not failed by one answer with a wrong date, such as that of a gateway', async () => {
    const ahead = httpAnswer(502, '', dated(3600));
    const { client, clock } = await serve([
      absent(dated(0)),
      ahead,
      absent(dated(1)),
      absent(dated(2)),
    ]);
    for (clock.mono = 0; clock.mono < 3000; clock.mono += 1000) {
      const { kind } = await lookUp(client);
      expect(kind).toBe(clock.mono === 1000 ? 'failed' : 'absent');
    }
  });
});
