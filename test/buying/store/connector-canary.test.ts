import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import type { AcceptableLine } from '../../../src/core/order/order-request.ts';
import type { AttemptClaim, OpenAttempt } from '../../../src/buying/queue/claim-sql.ts';
import { close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

const placed: Settlement = { ...fulfilled, state: 'placed', nextStep: 'lookup', dueAtMs: 3000 };
const inReview = (row: Settlement['row']): Settlement => ({
  ...placed,
  state: 'needs_review',
  row,
  reviewReason: 'why',
});
const esim = { operation: 'esim_order', variant: null, plan: 'es-1' } as const;

async function boxOf(...lines: Partial<AcceptableLine>[]): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(lines.map((each, index) => line({ orderId: `o${index}`, ...each })));
  await stepsOf(box.store).adoptConnector('first', 1);
  return box;
}
const several = (count: number, changes: Partial<AcceptableLine> = {}) =>
  Array.from({ length: count }, () => changes);

async function sends(box: Outbox, settlement: Settlement): Promise<void> {
  await stepsOf(box.store).closeAttempt(close(await box.opened(), settlement));
}
/** Sends what may be sent, until nothing may; returns what it was. */
async function sendsAll(box: Outbox, settlement: Settlement): Promise<readonly string[]> {
  const operations: string[] = [];
  for (;;) {
    const attempt = await next(box);
    if (attempt === null) return operations.toSorted();
    operations.push(attempt.entry.operation);
    await stepsOf(box.store).closeAttempt(close(attempt, settlement));
  }
}
/** What may be sent now; then the pauses show why nothing may. */
async function next(box: Outbox, changes: Partial<AttemptClaim> = {}): Promise<OpenAttempt | null> {
  const claim = box.claim(changes);
  const attempt = await stepsOf(box.store).openAttempt(claim);
  await stepsOf(box.store).showUnproven(claim.nowMs);
  return attempt;
}
const pausesOf = (box: Outbox) => box.store.pauses.all();
const resume = (box: Outbox) =>
  box.store.operator.resumeScope({
    scope: 'family:gift_card',
    actor: 'cli:anna',
    reason: 'it fits',
    nowMs: 4000,
  });

describe('a connector under which nothing was delivered yet', () => {
  it('has two orders of a family open at most, and shows that as a pause of the family, also after a restart', async () => {
    const box = await boxOf(...several(4), esim);
    // The other family has its own two.
    expect(await sendsAll(box, placed)).toEqual([
      'esim_order',
      'gift_card_order',
      'gift_card_order',
    ]);
    await box.reopen();
    await stepsOf(box.store).adoptConnector('first', 1);
    expect(await next(box)).toBeNull();
    const shown = {
      scope: 'family:gift_card',
      reason: 'connector_unproven',
      openedBy: 'worker',
      probeAtMs: null,
    };
    expect(await pausesOf(box)).toMatchObject([shown]);
  });

  it('waits without a pause while the first calls are under way', async () => {
    const box = await boxOf(...several(3));
    await box.opened();
    await box.opened();
    expect(await next(box)).toBeNull();
    expect(await pausesOf(box)).toEqual([]);
  });

  it.each<[string, Settlement, boolean]>([
    ['accepted and in review', inReview('accepted'), true],
    ['another order than was asked for', inReview('answer_mismatch'), true],
    ['unreadable', { ...nothing, row: 'unreadable_success' }, true],
    ['in review because of its rejection', inReview('unlisted_code'), false],
    ['rejected', { ...fulfilled, state: 'rejected', row: 'invalid_variant', answer: null }, false],
    ['without an answer', nothing, false],
    [
      'refused for its balance',
      {
        ...fulfilled,
        state: 'waiting',
        row: 'insufficient_balance',
        answer: null,
        dueAtMs: 99_000,
      },
      false,
    ],
  ])('counts orders that may have been bought: %s', async (_what, settlement, isOpen) => {
    const box = await boxOf({}, { variant: 'other' }, { variant: 'third' });
    await sends(box, settlement);
    await sends(box, settlement);
    expect((await next(box)) === null).toBe(isOpen);
  });

  it('is proven by one delivered order, for its family', async () => {
    const box = await boxOf(...several(6), ...several(3, esim));
    expect(await sendsAll(box, placed)).toHaveLength(4);
    const lookup = await box.opened({ step: 'lookup', nowMs: 5000 });
    expect(lookup.entry.operation).toBe('gift_card_order');
    await stepsOf(box.store).closeAttempt(close(lookup, fulfilled));
    expect(await pausesOf(box)).toMatchObject([
      { scope: 'family:esim', reason: 'connector_unproven' },
    ]);
    await box.reopen();
    await stepsOf(box.store).adoptConnector('first', 1);
    expect(await sendsAll(box, placed)).toEqual(several(4).map(() => 'gift_card_order'));
  });

  it('is not proven by a cancel, which never waits for it', async () => {
    const cancel = {
      operation: 'esim_cancel',
      variant: null,
      currency: null,
      quantity: null,
    } as const;
    const box = await boxOf(
      ...several(3, esim),
      { ...cancel, iccid: '8901' },
      { ...cancel, iccid: '8902' },
    );
    const sent: string[] = [];
    for (let attempt = await next(box); attempt !== null; attempt = await next(box)) {
      const { operation } = attempt.entry;
      sent.push(operation);
      const end = operation === 'esim_cancel' ? { ...fulfilled, answer: null } : placed;
      await stepsOf(box.store).closeAttempt(close(attempt, end));
    }
    expect(sent.toSorted()).toEqual(['esim_cancel', 'esim_cancel', 'esim_order', 'esim_order']);
  });

  it('says that it waits for a delivery or an operator, also where the family is paused for another reason', async () => {
    const box = await boxOf(...several(3), { variant: 'other' });
    const answered = inReview('answer_mismatch');
    await sends(box, answered);
    await sends(box, answered);
    const scope = 'family:gift_card';
    const pause = {
      scope,
      reason: 'answer_mismatch',
      message: 'other orders',
      openedBy: 'worker',
      probeAtMs: 3000,
    };
    await box.store.pauses.open({ ...pause, nowMs: 2000 });
    // A trial is due, and none may be sent.
    expect(await next(box, { nowMs: 4000, trials: [scope] })).toBeNull();
    expect(await pausesOf(box)).toMatchObject([
      { scope, reason: 'connector_unproven', probeAtMs: null },
    ]);
    await resume(box);
    expect((await box.opened({ nowMs: 5000 })).entry.operation).toBe('gift_card_order');
  });

  it('leaves a pause of an operator as it is', async () => {
    const box = await boxOf(...several(3));
    await sends(box, placed);
    await sends(box, placed);
    const scope = 'family:gift_card';
    const who = { actor: 'cli:anna', reason: 'stocktaking', nowMs: 3000 };
    await box.store.operator.pauseScope({ scope, ...who });
    expect(await next(box, { nowMs: 4000, trials: [scope] })).toBeNull();
    expect(await pausesOf(box)).toMatchObject([
      { scope, reason: 'manual', message: 'stocktaking' },
    ]);
  });

  it('is taken for right when an operator resumes the family', async () => {
    const box = await boxOf(...several(5));
    await sends(box, placed);
    await sends(box, placed);
    expect(await next(box)).toBeNull();
    await resume(box);
    for (let time = 0; time < 3; time += 1) expect(await next(box)).not.toBeNull();
    expect(await pausesOf(box)).toEqual([]);
  });

  it('stays as it is when an operator pauses the family and resumes it', async () => {
    const box = await boxOf(...several(3));
    await sends(box, placed);
    await sends(box, placed);
    expect(await next(box)).toBeNull();
    await box.store.operator.pauseScope({
      scope: 'family:gift_card',
      actor: 'cli:anna',
      reason: 'lunch',
      nowMs: 3000,
    });
    await resume(box);
    expect(await next(box)).toBeNull();
    expect(await pausesOf(box)).toMatchObject([{ reason: 'connector_unproven' }]);
  });

  it('is another one after a change, for which only its own orders count', async () => {
    const box = await boxOf(...several(8));
    await sends(box, placed);
    await sends(box, fulfilled);
    await sends(box, placed);
    await box.reopen();
    await stepsOf(box.store).adoptConnector('second', 1);
    await sends(box, placed);
    await sends(box, placed);
    expect(await next(box)).toBeNull();
    await box.reopen();
    await stepsOf(box.store).adoptConnector('first', 1);
    expect(await next(box)).not.toBeNull();
  });

  it('asks for the open orders once a claim, and not in the whole outbox', async () => {
    // With a question for each product, or a scan of all entries, one claim took 500 ms.
    const box = await boxOf(
      ...Array.from({ length: 1000 }, (_, index) => ({ variant: `v${index}` })),
    );
    // Processor time: other programs may keep this one waiting.
    const before = process.cpuUsage();
    expect(await next(box)).not.toBeNull();
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(200);
  });
});
