import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptClaim } from '../../../src/buying/queue/claim-sql.ts';
import { answer, close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

describe('accepting lines', () => {
  it('gives a line its reference, and the same reference when the line is sent again', async () => {
    const [first] = await outbox.accept([line()]);
    expect(first).toMatchObject({ status: 'accepted', orderId: '1001' });
    const [again] = await outbox.accept([line({ metadata: { note: 'x' }, notAfterMs: 5 })]);
    expect(again).toMatchObject({ status: 'known', reference: first?.reference });
    expect(outbox.store.read.counts().pending).toBe(1);
  });

  it('refuses a known line with other content, says what differs, and buys nothing for it', async () => {
    const [first] = await outbox.accept([line()]);
    const [conflict] = await outbox.accept([line({ quantity: 2, currency: 'EUR' })]);
    expect(conflict).toMatchObject({
      status: 'conflict',
      reference: first?.reference,
      differences: [
        { field: 'quantity', was: 1, is: 2 },
        { field: 'currency', was: 'USD', is: 'EUR' },
      ],
    });
    expect(outbox.store.read.counts().pending).toBe(1);
    expect(outbox.store.read.attention(10)).toMatchObject([
      { kind: 'invalid_line', orderId: '1001', code: 'conflict' },
    ]);
  });

  it('counts a line once when its file is read again after a crash', async () => {
    await outbox.store.intake.files.begin({
      id: 'F1',
      name: 'a.csv',
      folder: 'folder',
      sizeBytes: 10,
      nowMs: 1,
    });
    await outbox.accept([line(), line({ lineId: '2' })], 'F1');
    const again = await outbox.store.intake.files.begin({
      id: 'F1',
      name: 'a.csv',
      folder: 'folder',
      sizeBytes: 10,
      nowMs: 2,
    });
    expect(again.starts).toBe(2);
    await outbox.accept([line(), line({ lineId: '2' }), line({ lineId: '3' })], 'F1');
    const finished = await outbox.store.intake.files.finish({ id: 'F1', sha256: 'x', nowMs: 3 });
    expect(finished).toMatchObject({ acceptedCount: 3, knownCount: 0, state: 'ingested' });
  });

  it('writes the result again when the shop sends a settled line again, because it may have lost the result', async () => {
    await outbox.accept([line()]);
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
    const [due] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
    await outbox.store.results.closeDelivery({
      requestId: due?.requestId ?? 0,
      sink: 'folder',
      version: due?.version ?? 0,
      nowMs: 3000,
    });
    expect(await outbox.store.results.dueDeliveries('folder', 9999, 10)).toEqual([]);
    await outbox.accept([line()], null, 4000);
    const [again] = await outbox.store.results.dueDeliveries('folder', 9999, 10);
    expect(again?.document).toEqual(due?.document);
  });

  it('accepts a whole batch or nothing of it', async () => {
    await expect(outbox.accept([line(), line({ lineId: '2', source: '' })])).rejects.toThrow(
      'CHECK',
    );
    expect(outbox.store.read.counts().pending).toBe(0);
  });
});

describe('attempts', () => {
  it('are on disk, with the exact request and the slots of the budget, before the call is made', async () => {
    await outbox.accept([line()]);
    const attempt = await outbox.opened();
    const other = new SqliteDatabase(outbox.path, { readonly: true });
    expect(other.prepare('SELECT state, request_body FROM entries').get()).toEqual({
      state: 'sending',
      request_body: attempt.request?.body,
    });
    expect(
      other.prepare('SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL').pluck().get(),
    ).toBe(1);
    expect(other.prepare('SELECT limit_name FROM budget_slots ORDER BY 1').pluck().all()).toEqual([
      'orders',
      'requests',
    ]);
    other.close();
  });

  it('send the same bytes again, whatever the present mapping would render', async () => {
    await outbox.accept([line()]);
    const first = await outbox.opened();
    await stepsOf(outbox.store).closeAttempt(close(first, { ...nothing, nextStep: 'send' }));
    const second = await stepsOf(outbox.store).openAttempt(
      outbox.claim({
        nowMs: 5000,
        render: () => ({ method: 'PUT', path: '/other', body: 'other' }),
      }),
    );
    expect(second?.request).toEqual({ ...first.request, headers: {} });
    expect(second?.entry.outcomeUnknown).toBe(true);
  });

  it('are never in flight twice for one entry, and never closed twice, changed or deleted', async () => {
    await outbox.accept([line()]);
    const attempt = await outbox.opened();
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim())).toBeNull();
    await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled));
    await expect(
      stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled)),
    ).rejects.toMatchObject({
      code: 'INVARIANT',
    });
    const raw = new SqliteDatabase(outbox.path);
    expect(() => raw.exec("UPDATE attempts SET outcome = 'x'")).toThrow('never changed');
    expect(() => raw.exec('DELETE FROM attempts')).toThrow('append-only');
    expect(() => raw.exec("UPDATE entries SET reference = 'os-another-one'")).toThrow(
      'one purchase',
    );
    expect(() => raw.exec("UPDATE entries SET request_body = 'x'")).toThrow('never changed');
    expect(() => raw.exec('DELETE FROM entries')).toThrow('never deleted');
    raw.close();
  });

  it('stay as they were when the step that closes them fails', async () => {
    await outbox.accept([line()]);
    const attempt = await outbox.opened();
    await expect(
      stepsOf(outbox.store).closeAttempt(close(attempt, { ...fulfilled, state: 'expired' })),
    ).rejects.toMatchObject({
      code: 'INVARIANT',
    });
    expect(outbox.store.read.counts().sending).toBe(1);
    await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled));
    expect(outbox.store.read.counts().fulfilled).toBe(1);
  });

  it('flag an entry whose request cannot be rendered, and claim the next one', async () => {
    await outbox.accept([line(), line({ lineId: '2', variant: 'fine' })]);
    const render: AttemptClaim['render'] = (entry) => {
      if (entry.variant !== 'fine') throw new Error('no such field');
      return { method: 'POST', path: '/orders', body: '{}' };
    };
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim({ render }))).toBeNull();
    expect((await stepsOf(outbox.store).openAttempt(outbox.claim({ render })))?.entry.variant).toBe(
      'fine',
    );
    expect(outbox.store.read.counts()).toMatchObject({ needs_review: 1, sending: 1 });
  });

  it('that look up a cancel ask for the order of its eSIM, unless that order was refunded', async () => {
    const buyAndCancel = async (
      state: 'fulfilled' | 'refunded',
      iccid: string,
    ): Promise<string | null> => {
      await outbox.accept([
        line({ orderId: state, operation: 'esim_order', variant: null, plan: 'p' }),
      ]);
      const bought = { ...fulfilled, state, answer: { ...answer, units: [{ iccid }] } };
      await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), bought));
      const cancel = {
        operation: 'esim_cancel',
        variant: null,
        iccid,
        quantity: null,
        currency: null,
      } as const;
      await outbox.accept([line({ orderId: state, lineId: '2', ...cancel })]);
      return (await outbox.opened()).originReference;
    };
    expect(await buyAndCancel('fulfilled', '8988211000000000001')).toMatch(/^os-/);
    expect(await buyAndCancel('refunded', '8988211000000000002')).toBeNull();
  });

  it('that an earlier run left open are found when the worker starts again', async () => {
    await outbox.accept([line()]);
    const attempt = await outbox.opened();
    await outbox.reopen();
    expect(
      (await stepsOf(outbox.store).attemptsLeftOpen()).map((found) => found.attemptId),
    ).toEqual([attempt.attemptId]);
  });
});
