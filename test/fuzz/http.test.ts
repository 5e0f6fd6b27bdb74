import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemSchema } from '../support/intake-openapi.ts';
import { boundToken, token } from '../intake/http/running-intake-config.ts';
import { order, startIntake } from '../intake/http/running-intake.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { exchange } from './raw-exchange.ts';
import { bodyOf, damaged, fuzzTimeoutMs, mutated, runs, together } from './strange-inputs.ts';

const limits = { requestsPerMinute: 1_000_000_000, burst: 100_000_000 };
const batchOf = <T>(input: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(input, { minLength: together, maxLength: together });

/** Each input has an order of its own: an answer shows which order it acknowledges. */
const freshOrder = fc
  .tuple(fc.uuid(), fc.constantFrom('shop1', 'shop2'))
  .map(([id, source]) => order({ order_id: id, source }));

describe('requests of any content to the webhook', () => {
  it(`with JSON are acknowledged and in the outbox, or refused with a code and not: ${runs.json} inputs`, {
    timeout: fuzzTimeoutMs,
  }, async () => {
    const running = await startIntake({ limits });
    const acknowledged = new Acknowledgements();
    const document = fc.oneof(
      freshOrder,
      fc.array(freshOrder, { minLength: 1, maxLength: 3 }),
      fc.array(freshOrder, { minLength: 1, maxLength: 3 }).map((orders) => ({ orders })),
    );
    const input = document.chain((made) =>
      fc.oneof(
        { weight: 1, arbitrary: fc.constant(Buffer.from(JSON.stringify(made))) },
        { weight: 6, arbitrary: bodyOf(made) },
      ),
    );
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    await fc.assert(
      fc.asyncProperty(batchOf(input), async (bodies) => {
        const answers = await Promise.all(
          bodies.map((body) => running.call('POST', '/v1/orders', headers, body)),
        );
        expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
        const accepted = answers.filter(({ status }) => status < 300);
        expect(accepted.filter(({ json }) => !acknowledged.take(json))).toEqual([]);
        // It throws when a refusal is no problem document.
        for (const { status, json } of answers) if (status >= 300) problemSchema.parse(json);
      }),
      { numRuns: Math.ceil(runs.json / together), endOnFailure: true },
    );
    // After all inputs the intake still works.
    const last = await running.post(order({ order_id: 'the last one' }));
    expect([last.status, acknowledged.take(last.json)]).toEqual([202, true]);
    expect(acknowledged.count).toBeGreaterThan(runs.json / 20);
    expect(acknowledged.against(running.outbox.path)).toEqual({ lost: [], untold: [] });
  });

  it(`with any bytes and headers end without a 5xx, and lose nothing: ${runs.requests} inputs`, {
    timeout: fuzzTimeoutMs,
  }, async () => {
    const running = await startIntake({ limits });
    const acknowledged = new Acknowledgements();
    const port = Number(running.url.split(':').at(-1));
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(batchOf(rawRequest), async (requests) => {
        const all = await Promise.all(requests.map((bytes) => exchange(port, bytes)));
        const answers = all.flat();
        answered += answers.length;
        expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
        for (const { status, body } of answers) {
          if (status < 300 && body.startsWith('{')) acknowledged.take(JSON.parse(body));
        }
      }),
      { numRuns: Math.ceil(runs.requests / together), endOnFailure: true },
    );
    // After all inputs the intake still works.
    const last = await running.post(order({ order_id: 'the last one' }));
    expect([last.status, acknowledged.take(last.json)]).toEqual([202, true]);
    expect(answered).toBeGreaterThan(runs.requests / 2);
    expect(acknowledged.count).toBeGreaterThan(runs.requests / 20);
    // The bytes after an accepted order may break the connection before its answer is read. Then
    // the outbox has the order without an acknowledgement, and the shop sends it again.
    expect(acknowledged.against(running.outbox.path).lost).toEqual([]);
  });
});

const headerName = fc.oneof(
  fc.constantFrom(
    'Authorization',
    'Content-Type',
    'Content-Encoding',
    'Expect',
    'Connection',
    'Host',
    'Upgrade',
  ),
  fc.constantFrom(
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
    'X-Erp-Signature',
    'X-Forwarded-For',
    '__proto__',
  ),
  fc.string({
    unit: fc.constantFrom(...Array.from('aZ09-_ :\t\u0000é')),
    minLength: 1,
    maxLength: 12,
  }),
);
const headerValue = fc.oneof(
  fc.constantFrom(
    `Bearer ${boundToken}`,
    'Bearer ',
    'application/json',
    'text/plain',
    'gzip',
    '100-continue',
    'close',
    'websocket',
  ),
  fc.constantFrom(
    'wait=0',
    'wait=99999999999',
    'v1,AAAA',
    '1700000000',
    'sha256=00',
    '\u0000',
    '\r',
    '\n x',
    'é'.repeat(50),
  ),
  fc.integer({ min: 0, max: 20_000 }).map((length) => 'a'.repeat(length)),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

/** The bytes of a request: valid except for one or two faults, or random. */
const rawRequest: fc.Arbitrary<Buffer> = fc
  .record({
    line: fc.oneof(
      { weight: 8, arbitrary: fc.constant('POST /v1/orders HTTP/1.1') },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            fc.constantFrom(
              'POST',
              'GET',
              'DELETE',
              'PUT',
              'HEAD',
              'OPTIONS',
              'CONNECT',
              'post',
              'PRI',
            ),
            fc.constantFrom(
              '/v1/orders',
              '/v1/orders/shop1/x',
              '/v1/orders/%00/%',
              '*',
              '//',
              '/docs',
              'http://[/',
              '/webhooks/x/y',
              '/é',
            ),
            fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9', ''),
          )
          .map((parts) => parts.join(' ')),
      },
    ),
    headers: fc.oneof(
      { weight: 3, arbitrary: fc.constant<[string, string][]>([]) },
      { weight: 4, arbitrary: fc.array(fc.tuple(headerName, headerValue), { maxLength: 4 }) },
    ),
    body: freshOrder.chain((made) =>
      fc.oneof(
        { weight: 2, arbitrary: fc.constant(JSON.stringify(made)) },
        { weight: 1, arbitrary: mutated(made) },
      ),
    ),
    framing: fc.oneof(
      { weight: 5, arbitrary: fc.constant<Framing>('length') },
      { weight: 2, arbitrary: fc.constant<Framing>('chunked') },
      {
        weight: 2,
        arbitrary: fc.constantFrom<Framing[]>(
          'none',
          'both',
          'short',
          'long',
          'negative',
          'huge',
          'twice',
          'bad part size',
        ),
      },
    ),
  })
  .map(({ line, headers, body, framing }) => {
    const head = [
      line,
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
    ];
    const others = headers.map(([name, value]) => `${name}: ${value}`);
    const { fields, text } = framed(body, framing);
    return Buffer.from(`${[...head, ...others, ...fields].join('\r\n')}\r\n\r\n${text}`, 'utf8');
  })
  .chain((whole) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(whole) },
      { weight: 1, arbitrary: damaged(fc.constant(whole)) },
    ),
  );

type Framing =
  | 'length'
  | 'chunked'
  | 'none'
  | 'both'
  | 'short'
  | 'long'
  | 'negative'
  | 'huge'
  | 'twice'
  | 'bad part size';

function framed(body: string, framing: Framing): { fields: readonly string[]; text: string } {
  const length = Buffer.byteLength(body);
  const encoded = `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const chunked = 'Transfer-Encoding: chunked';
  switch (framing) {
    case 'length':
      return { fields: [`Content-Length: ${length}`], text: body };
    case 'chunked':
      return { fields: [chunked], text: encoded };
    case 'none':
      return { fields: [], text: body };
    case 'both':
      return { fields: [chunked, `Content-Length: ${length}`], text: encoded };
    case 'short':
      return { fields: [`Content-Length: ${length - 1}`], text: body };
    case 'long':
      return { fields: [`Content-Length: ${length + 1}`], text: body };
    case 'negative':
      return { fields: ['Content-Length: -1'], text: body };
    case 'huge':
      return { fields: ['Content-Length: 99999999999'], text: body };
    case 'twice':
      return { fields: [`Content-Length: ${length}`, `Content-Length: ${length + 2}`], text: body };
    case 'bad part size':
      return { fields: [chunked], text: `zz\r\n${body}` };
  }
}
