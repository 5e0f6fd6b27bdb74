import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OrderAnswer, Unit } from '../../../src/core/answers/order-answer.ts';
import type { AcceptableLine } from '../../../src/core/order/order-request.ts';
import { statementTexts } from '../../../src/store/sqlite/database.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';

const esim = { operation: 'esim_order', variant: null, plan: 'es-1' } as const;
const iccid = '8944000000000000001';
const esimAnswer = (orderNumber: string): OrderAnswer => ({
  ...answer,
  orderNumber,
  units: [{ iccid, lpa: 'LPA:1$a.b$c' }],
});
const unitAnswer = (orderNumber: string, unit: Unit): OrderAnswer => ({
  ...answer,
  orderNumber,
  units: [unit],
});
const codeAnswer = (orderNumber: string | null, code: string, pin?: string): OrderAnswer => ({
  ...answer,
  orderNumber,
  units: [pin === undefined ? { code } : { code, pin }],
});

/** Buys an order for each of these answers; returns the states and reasons of the entries. */
async function bought(
  ...orders: readonly (readonly [Partial<AcceptableLine>, OrderAnswer, ('fulfilled' | 'placed')?])[]
) {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  const found: { reference: string; state: string; reason: string | null }[] = [];
  for (const [index, [changes, shown, state = 'fulfilled']] of orders.entries()) {
    await box.accept([line({ orderId: `o${index}`, ...changes })]);
    const attempt = await box.opened({ nowMs: 2000 + index });
    const settlement = { ...fulfilled, state, answer: { ...shown }, dueAtMs: 99_000_000 };
    const { settlement: recorded } = await stepsOf(box.store).closeAttempt(
      close(attempt, settlement),
    );
    found.push({
      reference: attempt.entry.reference,
      state: recorded.state,
      reason: recorded.reviewReason,
    });
  }
  return { box, found, counts: box.store.read.counts() };
}

describe('what another entry already has', () => {
  it.each<
    readonly [
      string,
      readonly [Partial<AcceptableLine>, OrderAnswer],
      readonly [Partial<AcceptableLine>, OrderAnswer],
      string,
    ]
  >([
    [
      'an order number',
      [{}, codeAnswer('N-1', 'AAAA-1111-AAAA')],
      [{}, codeAnswer('N-1', 'BBBB-2222-BBBB')],
      'the order number N-1',
    ],
    [
      'a code',
      [{}, codeAnswer('N-1', 'AAAA-1111-AAAA')],
      [{}, codeAnswer('N-2', 'aaaa1111aaaa')],
      'a code',
    ],
    [
      'a code without an order number',
      [{}, codeAnswer(null, 'AAAA-1111-AAAA')],
      [{}, codeAnswer(null, 'AAAA-1111-AAAA')],
      'a code',
    ],
    ['an eSIM', [esim, esimAnswer('N-1')], [esim, esimAnswer('N-2')], `the eSIM ${iccid}`],
    ...(
      [
        ['a short code', { code: 'AB1' }, { code: 'ab 1' }, 'a code'],
        ['a code in full-width letters', { code: 'AB12' }, { code: 'ＡＢ１２' }, 'a code'],
        ['a number that had no PIN', { code: 'AB12' }, { code: 'AB12', pin: '77' }, 'a code'],
        ['a number without its PIN', { code: 'AB12', pin: '77' }, { code: 'AB12' }, 'a code'],
        ['a number with its PIN', { code: 'A1', pin: '7-7' }, { code: 'A1', pin: '77' }, 'a code'],
        ['a PIN that is the code', { pin: '11112222333' }, { code: '1111 2222 333' }, 'a code'],
        [
          'a link',
          { url: 'https://Gift.example/c/aB1' },
          { url: 'http://gift.example/c/aB1/' },
          'a link',
        ],
        [
          'a link with its PIN',
          { url: 'https://gift.example/c/1', pin: '12' },
          { url: 'https://gift.example/c/1', pin: '12' },
          'a link',
        ],
      ] as const
    ).map(
      ([name, first, second, what]) =>
        [
          name,
          [{}, unitAnswer('N-1', first)] as const,
          [{}, unitAnswer('N-2', second)] as const,
          what,
        ] as const,
    ),
    [
      'an activation code',
      [esim, unitAnswer('N-1', { lpa: 'LPA:1$a.b$K2-1111' })],
      [esim, unitAnswer('N-2', { iccid, matching_id: 'k21111' })],
      'an activation code',
    ],
  ])('needs review and is not delivered: %s', async (_what, first, second, what) => {
    const { box, found, counts } = await bought(first, second);
    expect(found[0]?.state).toBe('fulfilled');
    expect(found[1]?.state).toBe('needs_review');
    expect(found[1]?.reason).toContain(`${what} also belongs to ${found[0]?.reference}`);
    expect(found[1]?.reason).not.toMatch(/1111|gift\.example/);
    expect(box.store.read.resultDocument(2).document.lines[0]?.entries[0]?.units).toEqual([]);
    expect(counts).toMatchObject({ fulfilled: 1, needs_review: 1 });
    // Both stand in the attention list, and each names the other one.
    const rows = box.store.read.attention(9);
    expect(new Map(rows.map((row) => [row.reference, [row.kind, row.message]]))).toEqual(
      new Map([
        [
          found[0]?.reference,
          [
            'shown_twice',
            expect.stringContaining(`${what} also belongs to ${found[1]?.reference}`),
          ],
        ],
        [found[1]?.reference, ['needs_review', found[1]?.reason]],
      ]),
    );
  });

  it('is known after its codes were shredded', async () => {
    const { box } = await bought([{}, codeAnswer('N-1', 'AAAA-1111-AAAA')]);
    await box.store.results.closeDelivery({
      requestId: 1,
      sink: 'folder',
      version: 99,
      nowMs: 3000,
    });
    const shredding = { beforeMs: 4000, nowMs: 5000, reason: 'old', after: null, limit: 9 };
    expect(await box.store.codeRetention.shredNext(shredding)).toMatchObject({ shredded: 1 });
    await box.accept([line({ orderId: 'later' })]);
    const attempt = await box.opened({ nowMs: 6000 });
    const shown = { ...fulfilled, answer: codeAnswer('N-2', 'AAAA-1111-AAAA') };
    await stepsOf(box.store).closeAttempt(close(attempt, shown));
    expect(box.store.read.counts()).toMatchObject({ fulfilled: 1, needs_review: 1 });
  });

  it('is said once of what was delivered, until it is shown for a third order', async () => {
    const shown = codeAnswer('N-1', 'AAAA-1111-AAAA');
    const { box, found } = await bought([{}, shown], [{}, shown]);
    const delivered = found[0]?.reference ?? '';
    const kinds = (): readonly string[] => box.store.read.attention(9).map(({ kind }) => kind);
    const who = { actor: 'cli:anna', reason: 'asked the supplier', nowMs: 5000 };
    await box.store.operator.acknowledge({ ...who, which: { ids: [delivered] } });
    expect(kinds()).toEqual(['needs_review']);
    await box.accept([line({ orderId: 'third' })]);
    const attempt = await box.opened({ nowMs: 6000 });
    await stepsOf(box.store).closeAttempt(close(attempt, { ...fulfilled, answer: { ...shown } }));
    expect(kinds().toSorted()).toEqual(['needs_review', 'needs_review', 'shown_twice']);
  });

  it('flags the other one, too, which is not delivered yet', async () => {
    const shown = codeAnswer('N-1', 'AAAA-1111-AAAA');
    const { counts } = await bought([{}, shown, 'placed'], [{}, shown]);
    expect(counts).toMatchObject({ needs_review: 2, fulfilled: 0, placed: 0 });
  });

  it.each<
    [
      string,
      readonly [Partial<AcceptableLine>, OrderAnswer],
      readonly [Partial<AcceptableLine>, OrderAnswer],
    ]
  >([
    [
      'the same number in the other family',
      [{}, codeAnswer('1', 'AAAA-1111-AAAA')],
      [esim, esimAnswer('1')],
    ],
    [
      'a card number with another pin',
      [{}, codeAnswer('N-1', 'AAAA-1111', '1')],
      [{}, codeAnswer('N-2', 'AAAA-1111', '2')],
    ],
    [
      'a short PIN without a code, beside an address',
      [{}, unitAnswer('N-1', { url: 'https://gift.example', pin: '12' })],
      [{}, unitAnswer('N-2', { url: 'https://gift.example', pin: '13' })],
    ],
    [
      'an address beside a code',
      [{}, unitAnswer('N-1', { url: 'https://gift.example', code: 'AB1' })],
      [{}, unitAnswer('N-2', { url: 'https://gift.example', code: 'AB2' })],
    ],
    [
      'a link that differs in capitals',
      [{}, unitAnswer('N-1', { url: 'https://gift.example/aB1' })],
      [{}, unitAnswer('N-2', { url: 'https://gift.example/Ab1' })],
    ],
    [
      'a server of eSIMs',
      [esim, unitAnswer('N-1', { iccid, lpa: 'LPA:1$a.b$' })],
      [esim, unitAnswer('N-2', { iccid: `${iccid}9`, lpa: 'LPA:1$a.b$' })],
    ],
    [
      'a code with the same ending',
      [{}, codeAnswer('N-1', 'AAAA-1111-ZZZZ')],
      [{}, codeAnswer('N-2', 'BBBB-2222-ZZZZ')],
    ],
    [
      'a top-up that shows the order of its eSIM',
      [esim, esimAnswer('N-1')],
      [{ operation: 'esim_topup', variant: null, plan: 'top', iccid }, esimAnswer('N-1')],
    ],
    [
      'a cancel that shows the order of its eSIM',
      [esim, esimAnswer('N-1')],
      [
        { operation: 'esim_cancel', variant: null, currency: null, quantity: null, iccid },
        esimAnswer('N-1'),
      ],
    ],
  ])('is not: %s', async (_what, first, second) => {
    const { counts } = await bought(first, second);
    expect(counts).toMatchObject({ fulfilled: 2 });
  });

  it('is found by two indexes, and not by a search through all orders', async () => {
    const { box } = await bought(
      [{}, codeAnswer('N-1', 'AAAA-1111-AAAA')],
      [{}, codeAnswer('N-2', 'BBBB-2222-BBBB')],
    );
    const database = new SqliteDatabase(box.path, { readonly: true });
    const detail = (sql: string, ...given: unknown[]) =>
      database
        .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...given)
        .map((row) => row.detail);
    const [byNumber = '', byMark = ''] = ['entries_by_order_number', 'FROM unit_marks u'].map(
      (text) =>
        [...statementTexts].find((sql) => sql.includes(text) && sql.includes('e.state NOT')),
    );
    const plans = [
      detail(byNumber, { orderNumber: 'N-1', operation: 'gift_card_order', id: 1 }),
      detail(byMark, 'mark', 1),
    ];
    database.close();
    expect(plans).toEqual([
      ['SEARCH e USING INDEX entries_by_order_number (order_number=?)'],
      [
        'SEARCH u USING PRIMARY KEY (mark=?)',
        'SEARCH e USING INTEGER PRIMARY KEY (rowid=?)',
        'USE TEMP B-TREE FOR ORDER BY',
      ],
    ]);
  });

  it('is not what the same entry showed before', async () => {
    const { box } = await bought([{}, codeAnswer('N-1', 'AAAA-1111-AAAA'), 'placed']);
    const lookup = await box.opened({ step: 'lookup', nowMs: 100_000_000 });
    const again = { ...fulfilled, answer: codeAnswer('N-1', 'AAAA-1111-AAAA') };
    await stepsOf(box.store).closeAttempt(close(lookup, again));
    expect(box.store.read.counts()).toMatchObject({ fulfilled: 1 });
  });
});
