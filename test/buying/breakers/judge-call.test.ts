import { scopesJudged } from '../../../src/core/order/scope.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outcomeRows, type OutcomeRow } from '../../../src/core/answers/outcome.ts';
import {
  evidenceReasons,
  evidenceRules,
  neverLeftRows,
  type EvidenceReason,
} from '../../../src/buying/breakers/evidence.ts';
import {
  judgeCall,
  trialDelayMs,
  type EndedCall,
  type Evidence,
  type JudgedPause,
  type JudgeInput,
  type ScopeChanges,
} from '../../../src/buying/breakers/judge-call.ts';

type CallOf = Partial<Omit<EndedCall, 'scopes'>> & { product?: string | null; family?: string };

let entries = 0;
function call({
  product = 'variant:a',
  family = 'family:gift_card',
  ...changes
}: CallOf): EndedCall {
  entries += 1;
  return {
    entryId: entries,
    purpose: 'submit',
    scopes: { product, family, balance: 'balance:USD' },
    namesEsim: false,
    row: 'accepted',
    message: 'the message',
    isAnswered: true,
    isAccepted: changes.row === undefined && changes.isProvenAbsent !== true,
    isProvenAbsent: false,
    isUnread: false,
    confirmed: null,
    trialOf: [],
    isDeniedAlone: false,
    endedMs: 0,
    ...changes,
  };
}

/** Nothing is known about any product. */
const unknownProducts: JudgeInput['products'] = {
  isProven: () => false,
  boughtLately: () => false,
};

/** What the store keeps of a series of calls. */
class Judged {
  evidence: Evidence[] = [];
  pauses: JudgedPause[] = [];
  readonly #products: JudgeInput['products'];

  constructor(products: Partial<JudgeInput['products']> = {}) {
    this.#products = { ...unknownProducts, ...products };
  }

  judge(ended: EndedCall): ScopeChanges {
    const scopes = scopesJudged(ended.scopes);
    const changes = judgeCall({
      call: ended,
      evidence: this.evidence.filter((one) => scopes.includes(one.scope)),
      pauses: this.pauses.filter((one) => scopes.includes(one.scope)),
      products: this.#products,
      probesBefore: () => 0,
    });
    this.evidence = this.evidence.filter(
      (one) =>
        !changes.forget.some(({ scope, reason }) => one.scope === scope && one.reason === reason),
    );
    this.evidence.push(...changes.remember);
    this.pauses.push(
      ...changes.open.map((one) => ({ ...one, openedBy: 'worker', probeAtMs: null })),
    );
    this.pauses = this.pauses.filter(
      (one) => !changes.end.some(({ scope }) => scope === one.scope),
    );
    return changes;
  }

  run(...calls: CallOf[]): readonly string[] {
    for (const each of calls) this.judge(call(each));
    return this.paused;
  }

  get paused(): readonly string[] {
    return this.pauses.map(({ scope }) => scope);
  }
}

const mismatch = { row: 'answer_mismatch' } as const;
const empty = { row: 'unreadable_success' } as const;
const misread = { row: 'invalid_request' } as const;
const tooDear = { row: 'insufficient_balance' } as const;
const silent = { row: 'deadline', isAnswered: false } as const;
const absent = { purpose: 'lookup', row: 'not_found', isProvenAbsent: true } as const;
const refused = { row: 'order_refused', isAccepted: false } as const;
const confirmed = { purpose: 'lookup', row: 'not_found', confirmed: 'order_refused' } as const;
const b = { product: 'variant:b' } as const;

describe('what pauses which scope', () => {
  it.each<[string, readonly CallOf[], readonly string[]]>([
    ['one mismatch: its product', [mismatch], ['variant:a']],
    [
      'mismatches of two products: the family, too',
      [mismatch, { ...mismatch, ...b }],
      ['variant:a', 'variant:b', 'family:gift_card'],
    ],
    ['one unreadable success: nothing', [empty], []],
    ['two unreadable successes', [empty, empty], ['variant:a']],
    [
      'three unreadable successes of one product: not the family',
      [empty, empty, empty],
      ['variant:a'],
    ],
    ['three rejections of the form', [misread, { row: 'unlisted_code' }, misread], ['variant:a']],
    [
      'twenty rejections of one product: not the family',
      Array.from({ length: 20 }, () => misread),
      ['variant:a'],
    ],
    ['three proven absences', [absent, absent, absent], ['variant:a']],
    [
      'three dear lines of different products',
      [tooDear, { ...tooDear, ...b }, tooDear],
      ['balance:USD'],
    ],
    ['three silent calls', [silent, { ...silent, ...b }, silent], ['account']],
    [
      'lookups that never left',
      Array.from(
        { length: 3 },
        () => ({ purpose: 'lookup', row: 'unreachable', isAnswered: false }) as const,
      ),
      ['account'],
    ],
    [
      'lookups that hang: nothing',
      Array.from({ length: 9 }, () => ({ ...silent, purpose: 'lookup' }) as const),
      [],
    ],
    [
      'lookups that find nothing yet: nothing',
      Array.from({ length: 9 }, () => ({ purpose: 'lookup', row: 'not_found' }) as const),
      [],
    ],
    [
      'rejections of the order itself: nothing',
      Array.from({ length: 9 }, () => ({ row: 'out_of_stock' }) as const),
      [],
    ],
  ])('%s', (_what, calls, paused) => {
    expect(new Judged().run(...calls)).toEqual(paused);
  });

  it('counts an entry once, however often it fails', () => {
    const judged = new Judged();
    for (let time = 0; time < 5; time += 1) judged.judge(call({ ...empty, entryId: 7 }));
    expect(judged.paused).toEqual([]);
    for (let time = 0; time < 5; time += 1) judged.judge(call({ ...silent, entryId: 8 }));
    expect(judged.paused).toEqual([]);
  });

  it.each(['unreachable', 'proxy_refused'] as const)(
    '%s: an entry of which nothing left counts at each call',
    (row) => {
      const judged = new Judged();
      const failed = () => judged.judge(call({ row, isAnswered: false, entryId: 7 }));
      failed();
      judged.judge(call({ purpose: 'lookup', row: 'not_found' }));
      failed();
      expect(judged.paused).toEqual([]);
      failed();
      expect(judged.paused).toEqual(['account']);
      expect(judged.pauses[0]).toMatchObject({ reason: 'api_unreachable' });
    },
  );

  it.each<[string, readonly CallOf[]]>([
    ['a success of the product between unreadable ones', [empty, {}, empty]],
    [
      'a judged order between rejections of the form',
      [misread, misread, { row: 'out_of_stock' }, misread],
    ],
    ['a success between dear lines', [tooDear, tooDear, b, tooDear]],
    [
      'an answer between silent calls, also to a lookup',
      [silent, silent, { purpose: 'lookup', row: 'not_found' }, silent],
    ],
    [
      'a success of the same family between mismatches',
      [{ ...empty, ...b }, empty, { product: 'variant:c' }, { ...empty, product: 'variant:d' }],
    ],
  ])('starts to count again after %s', (_what, calls) => {
    expect(new Judged().run(...calls)).toEqual([]);
  });

  it('does not take a dear line or a success of another product for a success of this one', () => {
    expect(new Judged().run(empty, tooDear, b, empty)).toEqual(['variant:a']);
  });
});

describe('a 404 for the eSIM that an order names', () => {
  const missing = (product: string | null) =>
    ({ row: 'not_found_unexpected', namesEsim: true, family: 'family:esim', product }) as const;
  const five = ['plan:a', 'plan:b', null, 'plan:a', 'plan:a'].map(missing);

  it('pauses its product as others do, while nothing of it was bought', () => {
    expect(new Judged().run(...five)).toEqual(['plan:a']);
  });

  it('says nothing against a product that was bought', () => {
    expect(new Judged({ isProven: (product) => product === 'plan:a' }).run(...five)).toEqual([]);
  });
});

describe('a refusal of the product', () => {
  it('pauses it after three that a lookup has confirmed, and nothing wider', () => {
    const judged = new Judged();
    expect(judged.run(refused, refused, refused, refused, confirmed, confirmed)).toEqual([]);
    expect(judged.run({ ...confirmed, ...b }, confirmed)).toEqual(['variant:a']);
    expect(judged.pauses[0]).toMatchObject({ reason: 'product_refused' });
  });

  it('counts anew after an order was accepted, not after another refusal', () => {
    expect(new Judged().run(confirmed, confirmed, {}, confirmed)).toEqual([]);
    const other = { row: 'limit_exceeded' } as const;
    expect(new Judged().run(confirmed, other, confirmed, other, confirmed)).toEqual(['variant:a']);
  });

  it.each<OutcomeRow>([
    'limit_exceeded',
    'plan_unorderable',
    'currency_unavailable',
    'insufficient_balance',
    'topup_not_allowed',
    'invalid_request',
  ])('is none where the order itself is refused: %s', (row) => {
    const lookup = { ...confirmed, confirmed: row };
    expect(new Judged().run(lookup, lookup, lookup, lookup)).toEqual([]);
  });

  it('is none where the order names an eSIM, which may be the cause', () => {
    const topup = { ...confirmed, product: 'plan:a', namesEsim: true } as const;
    expect(new Judged().run(topup, topup, topup, topup)).toEqual([]);
  });
});

describe('a denial', () => {
  const denied = { row: 'account_not_allowed' } as const;

  it('says nothing against the product of its order by itself', () => {
    expect(new Judged().run(denied, denied, denied, denied)).toEqual([]);
  });

  it('of one product alone pauses that product, until an order of it is accepted', () => {
    const judged = new Judged();
    expect(judged.run({ ...denied, isDeniedAlone: true })).toEqual(['variant:a']);
    expect(judged.run({ row: 'out_of_stock' })).toEqual(['variant:a']);
    expect(judged.run({})).toEqual([]);
  });
});

describe('what ends a pause', () => {
  it.each<[EvidenceReason, readonly CallOf[], CallOf]>([
    ['answer_mismatch', [mismatch], {}],
    ['unreadable_success', [empty, empty], { purpose: 'lookup', isAccepted: true }],
    ['consecutive_rejections', [misread, misread, misread], { row: 'out_of_stock' }],
    ['product_refused', [confirmed, confirmed, confirmed], {}],
    ['order_absent', [absent, absent, absent], { row: 'limit_exceeded' }],
    ['insufficient_balance', [tooDear, tooDear, tooDear], b],
    ['api_unreachable', [silent, silent, silent], { ...b, row: 'server_error' }],
  ])('%s', (_reason, opens, ends) => {
    const judged = new Judged();
    judged.run(...opens);
    expect(judged.paused).toHaveLength(1);
    expect(judged.run(ends)).toEqual([]);
  });

  it.each<[string, readonly CallOf[], CallOf]>([
    [
      'a judged order does not resume a balance',
      [tooDear, tooDear, tooDear],
      { row: 'out_of_stock' },
    ],
    ['a rejection does not show that echoes match again', [mismatch], { row: 'out_of_stock' }],
    [
      'a page of a proxy is no answer, also to a lookup',
      [silent, silent, silent],
      { purpose: 'lookup', row: 'foreign_server_error' },
    ],
  ])('%s', (_what, opens, other) => {
    const judged = new Judged();
    const before = judged.run(...opens);
    expect(judged.run(other)).toEqual(before);
  });

  it('of a mismatch is a lookup of the same order, not that of another one', () => {
    const judged = new Judged();
    const found = { purpose: 'lookup', isAccepted: true } as const;
    expect(judged.run({ ...mismatch, entryId: 1 }, { ...found, entryId: 2 })).toEqual([
      'variant:a',
    ]);
    expect(judged.run({ ...found, entryId: 1 })).toEqual([]);
  });

  it('never ends or postpones what an operator paused', () => {
    const pause = {
      scope: 'variant:a',
      reason: 'manual',
      openedBy: 'cli:anna',
      probes: 0,
      probeAtMs: null,
    };
    const input = { evidence: [], pauses: [pause], probesBefore: () => 0 };
    expect(
      judgeCall({ ...input, products: unknownProducts, call: call({ trialOf: ['variant:a'] }) }),
    ).toMatchObject({
      end: [],
      open: [],
    });
    expect(judgeCall({ ...input, products: unknownProducts, call: call(mismatch) })).toMatchObject({
      end: [],
      open: [],
    });
  });
});

describe('a scope that is paused again soon after its pause ended', () => {
  const opened = (failed: CallOf, reason: EvidenceReason) =>
    judgeCall({
      call: call({ ...failed, entryId: 3 }),
      evidence: [1, 2].map((entryId) => ({
        scope: failed === tooDear ? 'balance:USD' : 'account',
        reason,
        entryId,
        product: 'variant:a',
      })),
      pauses: [],
      products: unknownProducts,
      probesBefore: () => 4,
    }).open;

  it('is probed as late as before where nobody answers', () => {
    expect(opened(silent, 'api_unreachable')).toMatchObject([{ scope: 'account', probes: 4 }]);
  });

  it('is tried soon where it is a balance: it has paid an order since', () => {
    expect(opened(tooDear, 'insufficient_balance')).toMatchObject([
      { scope: 'balance:USD', probes: 0 },
    ]);
  });
});

describe('a trial', () => {
  const pause = {
    scope: 'variant:a',
    reason: 'unreadable_success',
    openedBy: 'worker',
    probes: 2,
    probeAtMs: 1,
  };
  const judged = (ended: EndedCall, paused: JudgedPause = pause) =>
    judgeCall({
      call: ended,
      evidence: [],
      pauses: [paused],
      products: unknownProducts,
      probesBefore: () => 0,
    });

  it.each<OutcomeRow>(['unreadable_success', 'server_error', 'dropped'])(
    'that fails postpones the next one: %s',
    (row) => {
      expect(judged(call({ row, trialOf: ['variant:a'] })).postpone).toEqual([pause]);
    },
  );

  it('that is refused postpones the next one before a lookup confirms it', () => {
    const refusedPause = { ...pause, reason: 'product_refused' };
    const trial = call({ ...refused, trialOf: ['variant:a'] });
    expect(judged(trial, refusedPause)).toMatchObject({ postpone: [refusedPause], end: [] });
  });

  it.each<OutcomeRow>(['rate_limited', 'unreachable', 'local_resource'])(
    'that was none is repeated: %s',
    (row) => {
      expect(judged(call({ row, isAnswered: false, trialOf: ['variant:a'] }))).toMatchObject({
        postpone: [],
        end: [],
      });
    },
  );

  it('ends a denial when the API judges its order', () => {
    const denied = {
      scope: 'account',
      reason: 'api_disabled',
      openedBy: 'worker',
      probes: 3,
      probeAtMs: 1,
    };
    expect(judged(call({ row: 'out_of_stock', trialOf: ['account'] }), denied).end).toHaveLength(1);
    expect(judged(call({ row: 'out_of_stock' }), denied).end).toEqual([]);
    expect(judged(call({ row: 'api_disabled', trialOf: ['account'] }), denied)).toMatchObject({
      end: [],
      postpone: [denied],
    });
  });

  it('comes later each time, up to the maximum', () => {
    const { firstMs, maxMs } = evidenceRules.api_unreachable;
    const delays = [0, 1, 2, 5, 6, 1000].map((probes) => trialDelayMs({ firstMs, maxMs }, probes));
    expect(delays).toEqual([1000, 2000, 4000, 32_000, 54_000, 54_000]);
  });
});

const anyCall = fc.record({
  product: fc.constantFrom('variant:a', 'variant:b', 'variant:c', null),
  row: fc.constantFrom(...outcomeRows),
  purpose: fc.constantFrom('submit', 'lookup'),
  entryId: fc.integer({ min: 1, max: 12 }),
  isProvenAbsent: fc.boolean(),
  isAnswered: fc.boolean(),
});

describe('any series of calls', () => {
  it('pauses nothing wider than its evidence, and a success clears what it contradicts', () => {
    fc.assert(
      fc.property(fc.array(anyCall, { maxLength: 60 }), (series) => {
        const judged = new Judged();
        for (const each of series) {
          const isAccepted = each.row === 'accepted';
          const ended = call({
            ...each,
            isAccepted,
            isProvenAbsent: !isAccepted && each.purpose === 'lookup' && each.isProvenAbsent,
          });
          const changes = judged.judge(ended);
          for (const { scope, reason } of changes.open) {
            const { entries: needed, familyEntries } = evidenceRules[reason];
            const counted = judged.evidence.filter(
              (one) => one.scope === scope && one.reason === reason,
            );
            const isFamily = scope === ended.scopes.family;
            // It is enough that one entry failed a second time of which nothing left.
            const fewest = reason === 'api_unreachable' && neverLeftRows.has(each.row) ? 1 : needed;
            const least = isFamily ? (familyEntries ?? Number.POSITIVE_INFINITY) : fewest;
            expect(new Set(counted.map((one) => one.entryId)).size).toBeGreaterThanOrEqual(least);
            expect(new Set(counted.map((one) => one.product)).size).toBeGreaterThan(
              isFamily ? 1 : 0,
            );
            expect(
              counted.every((one) => scope !== ended.scopes.product || one.product === scope),
            ).toBe(true);
            expect(scopesJudged(ended.scopes)).toContain(scope);
          }
          const cleared = isAccepted ? scopesJudged(ended.scopes) : [];
          // A lookup of another order says nothing about the goods of one.
          const kept = each.purpose === 'lookup' ? 'answer_mismatch' : null;
          const isCleared = ({ scope, reason }: { scope: string; reason: string }): boolean =>
            cleared.includes(scope) && reason !== kept;
          expect(judged.evidence.filter(isCleared)).toEqual([]);
          expect(judged.pauses.filter(isCleared)).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('has a rule for each reason, of which each row belongs to one only', () => {
    const rows = evidenceReasons.flatMap(
      (reason): readonly OutcomeRow[] => evidenceRules[reason].rows,
    );
    expect(new Set(rows).size).toBe(rows.length);
    expect(evidenceReasons.toSorted()).toEqual(Object.keys(evidenceRules).toSorted());
  });
});
