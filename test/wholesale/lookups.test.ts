import { onTestFinished, describe, expect, it } from 'vitest';
import type { LookupOutcome } from '../../src/core/answers/outcome.ts';
import { type Wire, wireSchema } from '../../src/wholesale/connector/wire.ts';
import { clientOf, keyValue, submit } from './api-calls.ts';
import { errorJson, httpAnswer, RawServer } from './transport/raw-server.ts';

async function lookUpAt(answer: string, wire?: Wire): Promise<LookupOutcome> {
  const server = await RawServer.start((socket) => void socket.end(answer));
  onTestFinished(async () => server.close());
  const client = clientOf(server.url, wire && { wire });
  onTestFinished(async () => client.close());
  return client.lookUp({ keyValue, family: 'gift_card', key: 'os-1', expectReference: 'os-1' });
}

it('a late answer to an earlier call is not taken for the answer to a lookup', async () => {
  const answered = new Set<unknown>();
  const late = httpAnswer(404, errorJson('not_found'));
  const server = await RawServer.start((socket, request) => {
    const reference = /os-\d/.exec(request)?.[0];
    const own = httpAnswer(200, JSON.stringify({ reference, number: 'GC-1', status: 'completed' }));
    // A proxy has a second answer for the first call of each connection.
    socket.write(answered.has(socket) ? late + own : own);
    answered.add(socket);
  });
  onTestFinished(async () => server.close());
  const client = clientOf(server.url);
  onTestFinished(async () => client.close());
  for (const key of ['os-1', 'os-2', 'os-3', 'os-4', 'os-5', 'os-6']) {
    const asked = { keyValue, family: 'gift_card', key, expectReference: key } as const;
    expect(await client.lookUp(asked)).toMatchObject({ kind: 'found', answer: { reference: key } });
  }
});

describe('a lookup says that an order is absent', () => {
  it('after a 404 with the code not_found and the complete error body', async () => {
    expect(await lookUpAt(httpAnswer(404, errorJson('not_found')))).toMatchObject({
      kind: 'absent',
    });
  });

  it.each([
    ['a 404 of a middlebox', httpAnswer(404, ''), 'foreign_refusal'],
    ['a 404 of a web server', httpAnswer(404, '<html>Not Found</html>'), 'foreign_refusal'],
    [
      'a 404 of a gateway',
      httpAnswer(404, '{"error":{"code":404,"message":"no route"}}'),
      'foreign_refusal',
    ],
    ['another code with 404', httpAnswer(404, errorJson('invalid_variant')), 'invalid_variant'],
    ['not_found with another status', httpAnswer(410, errorJson('not_found')), 'code_out_of_place'],
    ['not_found within a success', httpAnswer(200, errorJson('not_found')), 'not_found'],
    ['not_found without a message', httpAnswer(404, '{"error":{"code":"not_found"}}'), 'not_found'],
    ['not_found, cut', httpAnswer(404, errorJson('not_found')).slice(0, -2), 'cut_answer'],
    ['an empty list', httpAnswer(200, '{"data":[]}'), 'unreadable_success'],
    ['an empty object', httpAnswer(200, '{}'), 'unreadable_success'],
    [
      'the order of somebody else',
      httpAnswer(200, '{"reference":"os-2","id":1}'),
      'answer_mismatch',
    ],
    ['maintenance', httpAnswer(503, errorJson('api_disabled')), 'api_disabled'],
    ['a limit', httpAnswer(429, ''), 'rate_limited'],
  ])('but not after %s', async (_what, answer, row) => {
    expect(await lookUpAt(answer)).toMatchObject({ kind: 'failed', outcome: { row } });
  });

  const emptyList = wireSchema.parse({ lookup: { absent: 'empty_list' } });

  it.each(['[]', '{"data":[]}', '{"success":true,"data":{"orders":[]}}'])(
    'after the empty list %s, where the mapping says so',
    async (body) => {
      expect(await lookUpAt(httpAnswer(200, body), emptyList)).toMatchObject({ kind: 'absent' });
    },
  );

  it.each([
    '{}',
    '{"success":false,"data":[]}',
    '{"data":[],"errors":["timeout"]}',
    '{"data":[{"reference":"os-2"}]}',
    '{"data":null}',
  ])('but not after %s, where an empty list says so', async (body) => {
    expect(await lookUpAt(httpAnswer(200, body), emptyList)).toMatchObject({ kind: 'failed' });
  });

  it('but not when the mapping has no lookup: then nothing is sent', async () => {
    const wire = wireSchema.parse({ lookup: { gift_card: 'off' } });
    const client = clientOf('http://127.0.0.1:9', { wire });
    onTestFinished(async () => client.close());
    expect(client.canLookUp('gift_card')).toBe(false);
    expect(client.canLookUp('esim')).toBe(true);
    expect(
      await client.lookUp({ keyValue, family: 'gift_card', key: 'os-1', expectReference: null }),
    ).toMatchObject({
      kind: 'failed',
      outcome: { row: 'local_defect', sent: false },
    });
  });
});

it('a found order is compared with the purchase, also inside a list, and the difference names both', async () => {
  const ordered = { operation: 'gift_card_order', variant: 'a', plan: null, iccid: null } as const;
  const facts = { ...ordered, quantity: 1, days: null, currency: 'USD' };
  for (const body of [
    '{"reference":"os-1","variant":"b"}',
    '{"data":[{"reference":"os-1","variant":"b"}]}',
  ]) {
    const server = await RawServer.start((socket) => void socket.end(httpAnswer(200, body)));
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    const call = { keyValue, family: 'gift_card', key: 'os-1', expectReference: 'os-1' } as const;
    const found = await client.lookUp({ ...call, ordered: facts });
    expect(found).toMatchObject({
      kind: 'found',
      differs: expect.stringContaining('"b", but "a" was ordered'),
    });
    expect(await client.lookUp(call)).not.toHaveProperty('differs');
  }
});

it('a found order repeats the goods only when it shows the product and the quantity as ordered', async () => {
  const purchase = {
    operation: 'gift_card_order',
    variant: 'a',
    plan: null,
    iccid: null,
    quantity: 1,
  } as const;
  const call = { keyValue, family: 'gift_card', key: 'os-1', expectReference: 'os-1' } as const;
  for (const [shown, repeats] of [
    ['"variant":"a","quantity":1', true],
    ['"variant":"a"', false],
    ['"status":"completed"', false],
    ['"variant":"b","quantity":1', false],
  ] as const) {
    const server = await RawServer.start(
      (socket) => void socket.end(httpAnswer(200, `{"reference":"os-1",${shown}}`)),
    );
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    const found = await client.lookUp({
      ...call,
      ordered: { ...purchase, days: null, currency: 'USD' },
    });
    expect('repeatsGoods' in found).toBe(repeats);
  }
});

it('a key that cannot stand in a path fails the lookup without a request, and without a throw', async () => {
  const client = clientOf('http://127.0.0.1:9');
  onTestFinished(async () => client.close());
  for (const key of ['', '.', '..']) {
    expect(
      await client.lookUp({ keyValue, family: 'esim', key, expectReference: null }),
    ).toMatchObject({
      kind: 'failed',
    });
  }
});

describe('the API key appears in no outcome', () => {
  it.each([
    ['the message of an error', 422, errorJson('order_refused', `the key ${keyValue} may not`)],
    ['its code', 422, errorJson(keyValue)],
    ['the page of a proxy', 502, `<pre>authorization: Bearer ${keyValue}</pre>`],
    [
      'a message that is cut within it',
      422,
      errorJson('order_refused', `${'x'.repeat(489)}${keyValue}`),
    ],
    ['the reference of a success', 200, JSON.stringify({ reference: keyValue })],
  ])('when the answer repeats it in %s', async (_what, status, body) => {
    const server = await RawServer.start((socket) => void socket.end(httpAnswer(status, body)));
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    const { answer: _answer, ...outcome } = await submit(client);
    expect(JSON.stringify(outcome)).not.toContain(keyValue.slice(0, 8));
  });

  it('when the answer repeats it in the target of a redirect', async () => {
    const server = await RawServer.start(
      (socket) =>
        void socket.end(httpAnswer(302, '', { location: `/login?${'x'.repeat(50)}=${keyValue}` })),
    );
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    expect(JSON.stringify(await submit(client))).not.toContain(keyValue.slice(0, 8));
  });
});

it.each([
  '',
  'api.example.com',
  'ftp://api.example.com',
  'https://user:pw@api.example.com',
  'https://a.example/?x=1',
])('the base address %j is refused when the client is made', (baseUrl) => {
  expect(() => clientOf(baseUrl)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(() => clientOf(baseUrl)).not.toThrow(/pw/);
});

it('an answer with other goods has a reference only if it is another one, also where the API shows one of its own', async () => {
  for (const [shown, reference] of [
    ['"reference":"WH-7","client_reference":"os-aaaa"', null],
    ['"number":"WH-7"', null],
    ['"reference":"os-of-others"', 'os-of-others'],
  ] as const) {
    const answer = httpAnswer(200, `{${shown},"variant":"other","codes":[{"code":"AAAA"}]}`);
    const server = await RawServer.start((socket) => void socket.end(answer));
    onTestFinished(async () => server.close());
    const client = clientOf(server.url);
    onTestFinished(async () => client.close());
    expect(await submit(client)).toMatchObject({ row: 'answer_mismatch', answer: { reference } });
  }
});
