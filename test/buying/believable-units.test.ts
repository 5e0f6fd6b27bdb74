import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { keptUnits } from '../../src/core/answers/units.ts';
import type { ResultEntry } from '../../src/core/result/result-document.ts';
import { startSubmission, type Submission } from '../support/submission.ts';

let open: Submission | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/**
 * A worker whose first order is bought, and then answered like this, and so is its first lookup if
 * `lookup` is given.
 */
async function answeredWith(
  status: number,
  body: unknown,
  quantity = 1,
  lookup?: unknown,
): Promise<Submission> {
  const answer = (value: unknown) =>
    ({ fault: 'answer', status, body: JSON.stringify(value), when: 'after' }) as const;
  open = await startSubmission({
    sandbox: {
      limits: { enabled: false },
      faults: [
        { fault: answer(body), match: { operation: 'gift_card_order' }, at: [1] },
        ...(lookup === undefined
          ? []
          : [
              { fault: answer(lookup), match: { operation: 'gift_card_lookup' as const }, at: [1] },
            ]),
      ],
    },
  });
  await open.accept([{ quantity }]);
  await open.settled();
  return open;
}

function entryOf(worker: Submission): ResultEntry | undefined {
  return worker.store.read.resultDocument(1).document.lines[0]?.entries[0];
}

/** Everything that the attempts say, and what the entry says beside its units. */
function evidenceOf(worker: Submission): string {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    const attempts = database.prepare('SELECT * FROM attempts').all();
    const entries = database
      .prepare('SELECT review_reason, error_code, error_message FROM entries')
      .all();
    return JSON.stringify([attempts, entries]);
  } finally {
    database.close();
  }
}

const code = 'AAAA-BBBB-CCCC';

describe('the worker delivers', () => {
  it.each([
    [
      'the list of what was ordered',
      201,
      { status: 'pending', items: [{ code: 'steam-usd-5', quantity: 1 }] },
    ],
    [
      'the product in the place of the code',
      201,
      { number: 'G1', codes: [{ code: 'Steam_USD_5' }] },
    ],
    ['a placeholder', 200, { number: 'G1', codes: ['PENDING'] }],
    ['nothing', 200, {}],
    ['that it failed, although it did not', 200, { success: false, message: 'try again' }],
    ['that it is in progress', 200, { number: 'G1', status: 'processing', codes: [] }],
  ])('the real code when the answer shows %s: a lookup brings it', async (_what, status, body) => {
    const worker = await answeredWith(status, body);
    expect(worker.sandbox.ledger().orders).toHaveLength(1);
    expect(worker.counts()).toMatchObject({ fulfilled: 1 });
    const units = entryOf(worker)?.units ?? [];
    expect(units.map((unit) => unit.code)).toEqual([expect.stringMatching(/^[A-Z0-9-]{8,}$/)]);
    expect(units[0]?.code).not.toMatch(/steam/i);
  });
});

describe('the worker flags for review, and shows no code in the log or in a reason,', () => {
  it.each([
    [
      'the same code twice',
      { number: 'G1', codes: [code, code] },
      2,
      'more than once: 2 units, 1 different',
      2,
    ],
    [
      'a code too many',
      { number: 'G1', codes: [code, 'DDDD-EEEE'] },
      1,
      '2 units, but 1 was ordered',
      2,
    ],
    [
      'a code while it is in progress, and another one later',
      { number: 'G1', status: 'processing', codes: [code] },
      1,
      'has shown 2 different units',
      2,
    ],
    [
      'a whole list of codes',
      { number: 'G1', codes: Array.from({ length: 20_000 }, (_, index) => `${code}-${index}`) },
      1,
      '20000 units, but 1 was ordered',
      keptUnits(1),
    ],
  ])('an answer with %s', async (_what, body, quantity, reason, kept) => {
    const worker = await answeredWith(200, body, quantity);
    expect(worker.counts()).toMatchObject({ needs_review: 1, fulfilled: 0 });
    expect(entryOf(worker)).toMatchObject({
      state: 'needs_review',
      error: { message: expect.stringContaining(reason) },
    });
    expect(entryOf(worker)?.units).toEqual([]);
    expect(worker.store.read.showOrder(null, 'o1')?.entries[0]?.unitCount).toBe(kept);
    expect(await worker.logged('needs review')).not.toContain('AAAA');
    expect(evidenceOf(worker)).not.toContain('AAAA');
  });
});

it.each([
  ['an order', { number: 'G1', codes: [{ code, security_code: 'DDDD-EEEE' }] }, undefined],
  ['a lookup', { number: 'G1' }, { number: 'G1', codes: [{ code, security_code: 'DDDD-EEEE' }] }],
])(
  'unit fields that were not read are named in the log and in the attempt of %s, without values',
  async (_what, order, lookup) => {
    const worker = await answeredWith(200, order, 1, lookup);
    expect(worker.counts()).toMatchObject({ needs_review: 1 });
    const line = await worker.logged('needs review');
    expect(line).toContain('security_code');
    expect(evidenceOf(worker)).toContain('security_code');
    expect(`${line} ${evidenceOf(worker)}`).not.toMatch(/AAAA|DDDD/);
  },
);
