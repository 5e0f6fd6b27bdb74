import { stepsOf } from '../../support/steps.ts';
import { onTestFinished } from 'vitest';
import { describe, expect, it } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import type { AttemptClaim } from '../../../src/buying/queue/claim-sql.ts';
import { act, entries } from '../../support/operator.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

const referenceExpiryMs = 86_400_000;
const judging = (canLookUp: boolean): Pick<AttemptClaim, 'resend'> => ({
  resend: { referenceExpiryMs, canLookUp: () => canLookUp, lookupsProven: () => true },
});

/** An outbox with entries of unknown outcome that are due to be sent again. */
async function outcomeUnknown(...lines: ReturnType<typeof line>[]): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(lines);
  for (const _ of lines)
    await stepsOf(box.store).closeAttempt(
      close(await box.opened(), { ...nothing, nextStep: 'send', dueAtMs: 3000 }),
    );
  return box;
}

describe('a claim of an entry of unknown outcome', () => {
  it('looks it up instead of sending it when its reference expired while the worker was stopped', async () => {
    const box = await outcomeUnknown(line());
    const nowMs = 2000 + referenceExpiryMs;
    expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs, ...judging(true) }))).toBeNull();
    expect(entries(box)[0]).toMatchObject({
      state: 'unknown',
      next_step: 'lookup',
      outcome_unknown: 1,
    });
    expect((await box.opened({ step: 'lookup', nowMs })).purpose).toBe('lookup');
  });

  it('flags it for review when it cannot be looked up, reports that to the shop, and claims the next entry', async () => {
    const old = line({ notAfterMs: 5000 });
    const box = await outcomeUnknown(old, line({ lineId: '2' }));
    const attempt = await box.opened({ nowMs: 5000, ...judging(false) });
    expect(attempt.entry.notAfterMs).toBeNull();
    expect(entries(box)[0]).toMatchObject({ state: 'needs_review', outcome_unknown: 1 });
    expect(entries(box)[0]?.['review_reason']).toContain('deadline');
    const [due] = await box.store.results.dueDeliveries('folder', 6000, 1);
    expect(due?.document.lines[0]?.state).toBe('needs_review');
  });

  it('does not send it after its deadline, also when an operator asks for a retry', async () => {
    const box = await outcomeUnknown(line({ notAfterMs: 5000 }));
    const late = { nowMs: 5000, lookupFamilies: [] };
    await expect(act(box, { action: 'retry' }, late)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await act(box, { action: 'retry' }, { nowMs: 5000 });
    expect(entries(box)[0]).toMatchObject({ state: 'unknown', next_step: 'lookup' });
  });
});

describe('a claim of an entry that waits, of which a copy of the last call may have bought', () => {
  const main = { keyName: 'main', keyValue: 'value-main' };
  const spare = { keyName: 'spare', keyValue: 'value-spare' };

  /** The key `main` sent them, and got this answer. No order was delivered yet. */
  async function answered(row: Settlement['row'], count = 1): Promise<Outbox> {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    const keys = [main, spare].map(({ keyName, keyValue }) => ({ name: keyName, value: keyValue }));
    await box.store.adoptKeys({ keys, nowMs: 1000, whileRunning: false });
    await box.accept(
      Array.from({ length: count }, (_, index) => line({ lineId: String(index + 1) })),
    );
    const waits = {
      ...nothing,
      row,
      state: 'waiting',
      nextStep: 'send',
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
    } as const;
    for (let call = 0; call < count; call += 1)
      await stepsOf(box.store).closeAttempt(close(await box.opened(main), waits));
    return box;
  }

  it('does not send it with a key that may be of another account', async () => {
    const box = await answered('rate_limited');
    const claim = box.claim({ nowMs: 4000, ...spare, ...judging(true) });
    expect(await stepsOf(box.store).openAttempt(claim)).toBeNull();
    const again = await box.opened({ nowMs: 4000, ...main, ...judging(true) });
    expect(again.purpose).toBe('submit');
  });

  it('lets the other key send what comes behind it, whatever the number of such entries', async () => {
    const box = await answered('rate_limited', 250);
    await box.accept([line({ orderId: '1002' })]);
    const next = await box.opened({ nowMs: 4000, ...spare, ...judging(true) });
    expect(next.entry.reference).toBe(String(entries(box).at(-1)?.['reference']));
  });

  it('says that it waits for its own key, until that is paused or the other one is known', async () => {
    const box = await answered('rate_limited');
    const reference = String(entries(box)[0]?.['reference']);
    const awaited = () => box.store.read.queuedEntry(reference)?.waitsForKey;
    expect(awaited()).toBe('main');
    expect(box.store.read.showOrder('shop1', '1001')?.entries[0]?.waitsForKey).toBe('main');
    const { accountKeys } = stepsOf(box.store);
    for (const { keyValue } of [main, spare]) await accountKeys.prove(keyValue);
    expect(awaited()).toBeNull();
    const other = await answered('rate_limited');
    const paused = { scope: 'key:main', reason: 'key_revoked', openedBy: 'worker', message: '' };
    await other.store.pauses.open({ ...paused, probeAtMs: null, nowMs: 3000 });
    expect(other.store.read.queuedEntry(reference)?.waitsForKey).toBeNull();
  });

  it('needs review when its own key buys nothing any more, and sends what comes behind it', async () => {
    const box = await answered('rate_limited');
    await box.accept([line({ lineId: '2' })]);
    await box.store.pauses.open({
      scope: 'key:main',
      reason: 'key_revoked',
      openedBy: 'worker',
      message: '',
      probeAtMs: null,
      nowMs: 3000,
    });
    const claim = box.claim({ nowMs: 4000, ...spare, ...judging(false) });
    const next = await stepsOf(box.store).openAttempt(claim);
    expect(entries(box)[0]).toMatchObject({ state: 'needs_review', outcome_unknown: 1 });
    expect(next?.entry.reference).toBe(String(entries(box)[1]?.['reference']));
  });

  it('looks it up when its reference has expired', async () => {
    const box = await answered('rate_limited');
    const nowMs = 2000 + referenceExpiryMs;
    const claim = box.claim({ nowMs, ...main, ...judging(true) });
    expect(await stepsOf(box.store).openAttempt(claim)).toBeNull();
    expect(entries(box)[0]).toMatchObject({ state: 'unknown', next_step: 'lookup' });
  });

  it('sends it with the other key when its own was denied', async () => {
    const box = await answered('invalid_key');
    expect((await box.opened({ nowMs: 4000, ...spare, ...judging(true) })).purpose).toBe('submit');
  });
});

describe('the replacement of a rejected entry', () => {
  it('keeps the deadline of its order, also when that has passed', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    await box.accept([line({ quantity: 2, notAfterMs: 2200 })]);
    const replacements = [{ generation: 1, part: 0, quantity: 2, currency: 'EUR' }];
    const refused = {
      ...nothing,
      state: 'rejected',
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
      replacements,
    } as const;
    await stepsOf(box.store).closeAttempt(close(await box.opened(), refused));
    expect(entries(box).map((entry) => entry['not_after_ms'])).toEqual([2200, 2200]);
    expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: 2600 }))).toBeNull();
  });
});
