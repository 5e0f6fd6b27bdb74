import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeUnits, keptUnits, type OrderOfUnits } from '../../../src/core/answers/units.ts';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { decideSubmission } from '../../../src/buying/decision/decide-submission.ts';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import type { EntryFacts } from '../../../src/buying/decision/settlement.ts';
import { answer, facts, noJitter, now, outcome, policy } from '../../support/facts.ts';

const card: OrderOfUnits = {
  operation: 'gift_card_order',
  variant: 'steam-10',
  plan: null,
  reference: 'os-abc234',
  orderNumber: 'GC-77',
  quantity: 1,
};
const esim: OrderOfUnits = { ...card, operation: 'esim_order', variant: null, plan: 'fr-1gb' };
const [one, two] = ['8944000000000000006', '8944000000000000014'];

describe('a unit is believed when it can be redeemed', () => {
  it.each<readonly [string, Unit]>([
    ['a code', { code: 'AAAA-BBBB-CCCC' }],
    ['a code beside a pin of zeros', { code: 'AAAA-BBBB', pin: '0000' }],
    ['a code beside a pin that is also the order number', { code: 'AAAA-BBBB', pin: 'GC77' }],
    ['a pin', { pin: '1234', serial: 'S' }],
    ['a link', { url: 'https://redeem.example/AAAA' }],
    ['a code that contains the name of the product', { code: 'STEAM-10-AAAA' }],
    ['a short code', { code: 'A' }],
    ['a code with one group of the letter X', { code: 'XXXX-7K2P-99QZ' }],
  ])('%s', (_what, unit) => {
    expect(judgeUnits([unit], card)).toEqual({
      kind: 'complete',
      units: [unit],
      shown: 1,
      different: 1,
    });
  });

  it('without the fields that say that there is nothing', () => {
    expect(judgeUnits([{ code: 'N/A', pin: '1234', url: '-' }], card).units).toEqual([
      { pin: '1234' },
    ]);
    expect(judgeUnits([{ code: 'AAAA', pin: 'none', serial: 'S' }], card).units).toEqual([
      { code: 'AAAA', serial: 'S' },
    ]);
  });

  it('an eSIM by its ICCID, or by its activation code', () => {
    for (const unit of [
      { iccid: one },
      { lpa: 'LPA:1$smdp.example.com$K2-AB', matching_id: 'K2-AB' },
    ])
      expect(judgeUnits([unit], esim).kind).toBe('complete');
  });
});

describe('a unit is not believed', () => {
  it.each([
    'AB\u0000CD',
    'AB\nCD',
    'AB\u007fCD',
    'AB\u202eDC',
    'AB\u200fCD',
    '\u2066ABCD\u2069',
    'AB\u061cCD',
    'AB\u200bCD',
    'ABCD\ufeff',
    'AB\u00adCD',
    'AB\u3164CD',
    'AB\ufe0fCD',
  ])('with characters that nobody can type, or that change its direction: %j', (text) => {
    for (const unit of [
      { code: text },
      { code: 'AAAA-1111', pin: text },
      { url: `https://x.example/${text}` },
    ])
      expect(judgeUnits([unit], card)).toMatchObject({ kind: 'fewer', units: [], shown: 0 });
    for (const unit of [
      { iccid: '8944000000000000001', lpa: `LPA:1$smdp.example$${text}` },
      { iccid: text },
    ])
      expect(judgeUnits([unit], esim)).toMatchObject({ kind: 'fewer', shown: 0 });
  });

  it.each([
    'steam-10',
    'STEAM 10',
    'Steam_10',
    'os-abc234',
    'OS-ABC234',
    'GC-77',
    'gc77',
    'pending',
    'PENDING',
    'In Progress',
    'processing…',
    'TBD',
    'n/a',
    'N.A.',
    'none',
    'null',
    '-',
    '---',
    'not ready',
    '****',
    '****-****-1234',
    'xxxx',
    'XXXX-XXXX-XXXX',
    'XXXX-XXXX-1234',
    '0000',
    '0000-0000-0000',
    '••••1234',
    '#####',
  ])('when its code is %s', (code) => {
    expect(judgeUnits([{ code }], card)).toMatchObject({ kind: 'fewer', units: [], shown: 0 });
  });

  it.each<readonly [string, Unit]>([
    ['a pin alone is 0000', { pin: '0000' }],
    ['its code is masked beside a pin', { code: '****', pin: '1234' }],
    ['its code is the product beside a pin', { code: 'steam-10', pin: '1234' }],
    ['its pin is still to come', { code: 'AAAA-BBBB', pin: 'pending' }],
    ['its own state says so', { code: 'AAAA-BBBB', status: 'Processing' }],
    ['it has only a serial number', { serial: 'S-1' }],
    ['it has only an expiry date', { expires_at: '2027-01-01' }],
    ['nothing is in it', {}],
  ])('when %s', (_what, unit) => {
    expect(judgeUnits([unit], card)).toMatchObject({ kind: 'fewer', units: [] });
  });

  it.each<readonly [string, Unit]>([
    ['its ICCID is a row of zeros', { iccid: '0000000000000000000' }],
    ['its activation code is still to come', { iccid: one, lpa: 'LPA:1$smdp.example.com$PENDING' }],
    [
      'its matching id is the order number',
      { iccid: one, matching_id: 'gc-77', smdp_address: 'smdp.example.com' },
    ],
    [
      'it has no ICCID, and its activation code has no matching id',
      { lpa: 'LPA:1$smdp.example.com$' },
    ],
    ['it has a code in the place of an eSIM', { code: 'AAAA-BBBB' }],
  ])('as an eSIM when %s', (_what, unit) => {
    expect(judgeUnits([unit], esim)).toMatchObject({ kind: 'fewer', units: [] });
  });
});

describe('the units of an order', () => {
  const pair = { ...card, quantity: 2 };
  it.each<readonly [string, readonly Unit[], string]>([
    ['fewer', [{ code: 'A' }], 'fewer'],
    ['one and a placeholder', [{ code: 'A' }, { code: 'PENDING' }], 'fewer'],
    [
      'as many, beside a placeholder',
      [{ code: 'A' }, { code: 'B' }, { code: 'PENDING' }],
      'complete',
    ],
    ['the same twice', [{ code: 'AAAA' }, { code: 'AAAA' }], 'repeated'],
    ['the same twice, in another form', [{ code: 'AAAA-BBBB' }, { code: 'AAAABBBB' }], 'repeated'],
    ['two that differ in capitals', [{ code: 'aBcD-1234' }, { code: 'AbCd-1234' }], 'complete'],
    [
      'the same code with two serial numbers',
      [
        { code: 'A', serial: '1' },
        { code: 'A', serial: '2' },
      ],
      'repeated',
    ],
    [
      'the same code with two pins',
      [
        { code: 'A', pin: '1' },
        { code: 'A', pin: '2' },
      ],
      'complete',
    ],
    [
      'two codes of one address',
      [
        { code: 'A', url: 'https://r.example' },
        { code: 'B', url: 'https://r.example' },
      ],
      'complete',
    ],
    ['more', [{ code: 'A' }, { code: 'B' }, { code: 'C' }], 'more'],
    ['all, and one twice', [{ code: 'A' }, { code: 'B' }, { code: 'B' }], 'repeated'],
  ])('are compared with what was ordered: %s', (_what, units, kind) => {
    expect(judgeUnits(units, pair).kind).toBe(kind);
  });

  it('are different eSIMs when both their ICCIDs and their activation codes differ', () => {
    const order = { ...esim, quantity: 2 };
    const lpa = (matching: string): string => `LPA:1$smdp.example.com$${matching}`;
    expect(
      judgeUnits(
        [
          { iccid: one, lpa: lpa('A') },
          { iccid: two, lpa: lpa('B') },
        ],
        order,
      ).kind,
    ).toBe('complete');
    expect(
      judgeUnits(
        [
          { iccid: one, lpa: lpa('') },
          { iccid: two, lpa: lpa('') },
        ],
        order,
      ).kind,
    ).toBe('complete');
    expect(
      judgeUnits(
        [
          { iccid: one, lpa: lpa('A') },
          { iccid: two, lpa: lpa('A') },
        ],
        order,
      ).kind,
    ).toBe('repeated');
    expect(judgeUnits([{ iccid: one }, { iccid: one, lpa: lpa('A') }], order).kind).toBe(
      'repeated',
    );
  });

  it('are kept up to a limit, however many an answer has', () => {
    const units = Array.from({ length: 20_000 }, (_, index) => ({ code: `C${index}` }));
    const verdict = judgeUnits(units, card);
    expect(verdict).toMatchObject({ kind: 'more', shown: 20_000, different: 20_000 });
    expect(verdict.units).toHaveLength(keptUnits(1));
  });
});

describe('any list of units', () => {
  const real = fc
    .constantFrom('AAAA-BBBB', 'CCCC-DDDD', 'EEEE-FFFF', 'GGGG-HHHH')
    .map((text) => ({ text, isReal: true }));
  const placeholder = fc
    .constantFrom(
      'PENDING',
      'n/a',
      '****',
      '0000-0000',
      'xxxx',
      'Steam 10',
      'OS-ABC234',
      'gc 77',
      '',
    )
    .map((text) => ({ text, isReal: false }));

  it('is complete only with exactly as many real and different codes as were ordered', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(real, placeholder), { maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        (all, quantity) => {
          const verdict = judgeUnits(
            all.map(({ text }) => ({ code: text })),
            { ...card, quantity },
          );
          const codes = all.flatMap(({ text, isReal }) => (isReal ? [text] : []));
          expect(verdict.units.map((unit) => unit.code)).toEqual(codes);
          const isEach = new Set(codes).size === codes.length;
          expect(verdict.kind === 'complete').toBe(isEach && codes.length === quantity);
          expect(verdict.kind === 'more').toBe(new Set(codes).size > quantity);
          expect(verdict.kind === 'fewer').toBe(isEach && codes.length < quantity);
        },
      ),
    );
  });

  it('of any text is judged without a throw', () => {
    const text = fc.option(fc.string({ unit: 'binary' }), { nil: undefined });
    const unit = fc.record({
      code: text,
      pin: text,
      url: text,
      status: text,
      iccid: text,
      lpa: text,
      matching_id: text,
    });
    fc.assert(
      fc.property(fc.array(unit), fc.constantFrom(card, esim), (units, order) => {
        const given = units.map(
          (fields): Unit =>
            Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
        );
        const verdict = judgeUnits(given, order);
        expect(verdict.shown).toBeLessThanOrEqual(units.length);
        expect(verdict.different).toBeLessThanOrEqual(verdict.shown);
      }),
    );
  });
});

describe('what becomes of an order', () => {
  const secret = 'AAAA-BBBB-CCCC';
  const submitted = (units: readonly Unit[], quantity = 1, changes: Partial<EntryFacts> = {}) =>
    decideSubmission(
      facts({ quantity, ...changes }),
      outcome('accepted', { answer: answer({ units }) }),
      policy,
      now,
      noJitter,
    );

  it.each<readonly [string, readonly Unit[], number, string]>([
    [
      'more units than ordered',
      [{ code: secret }, { code: 'B' }],
      1,
      'the API shows 2 units, but 1 was ordered',
    ],
    [
      'the same unit twice',
      [{ code: secret }, { code: secret }],
      2,
      'the API shows a unit more than once: 2 units, 1 different',
    ],
  ])(
    'with %s: it needs review, and its units are kept as evidence',
    (_what, units, quantity, reason) => {
      const settlement = submitted(units, quantity);
      expect(settlement).toMatchObject({
        state: 'needs_review',
        outcomeUnknown: false,
        answer: { units },
      });
      expect(settlement.reviewReason).toBe(reason);
      expect(settlement.reviewReason).not.toContain(secret);
    },
  );

  it('with a placeholder: it is placed without it, and fulfilled by a later lookup with the code', () => {
    const placed = submitted([{ code: 'Steam-10' }]);
    expect(placed).toMatchObject({ state: 'placed', nextStep: 'lookup', answer: { units: [] } });
    const polled = facts({ state: 'placed', inFlightWindowEndMs: placed.inFlightWindowEndMs });
    const look = (units: readonly Unit[]) =>
      decideLookup(
        polled,
        { kind: 'found', answer: answer({ units }) },
        policy,
        now + 5000,
        noJitter,
      );
    expect(look([{ code: 'PENDING' }])).toMatchObject({ state: 'placed', answer: { units: [] } });
    expect(look([{ code: secret }])).toMatchObject({
      state: 'fulfilled',
      answer: { units: [{ code: secret }] },
    });
  });

  it('compares codes with the order number of an earlier answer, too', () => {
    const units = [{ code: 'gc 500' }];
    const shown = answer({ orderNumber: null, units });
    const placed = facts({ state: 'placed', orderNumber: 'GC-500' });
    expect(
      decideLookup(placed, { kind: 'found', answer: shown }, policy, now, noJitter).state,
    ).toBe('placed');
  });

  it('whose units change from one answer to the next: it needs review', () => {
    const polled = facts({ state: 'placed', units: [{ code: 'EARLY' }] });
    const found = { kind: 'found', answer: answer({ units: [{ code: secret }] }) } as const;
    const settlement = decideLookup(polled, found, policy, now, noJitter);
    expect(settlement.state).toBe('needs_review');
    expect(settlement.reviewReason).toContain('2 different units');
    const same = facts({ state: 'placed', units: [{ code: secret }] });
    expect(decideLookup(same, found, policy, now, noJitter).state).toBe('fulfilled');
  });

  it('that is in progress: it is placed, also while a unit comes twice, but not while there are too many', () => {
    const early = (units: readonly Unit[]) =>
      decideSubmission(
        facts({ quantity: 2 }),
        outcome('accepted', {
          answer: answer({ status: 'processing', statusClass: 'pending', units }),
        }),
        policy,
        now,
        noJitter,
      );
    expect(early([{ code: 'A' }, { code: 'A' }])).toMatchObject({
      state: 'placed',
      answer: { units: [{}, {}] },
    });
    expect(early([{ code: 'A' }, { code: 'B' }, { code: 'C' }]).state).toBe('needs_review');
  });

  it('that is refunded: its units do not matter', () => {
    const refunded = answer({
      status: 'refunded',
      statusClass: 'refunded',
      units: [{ code: 'A' }, { code: 'A' }],
    });
    expect(
      decideSubmission(facts(), outcome('accepted', { answer: refunded }), policy, now, noJitter)
        .state,
    ).toBe('refunded');
  });

  it('whose review has a reason with the names of the fields that were not read', () => {
    const odd = answer({ units: [{ code: 'A' }, { code: 'B' }], unreadFields: ['security_code'] });
    const settlement = decideSubmission(
      facts(),
      outcome('accepted', { answer: odd }),
      policy,
      now,
      noJitter,
    );
    expect(settlement.reviewReason).toMatch(
      /; the units in the answer have fields that wholesale.wire does not read: security_code$/,
    );
    const late = facts({ state: 'placed', firstSentAtMs: now - policy.placedDeadlineMs });
    const found = { kind: 'found', answer: { ...odd, units: [] } } as const;
    expect(decideLookup(late, found, policy, now, noJitter).reviewReason).toContain(
      'security_code',
    );
  });

  it('that is a top-up: it delivers its own acceptance', () => {
    const topup = facts({
      operation: 'esim_topup',
      iccid: one,
      quantity: null,
      variant: null,
      plan: 'p',
    });
    const plain = answer({ units: [] });
    expect(
      decideSubmission(topup, outcome('accepted', { answer: plain }), policy, now, noJitter).state,
    ).toBe('fulfilled');
    const early = answer({ status: 'processing', statusClass: 'pending', units: [] });
    expect(
      decideSubmission(topup, outcome('accepted', { answer: early }), policy, now, noJitter).state,
    ).toBe('placed');
  });
});
