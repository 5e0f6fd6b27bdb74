import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it } from 'vitest';
import type { EntryActionName } from '../../../src/core/entry/states.ts';
import {
  act,
  entries,
  everything,
  names,
  nowMs,
  orders,
  rows,
  standingIn,
  versionOf,
  type Row,
  type Situation,
} from '../../support/operator.ts';

const held = { held_from: 'pending', review_reason: 'asked by the shop', state: 'held' };
const back = { held_from: null, review_reason: null };
const takenBack = {
  state: 'cancelled',
  review_reason: null,
  error_code: 'cancelled_by_person',
  error_message: 'cancelled by an operator before it was bought; nothing was charged',
  settled_at_ms: nowMs,
};
/** Its call has left: it is looked up before it ends. */
const ending = {
  ...takenBack,
  state: 'unknown',
  next_step: 'send',
  due_steady: nowMs,
  error_buffered: 2,
  settled_at_ms: null,
};
const done = {
  // What it was reserved for is known.
  reserved: null,
  units_missing: 1,
  state: 'fulfilled',
  resolved_by: 'cli:anna',
  error_code: null,
  error_message: null,
  review_reason: null,
  settled_at_ms: nowMs,
};

/** The fields that each allowed command changes. Every pair that is not listed is refused. */
const changes: Partial<Record<`${Situation}: ${EntryActionName}`, Row>> = {
  'pending: hold': held,
  'pending: cancel': takenBack,
  'waiting: hold': { ...held, held_from: 'waiting' },
  'waiting: cancel': ending,
  'waiting: retry': { due_steady: nowMs },
  'unknown: hold': { ...held, held_from: 'unknown' },
  'unknown: retry': { due_steady: nowMs },
  'placed: hold': { ...held, held_from: 'placed' },
  'placed: retry': { due_steady: nowMs },
  'held, pending: release': { ...back, state: 'pending' },
  'held, pending: cancel': { ...takenBack, held_from: null },
  'held, waiting: release': { ...back, state: 'waiting' },
  'held, waiting: cancel': { ...ending, held_from: null },
  'held, unknown: release': { ...back, state: 'unknown', due_steady: nowMs },
  'held, placed: release': { ...back, state: 'placed', due_steady: nowMs },
  'needs_review, refused: retry': {
    state: 'waiting',
    due_steady: nowMs,
    review_reason: null,
    tries: 0,
  },
  'needs_review, refused: resolve': done,
  'needs_review, outcome unknown: retry': {
    state: 'unknown',
    next_step: 'lookup',
    due_steady: nowMs,
    review_reason: null,
    tries: 0,
  },
  'needs_review, outcome unknown: resolve': {
    ...done,
    outcome_unknown: 0,
    in_flight_window_end_steady: null,
  },
  'needs_review, accepted: retry': {
    state: 'placed',
    next_step: 'lookup',
    due_steady: nowMs,
    review_reason: null,
    tries: 0,
  },
  'needs_review, accepted: resolve': done,
  // The lookup compares what it finds with what was ordered, and buys nothing.
  'needs_review, mismatch: retry': {
    state: 'unknown',
    next_step: 'lookup',
    outcome_unknown: 1,
    due_steady: nowMs,
    review_reason: null,
    tries: 0,
  },
  'needs_review, mismatch: resolve': done,
  'rejected: reorder': { replaced: 1 },
  'expired: reorder': { replaced: 1 },
  'cancelled: reorder': { replaced: 1 },
  'pending, after a loss: hold': held,
  'waiting, after a loss: hold': { ...held, held_from: 'waiting' },
  'waiting, after a loss: retry': { due_steady: nowMs },
  'held, after a loss: release': { ...back, state: 'pending' },
};

const pairs = names.flatMap((situation) =>
  (['hold', 'release', 'cancel', 'retry', 'resolve', 'reorder'] as const).map((action) => ({
    situation,
    action,
    expected: changes[`${situation}: ${action}`],
  })),
);

describe('a command of an operator for an entry', () => {
  it.each(pairs.filter(({ expected }) => expected === undefined))(
    '$action of an entry in "$situation" is refused and changes nothing',
    async ({ situation, action }) => {
      const box = await standingIn(situation);
      const all = everything(box);
      const asked = act(box, orders(box)[action]);
      await expect(asked).rejects.toMatchObject({ code: 'NOT_ALLOWED', hint: expect.any(String) });
      await expect(asked).rejects.toThrow(/ is [a-z_]+( |:|,)/);
      expect(everything(box)).toEqual(all);
    },
  );

  it.each(pairs.filter(({ expected }) => expected !== undefined))(
    '$action of an entry in "$situation" changes exactly the fields that it should',
    async ({ situation, action, expected = {} }) => {
      const box = await standingIn(situation);
      const before = entries(box)[0] ?? {};
      const audits = rows(box, 'SELECT * FROM audit').length;
      const versionBefore = versionOf(box);
      const { newReference } = await act(box, orders(box)[action]);
      const [after = {}, ...others] = entries(box);
      const changed = Object.fromEntries(
        Object.entries(after).filter(([name, value]) => before[name] !== value),
      );
      delete changed['updated_at_ms'];
      const really = Object.fromEntries(
        Object.entries(expected).filter(([name, value]) => before[name] !== value),
      );
      expect(changed).toEqual(really);
      const log = rows<{ detail: string }>(box, 'SELECT * FROM audit');
      expect(log).toHaveLength(audits + 1);
      expect(log.at(-1)).toMatchObject({
        actor: 'cli:anna',
        action,
        subject: after['reference'],
        reason: 'asked by the shop',
      });
      const detail: { before: Row; after: Row } = JSON.parse(log.at(-1)?.detail ?? '{}');
      expect([detail.before['state'], detail.after['state']]).toEqual([
        before['state'],
        after['state'],
      ]);
      // The result is due again exactly when it has changed.
      const isNews = before['state'] !== after['state'] || action === 'reorder';
      expect(versionOf(box) - versionBefore).toBe(isNews ? 1 : 0);
      const due = await box.store.results.dueDeliveries('folder', nowMs, 10);
      expect(due.length).toBeGreaterThanOrEqual(isNews ? 1 : 0);
      // Only a re-order makes a new reference, and just one. Its entry copies the purchase, and
      // nothing else.
      const fresh = {
        generation: 1,
        part: 0,
        state: 'pending',
        request_body: null,
        outcome_unknown: 0,
        not_after_ms: null,
      };
      expect(others).toMatchObject(
        action === 'reorder' ? [{ ...fresh, reference: newReference }] : [],
      );
      expect(newReference).not.toBe(after['reference']);
    },
  );

  it.each(names)(
    'given by two people at the same time is performed once: an entry in "%s"',
    async (situation) => {
      const box = await standingIn(situation);
      for (const action of ['cancel', 'reorder', 'resolve', 'hold', 'release'] as const) {
        if (changes[`${situation}: ${action}`] === undefined) continue;
        const order = orders(box)[action];
        const both = await Promise.allSettled([act(box, order), act(box, order)]);
        expect(both.map((each) => each.status)).toEqual(['fulfilled', 'rejected']);
        expect(entries(box).length).toBeLessThanOrEqual(2);
        return;
      }
    },
  );

  it('is refused without a reason and an actor', async () => {
    const box = await standingIn('pending');
    const all = everything(box);
    for (const wrong of [
      { reason: 'ok' },
      { reason: '   a   ' },
      { reason: 'x'.repeat(501) },
      { actor: ' ' },
    ]) {
      await expect(act(box, { action: 'hold' }, wrong)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
    }
    await expect(act(box, { action: 'hold' }, { reference: 'os-nobody' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(everything(box)).toEqual(all);
  });

  it('is refused while a lookup of the entry is in flight, because its answer applies to the present state', async () => {
    const box = await standingIn('unknown');
    const lookup = await stepsOf(box.store).openAttempt(box.claim({ step: 'lookup', nowMs }));
    expect(lookup?.purpose).toBe('lookup');
    const all = everything(box);
    for (const action of ['hold', 'retry'] as const) {
      await expect(act(box, orders(box)[action])).rejects.toMatchObject({
        code: 'NOT_ALLOWED',
        message: expect.stringContaining('in flight'),
      });
    }
    expect(everything(box)).toEqual(all);
  });
});
