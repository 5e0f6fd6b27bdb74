import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  bulkActions,
  mostInRun,
  statesFor,
  type BulkAction,
  type BulkFilter,
} from '../../../src/core/operator/operator-command.ts';
import { allowedActions } from '../../../src/core/entry/states.ts';
import SqliteDatabase from 'better-sqlite3';
import { performCommand } from '../../../src/admin/perform-command.ts';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import { previewBulk, requireCount, runBulk } from '../../../src/admin/bulk-run.ts';
import type { BulkResult } from '../../../src/store/operator/entry-command.ts';
import {
  close,
  closeConfirmed,
  emptyBalance,
  line,
  nothing,
  Outbox,
} from '../../support/outbox.ts';
import { wrappedStore } from '../../support/wrapped-store.ts';
import {
  act,
  names,
  nowMs,
  orders,
  referenceExpiryMs,
  referenceOf,
  rows,
  standingIn,
  type Situation,
} from '../../support/operator.ts';

const who = { actor: 'cli:anna', reason: 'the shop is closed' };
const policy = {
  nowMs,
  steadyMs: nowMs,
  referenceExpiryMs,
  lookupFamilies: ['gift_card', 'esim'] as const,
};
const all: BulkFilter = { untilMs: Number.MAX_SAFE_INTEGER };

async function run(
  box: Outbox,
  order: BulkAction,
  which: BulkFilter = all,
  references?: readonly string[],
): Promise<BulkResult> {
  const found = references ?? previewBulk(box.store.read, { order, which }).references;
  return await runBulk(
    { order, which, ...who },
    found,
    async ({ action: _action, ...command }) => ({
      kind: 'bulk',
      ...(await box.store.operator.actInBulk({ ...command, ...policy })),
    }),
  );
}

const states = (box: Outbox): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(box.store.read.counts()).filter(([, count]) => count > 0));

async function openOutbox(): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  return box;
}

describe('a command for many entries', () => {
  it.each(
    names
      .flatMap((situation) =>
        bulkActions.map((action): [BulkAction, Situation] => [action, situation]),
      )
      // Many that were ended on purpose are not ordered again.
      .filter(([action, situation]) => action !== 'reorder' || situation !== 'cancelled'),
  )(
    'does by %s to an entry that is %s what the command for one entry does',
    async (action, situation) => {
      const [one, many] = [await standingIn(situation), await standingIn(situation)];
      const reference = referenceOf(many);
      const before = rows(many, 'SELECT * FROM entries ORDER BY id');
      const alone = await act(one, orders(one)[action]).then(
        () => null,
        (error: Error) => error.message,
      );
      const result = await run(many, action, all, [reference]);
      const isAllowed = alone === null;
      expect(result.changed).toEqual(isAllowed ? [reference] : []);
      expect(result.refused.map((refusal) => refusal.reference)).toEqual(
        isAllowed ? [] : [reference],
      );
      const moved = 'SELECT state, next_step, due_steady, held_from FROM entries';
      expect(rows(many, moved)).toEqual(rows(isAllowed ? one : many, moved));
      expect(isAllowed ? [] : rows(many, 'SELECT * FROM entries ORDER BY id')).toEqual(
        isAllowed ? [] : before,
      );
    },
    120_000,
  );

  it('is looked for in exactly the states in which the action is ever allowed', () => {
    expect(bulkActions.map((action) => [action, statesFor(action)])).toEqual([
      ['retry', ['waiting', 'unknown', 'placed', 'needs_review']],
      ['hold', ['pending', 'waiting', 'unknown', 'placed']],
      ['release', ['held']],
      ['cancel', ['pending', 'waiting', 'held']],
      ['reorder', ['rejected', 'expired']],
    ]);
    const unknown = {
      mayBeBought: true,
      heldFrom: null,
      replaced: false,
      hasOtherId: false,
      unitsMissing: 0,
    } as const;
    for (const action of bulkActions)
      for (const state of ['rejected', 'expired', 'fulfilled', 'sending'] as const)
        expect(allowedActions({ ...unknown, state }).includes(action)).toBe(false);
  });

  it('takes what fits the state, the source and the code, and leaves the rest', async () => {
    const box = await openOutbox();
    for (const source of ['shop1', 'shop1-b', 'shop2'])
      await box.accept(
        [1, 2].map((order) => line({ source, orderId: String(order) })),
        null,
        1000,
      );
    const attempt = await box.opened();
    await stepsOf(box.store).closeAttempt(close(attempt, emptyBalance));
    const count = (order: BulkAction, which: Partial<BulkFilter>): Record<string, number> =>
      Object.fromEntries(
        previewBulk(box.store.read, { order, which: { ...all, ...which } }).found.map(
          ({ state, count: found }) => [state, found],
        ),
      );
    expect(count('hold', {})).toEqual({ pending: 5, waiting: 1 });
    expect(count('hold', { source: 'shop1' })).toEqual({ pending: 1, waiting: 1 });
    expect(count('hold', { source: 'shop1-b' })).toEqual({ pending: 2 });
    expect(count('cancel', { code: 'insufficient_balance' })).toEqual({ waiting: 1 });
    expect(count('retry', { state: 'pending' })).toEqual({});
    expect(count('hold', { untilMs: 999 })).toEqual({});
    expect(await run(box, 'hold', { ...all, source: 'shop1' })).toMatchObject({
      changed: { length: 2 },
      refused: [],
    });
    expect(states(box)).toEqual({ pending: 4, held: 2 });
    expect(count('release', { code: 'held' })).toEqual({ held: 2 });
  });

  it('leaves what was changed after the filter found it, and says so', async () => {
    const box = await openOutbox();
    await box.accept([line({ orderId: '1' }), line({ orderId: '2' })]);
    const { references } = previewBulk(box.store.read, { order: 'cancel', which: all });
    const [first = '', second = ''] = references;
    await act(box, { action: 'hold' }, { reference: first });
    const result = await run(box, 'cancel', { ...all, state: 'pending' }, [
      ...references,
      'os-nobody-1',
    ]);
    expect(result.changed).toEqual([second]);
    expect(result.refused.map(({ message }) => message)).toEqual([
      `${first} is held now, or has changed since the filter found it`,
      'os-nobody-1 is not in the outbox',
    ]);
  });

  it('leaves one audit entry for each entry that it changed, and none for the others', async () => {
    const box = await openOutbox();
    await box.accept(['1', '2', '3'].map((orderId) => line({ orderId })));
    await box.opened();
    const { references } = previewBulk(box.store.read, { order: 'hold', which: all });
    await run(box, 'hold');
    const log = box.store.read.auditLog({ action: 'hold' }, { limit: 10 }).rows;
    expect(log.map(({ subject }) => subject).toSorted()).toEqual([...references].toSorted());
    expect(log[0]).toMatchObject({ ...who, detail: { in_bulk: all } });
    expect(references).toHaveLength(2);
  });

  it('is done once where it was done, and not at all where it was not, when it ends in the middle', async () => {
    const box = await openOutbox();
    await box.accept(Array.from({ length: 250 }, (_, order) => line({ orderId: String(order) })));
    const { references } = previewBulk(box.store.read, { order: 'hold', which: all });
    let steps = 0;
    const interrupted = runBulk(
      { order: 'hold', which: all, ...who },
      references,
      async ({ action: _action, ...command }) => {
        steps += 1;
        if (steps === 3) throw new Error('the worker was killed');
        return { kind: 'bulk', ...(await box.store.operator.actInBulk({ ...command, ...policy })) };
      },
    );
    await expect(interrupted).rejects.toThrow('the worker was killed');
    await box.reopen();
    expect(states(box)).toEqual({ pending: 50, held: 200 });
    expect(box.store.read.auditLog({ action: 'hold' }, { limit: 1000 }).rows).toHaveLength(200);
    expect(await run(box, 'hold')).toMatchObject({ changed: { length: 50 }, refused: [] });
    expect(states(box)).toEqual({ held: 250 });
  });

  it('takes at most so many entries in one run', async () => {
    const box = await openOutbox();
    await box.accept(
      Array.from({ length: mostInRun + 5 }, (_, order) => line({ orderId: String(order) })),
    );
    const steps: number[] = [];
    const { matched, references } = previewBulk(box.store.read, { order: 'cancel', which: all });
    expect([matched, references.length]).toEqual([mostInRun + 5, mostInRun]);
    const { changed } = await runBulk(
      { order: 'cancel', which: all, ...who },
      references,
      async ({ action: _action, ...command }) => {
        steps.push(command.references.length);
        return { kind: 'bulk', ...(await box.store.operator.actInBulk({ ...command, ...policy })) };
      },
    );
    expect(changed).toHaveLength(mostInRun);
    expect(steps).toEqual(Array.from({ length: 10 }, () => 100));
    expect(states(box)).toEqual({ pending: 5, cancelled: mostInRun });
  });

  it('shows the orders and the money that it concerns', async () => {
    const box = await openOutbox();
    await box.accept([line({ orderId: '1' }), line({ orderId: '1', lineId: '2' })]);
    expect(previewBulk(box.store.read, { order: 'hold', which: all }).affects).toMatchObject({
      orders: 1,
      lines_without_amount: 2,
    });
  });

  it('needs a reason', async () => {
    const box = await openOutbox();
    await box.accept([line()]);
    const references = [referenceOf(box)];
    const given = {
      order: 'hold',
      which: all,
      references,
      actor: 'cli:anna',
      reason: ' x ',
    } as const;
    await expect(box.store.operator.actInBulk({ ...given, ...policy })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(states(box)).toEqual({ pending: 1 });
  });
});

const refusal: Settlement = {
  ...nothing,
  state: 'rejected',
  nextStep: 'send',
  outcomeUnknown: false,
  inFlightWindowEndMs: null,
  row: 'order_refused',
  error: { code: 'order_refused', message: 'Not today.', buffered: false },
};

/** An outbox in which the API refused so many lines. */
async function withRefused(count: number): Promise<Outbox> {
  const box = await openOutbox();
  await box.accept(Array.from({ length: count }, (_, order) => line({ orderId: String(order) })));
  for (let left = count; left > 0; left -= 1)
    await closeConfirmed(box, await box.opened(), refusal);
  return box;
}

describe('many lines that are ordered again', () => {
  it('have the reference that each would have alone, once, and one audit entry each', async () => {
    const [one, many] = [await withRefused(1), await withRefused(3)];
    const alone = await act(one, { action: 'reorder', confirm: referenceOf(one) });
    const result = await run(many, 'reorder', { ...all, code: 'order_refused' });
    expect(result).toMatchObject({ changed: { length: 3 }, refused: [] });
    const references = rows(many, "SELECT reference FROM entries WHERE state = 'pending'");
    expect(references).toContainEqual({ reference: alone.newReference });
    expect(await run(many, 'reorder', all, result.changed)).toMatchObject({
      changed: [],
      refused: { length: 3 },
    });
    expect(states(many)).toEqual({ pending: 3, rejected: 3 });
    const log = many.store.read.auditLog({ action: 'reorder' }, { limit: 10 }).rows;
    expect(log).toHaveLength(3);
    expect(log[0]).toMatchObject({ ...who, detail: { in_bulk: { code: 'order_refused' } } });
  });

  it('are those of the attention list alone', async () => {
    const box = await withRefused(6);
    const [first = '', acknowledged = '', takenBack = '', again = ''] = previewBulk(
      box.store.read,
      { order: 'reorder', which: all },
    ).references;
    await box.store.operator.acknowledge({ ...who, nowMs, which: { ids: [acknowledged] } });
    const writer = new SqliteDatabase(box.path);
    writer.prepare('UPDATE entries SET taken_back = 1 WHERE reference = ?').run(takenBack);
    // Found by an operator to be unbought; and in review.
    const byOperator = "UPDATE entries SET error_code = 'rejected_by_person' WHERE reference = ?";
    writer.prepare(byOperator).run(first);
    writer.close();
    await act(box, { action: 'reorder', confirm: again }, { reference: again });
    await box.accept([line({ orderId: 'review' }), line({ orderId: 'cancelled' })]);
    const review = { ...nothing, state: 'needs_review', reviewReason: 'why' } as const;
    await stepsOf(box.store).closeAttempt(close(await box.opened({ nowMs }), review, { nowMs }));
    const preview = previewBulk(box.store.read, { order: 'reorder', which: all });
    expect(preview.matched).toBe(box.store.read.attentionCounts().rejected);
    expect(preview.matched).toBe(2);
    const others = box
      .rows<{ reference: string }>('SELECT reference FROM entries')
      .map(({ reference }) => reference);
    expect((await run(box, 'reorder', all, others)).changed.toSorted()).toEqual(
      preview.references.toSorted(),
    );
  });

  it('are only ordered for the number that was shown', async () => {
    const box = await withRefused(2);
    const preview = previewBulk(box.store.read, { order: 'reorder', which: all });
    expect(() => requireCount(preview, '2')).not.toThrow();
    for (const typed of ['', '3', '02', 'yes'])
      expect(() => requireCount(preview, typed)).toThrow(/2 entries would be ordered again/);
  });

  it('are each on disk before the next one, whatever ends the run', async () => {
    const box = await withRefused(20);
    const { references } = previewBulk(box.store.read, { order: 'reorder', which: all });
    let left = 7;
    // The process ends after so many commits.
    const dying = wrappedStore(box.store, (name, step) => (...values) => {
      if (name === 'operator.actInBulk' && left === 0) throw new Error('killed');
      if (name === 'operator.actInBulk') left -= 1;
      return step(...values);
    });
    const settings = { keyNames: [], referenceExpiryMs, lookupFamilies: [] };
    const clock = { wallMs: () => nowMs, steadyMs: () => nowMs, sleep: async () => undefined };
    const order = (store = box.store) =>
      runBulk({ order: 'reorder', which: all, ...who }, references, (command) =>
        performCommand(store, command, settings, clock),
      );
    await expect(order(dying)).rejects.toThrow('killed');
    await box.reopen();
    expect(states(box)).toEqual({ pending: 7, rejected: 20 });
    expect(await order()).toMatchObject({ changed: { length: 13 }, refused: { length: 7 } });
    expect(states(box)).toEqual({ pending: 20, rejected: 20 });
    const lines = "SELECT line_id FROM entries WHERE state = 'pending' GROUP BY line_id";
    expect(rows(box, lines)).toHaveLength(20);
  });
});
