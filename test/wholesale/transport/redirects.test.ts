import { onTestFinished, expect, it } from 'vitest';
import { clientOf, keyValue, submit } from '../api-calls.ts';
import { httpAnswer, RawServer } from './raw-server.ts';

it.each([300, 301, 302, 303, 304, 307, 308])(
  'a %i is never followed, and the key goes nowhere else',
  async (status) => {
    const target = await RawServer.start((socket) => void socket.end(httpAnswer(200, '{"id":1}')));
    onTestFinished(async () => target.close());
    const body = status === 304 ? '' : '{"id":1,"codes":["A","B"]}';
    const server = await RawServer.start((socket, request) => {
      const away = request.startsWith('POST') ? `${target.url}/orders` : '/elsewhere';
      socket.end(httpAnswer(status, body, { location: away }));
    });
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    expect(await submit(client)).toMatchObject({
      row: 'redirect',
      http: status,
      sent: true,
      answer: null,
    });
    expect(await client.probe({ question: 'lookup', keyValue })).toMatchObject({
      verdict: 'cannot_tell',
      outcome: { row: 'redirect', http: status },
    });
    expect(server.requests).toHaveLength(2);
    expect(target.connections).toBe(0);
  },
);

it.each([
  ['["x"]', 'unreadable_success'],
  ['[[]]', 'unreadable_success'],
  ['[{"variant":"steam-usd-5"}]', 'accepted'],
  ['{"products":[]}', 'accepted'],
])(
  'a probe that is answered 200 with %s ends as %s: a proxy may have answered',
  async (body, row) => {
    const server = await RawServer.start((socket) => void socket.end(httpAnswer(200, body)));
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    expect(await client.probe({ question: 'products', keyValue })).toMatchObject({
      outcome: { row, http: 200 },
    });
  },
);

it('every request has the API key and the User-Agent', async () => {
  const server = await RawServer.start((socket) => void socket.end(httpAnswer(200, '{"id":1}')));
  onTestFinished(async () => server.close());
  const client = clientOf(`${server.url}/v2/`, { version: '1.2.3' });
  onTestFinished(async () => client.close());
  await submit(client);
  await client.lookUp({ keyValue, family: 'esim', key: 'os-1', expectReference: null });
  const [order, lookup] = server.requests;
  expect(order?.split('\r\n')).toEqual(
    expect.arrayContaining([
      'POST /v2/orders HTTP/1.1',
      `authorization: Bearer ${keyValue}`,
      'content-type: application/json',
      'accept: application/json',
      'user-agent: order-sync/1.2.3',
      '{"reference":"os-aaaa","variant":"steam-10","quantity":2,"currency":"USD"}',
    ]),
  );
  expect(lookup?.split('\r\n')).toEqual(
    expect.arrayContaining([
      'GET /v2/esim/orders/os-1 HTTP/1.1',
      `authorization: Bearer ${keyValue}`,
    ]),
  );
});
