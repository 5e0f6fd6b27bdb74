import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operations, type Family, type Operation } from '../../src/core/order/purchase.ts';
import { outcomeRows, type Outcome, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import { wholesaleErrors } from '../../src/core/answers/wholesale-errors.ts';
import { classify, type CallPurpose, type SuccessReader } from '../../src/wholesale/classify.ts';
import type { PlainHeaders } from '../../src/core/http-headers.ts';
import { readAnswer } from '../../src/wholesale/connector/read-answer.ts';
import { readWire } from '../../src/wholesale/connector/wire.ts';

const purposes: readonly CallPurpose[] = [
  ...operations.map((operation) => ({ kind: 'submit', operation }) as const),
  { kind: 'read', family: 'gift_card' },
  { kind: 'read', family: 'esim' },
];
const familyOf = (purpose: CallPurpose): Family =>
  purpose.kind === 'read'
    ? purpose.family
    : purpose.operation === 'gift_card_order'
      ? 'gift_card'
      : 'esim';

const reader: SuccessReader = (body) => ({
  kind: 'read',
  answer: readAnswer(body, 'gift_card', readWire(undefined).answer),
});

function outcomeOf(
  http: number,
  body: string | Uint8Array,
  purpose: CallPurpose,
  headers: PlainHeaders = {},
): Outcome {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  return classify(
    { kind: 'answer', http, headers, body: bytes },
    purpose,
    reader,
    Date.parse('2026-11-21T12:00:00Z'),
  );
}
const gift: CallPurpose = { kind: 'submit', operation: 'gift_card_order' };
const submitOf = (operation: Operation): CallPurpose => ({ kind: 'submit', operation });
const error = (code: string, message = 'why'): string =>
  JSON.stringify({ error: { code, message } });

/** Spec 7, written down a second time: a wrong row in the code is found. */
const expectedRow: Readonly<Record<string, OutcomeRow>> = {
  '401 invalid_key': 'invalid_key',
  '403 account_not_allowed': 'account_not_allowed',
  '403 ip_not_allowed': 'ip_not_allowed',
  '404 not_found': 'not_found',
  '402 insufficient_balance': 'insufficient_balance',
  '409 reference_in_use': 'reference_in_use',
  '422 currency_unavailable': 'currency_unavailable',
  '422 invalid_request': 'invalid_request',
  '422 order_refused': 'order_refused',
  '429 null': 'rate_limited',
  '503 api_disabled': 'api_disabled',
  '404 invalid_variant': 'invalid_variant',
  '409 out_of_stock': 'out_of_stock',
  '422 limit_exceeded': 'limit_exceeded',
  '422 not_api_sellable': 'not_api_sellable',
  '404 invalid_plan': 'plan_unknown',
  '422 invalid_plan': 'plan_unorderable',
  '422 topup_not_allowed': 'topup_not_allowed',
  '409 not_cancellable': 'not_cancellable',
};

describe('the 19 error rows of the specification', () => {
  it('are all in the table of the code', () => {
    expect(wholesaleErrors.map((row) => `${row.http} ${row.code}`).toSorted()).toEqual(
      Object.keys(expectedRow).toSorted(),
    );
  });

  for (const row of wholesaleErrors.filter(({ code }) => code !== null)) {
    const name = `${row.http} ${row.code}`;
    for (const purpose of purposes) {
      const belongs = row.families.includes(familyOf(purpose));
      const what = purpose.kind === 'read' ? `a read of ${purpose.family}` : purpose.operation;
      const unexpected = row.code === 'not_found' && purpose === purposes[0];
      const expected = belongs
        ? unexpected
          ? 'not_found_unexpected'
          : expectedRow[name]
        : row.http >= 500
          ? 'server_error'
          : 'code_out_of_place';
      it(`${name} on ${what} is classified as ${expected}`, () => {
        const outcome = outcomeOf(row.http, error(row.code ?? '', 'Because.'), purpose);
        expect(outcome).toEqual({
          row: expected,
          sent: true,
          http: row.http,
          code: row.code,
          message: 'Because.',
          retryAfterMs: null,
          answer: null,
          breach: null,
        });
      });
      it(`${row.code} in a 2xx on ${what} is classified as that error, and as a breach`, () => {
        const outcome = outcomeOf(200, error(row.code ?? ''), purpose);
        expect(outcome.breach).not.toBeNull();
        expect(outcome.answer).toBeNull();
        const rowOfCode = row.code === 'invalid_plan' ? 'plan_unknown' : expectedRow[name];
        expect(outcome.row).toBe(
          belongs ? (unexpected ? 'not_found_unexpected' : rowOfCode) : 'code_out_of_place',
        );
      });
    }
    it(`${row.code} with another 4xx is classified as out of place, with a 5xx as a server error`, () => {
      expect(outcomeOf(418, error(row.code ?? ''), gift).row).toBe('code_out_of_place');
      expect(outcomeOf(500, error(row.code ?? ''), gift).row).toBe('server_error');
    });
  }

  it('a 429 is a rate limit whatever its body, and its Retry-After is read', () => {
    for (const body of [
      '',
      'slow down',
      '<html>',
      '{"error":{"code":"rate_limited","message":"m"}}',
      '{',
      error('out_of_stock'),
    ]) {
      expect(outcomeOf(429, body, gift, { 'retry-after': '3' })).toMatchObject({
        row: 'rate_limited',
        retryAfterMs: 3000,
      });
    }
  });
});

describe('Retry-After', () => {
  it.each([
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
    // A date is compared with the Date of the answer: this server's clock is an hour behind ours.
    [
      { 'retry-after': 'Sat, 21 Nov 2026 11:00:30 GMT', date: 'Sat, 21 Nov 2026 11:00:00 GMT' },
      30_000,
    ],
    [{ 'retry-after': '999999999' }, 3_600_000],
    [{ 'retry-after': '-5' }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '2026' }, 2_026_000],
    [{ 'retry-after': '' }, null],
    [{}, null],
  ])('%j asks to wait %s ms', (headers, expected) => {
    expect(outcomeOf(429, '', gift, headers).retryAfterMs).toBe(expected);
    expect(outcomeOf(503, error('api_disabled'), gift, headers).retryAfterMs).toBe(expected);
  });
});

describe('an error answer without the error body of the specification is no rejection by the API', () => {
  it.each([
    [400, '', 'foreign_refusal'],
    [401, '<html>login</html>', 'foreign_refusal'],
    [402, '{}', 'foreign_refusal'],
    [403, 'Forbidden', 'foreign_refusal'],
    [404, '', 'foreign_refusal'],
    [404, '{"error":"not_found"}', 'foreign_refusal'],
    [404, '{"error":{"message":"no code"}}', 'foreign_refusal'],
    [404, '{"code":"not_found","message":"no envelope"}', 'foreign_refusal'],
    [404, '[{"error":{"code":"not_found","message":"m"}}]', 'foreign_refusal'],
    [404, '{"error":{"code":404,"message":"a gateway"}}', 'foreign_refusal'],
    [409, '{"error":{"code":"out_of_stock","message":"cut', 'foreign_refusal'],
    [413, 'too large', 'foreign_refusal'],
    [500, '', 'foreign_server_error'],
    [502, '<html>Bad Gateway</html>', 'foreign_server_error'],
    [503, 'busy', 'foreign_unavailable'],
    [503, error('overloaded'), 'server_error'],
    [504, '{"message":"timeout"}', 'foreign_server_error'],
    [599, '\u0000\u0001', 'foreign_server_error'],
    [422, error('something_new'), 'unlisted_code'],
    [500, error('internal'), 'server_error'],
  ] as const)('status %i with the body %j is classified as %s', (http, body, row) => {
    expect(outcomeOf(http, body, gift).row).toBe(row);
    expect(outcomeOf(http, body, submitOf('esim_cancel')).row).toBe(row);
  });

  it('is described by the title of a page', () => {
    const body = '<html><script>alert(1)</script><h1>502 Bad Gateway</h1><hr>AAAA-BBBB</html>';
    expect(outcomeOf(502, body, gift, { 'content-type': 'text/html' }).message).toBe(
      'HTTP 502, text/html, 75 bytes: 502 Bad Gateway',
    );
  });

  it.each([
    '{"message":"not all done","code":"E7","codes":["AAAA-BBBB"],"data":{"pin":"AAAA-CCCC"}}',
    '{"error":{"message":"not all done","code":7,"codes":["AAAA-BBBB"]},"pin":"AAAA-CCCC"}',
    '[{"code":"AAAA-BBBB"}]',
    'your code is AAAA-BBBB',
    '<p>AAAA-BBBB</p>',
    '{"code":{"value":"AAAA-BBBB"}}',
  ])('shows its message, its code and its names, and no other value: %s', (body) => {
    for (const http of [400, 429, 500]) {
      const { message } = outcomeOf(http, body, gift);
      expect(message).not.toContain('AAAA');
      const shown = body.includes('not all done')
        ? /: not all done, .*its names are message, code, codes/
        : /^HTTP /;
      expect(message).toMatch(shown);
    }
  });
});

describe('a success', () => {
  it.each([
    ['a body that is empty', ''],
    ['cut JSON', '{"id":1,"codes":["SECRET-CODE"'],
    ['HTML', '<html>SECRET-CODE</html>'],
    ['a list', '["SECRET-CODE"]'],
    ['a word', '"SECRET-CODE"'],
    ['null', 'null'],
    ['two objects', '{"id":1}{"code":"SECRET-CODE"}'],
    ['an error without a code', '{"error":{},"codes":["SECRET-CODE"]}'],
    ['an error that is a word', '{"error":"SECRET-CODE"}'],
    ['bytes that are no UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('with %s is unreadable, and its message shows nothing of the body', (_what, body) => {
    const outcome = outcomeOf(200, body, gift);
    expect(outcome).toMatchObject({ row: 'unreadable_success', answer: null, sent: true });
    expect(JSON.stringify(outcome)).not.toContain('SECRET-CODE');
  });

  it('is accepted also with the status refunded, a null error, HTTP 201 or a byte order mark', () => {
    expect(outcomeOf(200, '{"status":"refunded","error":null}', gift)).toMatchObject({
      row: 'accepted',
      answer: { statusClass: 'refunded' },
    });
    expect(outcomeOf(201, '\uFEFF{"id":"7"}', gift)).toMatchObject({
      row: 'accepted',
      answer: { orderNumber: '7' },
    });
  });

  it('has an empty message', () => {
    expect(outcomeOf(200, '{"codes":["SECRET-CODE"],"message":"SECRET-CODE"}', gift).message).toBe(
      '',
    );
  });
});

describe('text from outside', () => {
  it('is cut to 500 characters and shown on one line without control characters', () => {
    const message = `first\r\nsecond\u001b[31m red \u202e${'é '.repeat(900)}`;
    const outcome = outcomeOf(422, error('order_refused', message), gift);
    expect(Array.from(outcome.message)).toHaveLength(500);
    expect(outcome.message.startsWith('first second [31m red é')).toBe(true);
    expect(outcomeOf(422, error('x_y '.repeat(900)), gift).code).toHaveLength(64);
  });

  it('shows no delivered code, wherever in an error or a redirect it stands', () => {
    const codes = [
      'ABCD-EFGH-IJKL',
      'AB12CD34EF',
      '1234 5678 9012 3456',
      'QWER TYUI OPAS',
      '98765',
    ];
    for (const code of codes) {
      const ends = [
        outcomeOf(422, error(code, 'The quantity is too large'), gift),
        outcomeOf(422, error('order_refused', `sold before: ${code}, at 12.50 USD`), gift),
        outcomeOf(429, error('too_many', `again ${code}`), gift),
        outcomeOf(422, JSON.stringify({ [code]: 1, message: 'It is invalid' }), gift),
        outcomeOf(422, JSON.stringify({ error: { [code]: {} } }), gift),
        outcomeOf(302, '{}', gift, { location: `https://shop.example/claim/${code}?pin=${code}` }),
      ];
      for (const end of ends) expect(JSON.stringify(end)).not.toContain(code);
      expect(ends[1]?.message).toMatch(/^sold before: \*\*\*, at 12\.50 USD$/);
    }
  });
});

describe('any end of a call', () => {
  const anyBody = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string().map((text) => new TextEncoder().encode(text)),
    fc.json().map((text) => new TextEncoder().encode(text)),
    fc
      .record({
        error: fc.oneof(fc.anything(), fc.record({ code: fc.string(), message: fc.anything() })),
      })
      .map((value) => {
        try {
          return new TextEncoder().encode(JSON.stringify(value));
        } catch {
          return new Uint8Array();
        }
      }),
    fc
      .constantFrom(...wholesaleErrors.map((row) => row.code ?? ''))
      .map((code) => new TextEncoder().encode(error(code))),
  );
  /**
   * Rows that say that nothing was bought. Only the error body of the specification or a 429 may
   * lead to them.
   */
  const definite: readonly OutcomeRow[] = [
    ...Object.values(expectedRow),
    'not_found_unexpected',
    'unlisted_code',
    'code_out_of_place',
  ];

  it('has a row; without the error body it is no rejection, and without a 2xx no success', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1000 }),
        anyBody,
        fc.constantFrom(...purposes),
        fc.dictionary(
          fc.constantFrom('retry-after', 'date', 'content-type', 'location'),
          fc.string(),
        ),
        (http, body, purpose, headers) => {
          const outcome = outcomeOf(http, body, purpose, headers);
          expect(outcomeRows).toContain(outcome.row);
          expect(outcome.sent).toBe(true);
          expect(outcome.message.length).toBeLessThanOrEqual(1000);
          expect(outcome.row !== 'accepted' || (http >= 200 && http < 300)).toBe(true);
          const refused = definite.includes(outcome.row) && outcome.row !== 'rate_limited';
          expect(!refused || outcome.code !== null).toBe(true);
          expect(outcome.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
        },
      ),
      { numRuns: 3000 },
    );
  });
});
