import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EvidenceReason } from '../../../src/buying/breakers/evidence.ts';
import type { ScopeChange, ScopeFindings } from '../../../src/buying/breakers/judge-call.ts';
import { close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

const hour = 3_600_000;
const product = 'variant:steam-10';
const none: ScopeChange = { forget: [], remember: [], open: [], postpone: [], end: [] };

async function boxOf(lines: number): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(Array.from({ length: lines }, (_, index) => line({ orderId: `o${index}` })));
  return box;
}

/** Closes the call of the next line with these changes; returns what was known before. */
async function closed(
  box: Outbox,
  nowMs: number,
  changes: (entryId: number) => Partial<ScopeChange>,
): Promise<ScopeFindings> {
  const attempt = await box.opened({ nowMs, trials: [product] });
  let findings: ScopeFindings | null = null;
  const judge = (found: ScopeFindings): ScopeChange => {
    findings = found;
    return { ...none, ...changes(attempt.entry.id) };
  };
  await stepsOf(box.store).closeAttempt(
    close(attempt, fulfilled, { nowMs, scopes: { judged: [product, 'account'], judge } }),
  );
  if (findings === null) throw new Error('the scopes were not judged');
  return findings;
}

const counts = (
  entryId: number,
  reason: EvidenceReason = 'unreadable_success',
  scope = product,
) => ({
  remember: [{ scope, reason, entryId, product }],
});
const opens = (reason: EvidenceReason, probes = 0) => ({
  open: [
    { scope: product, reason, message: 'two entries', openedBy: 'worker', probeAtMs: 9000, probes },
  ],
});
const pausesOf = (box: Outbox) => box.store.pauses.all();

describe('evidence', () => {
  it('outlives the process, and counts for an hour', async () => {
    const box = await boxOf(4);
    expect((await closed(box, 2000, (id) => counts(id))).evidence).toEqual([]);
    await box.reopen();
    const { evidence } = await closed(box, 2000 + hour - 1, () => ({}));
    expect(evidence).toEqual([
      { scope: product, reason: 'unreadable_success', entryId: 1, product },
    ]);
    expect((await closed(box, 2000 + hour, () => ({}))).evidence).toEqual([]);
  });

  it('is kept of the last twenty entries of a scope and reason', async () => {
    const box = await boxOf(24);
    for (let time = 1; time <= 22; time += 1) await closed(box, 2000 + time, (id) => counts(id));
    await closed(box, 3000, (id) => counts(id, 'api_unreachable', 'account'));
    const { evidence } = await closed(box, 3001, () => ({}));
    const entries = (reason: string) =>
      evidence.filter((one) => one.reason === reason).map((one) => one.entryId);
    expect(entries('unreadable_success').toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 3),
    );
    expect(entries('api_unreachable')).toEqual([23]);
  });

  it('is forgotten for the scope and the reason that were cleared, and for no other', async () => {
    const box = await boxOf(4);
    await closed(box, 2000, (id) => counts(id));
    await closed(box, 2001, (id) => counts(id, 'order_absent'));
    await closed(box, 2002, () => ({ forget: [{ scope: product, reason: 'order_absent' }] }));
    expect((await closed(box, 2003, () => ({}))).evidence.map(({ reason }) => reason)).toEqual([
      'unreadable_success',
    ]);
  });

  it.each<[string, (box: Outbox) => Promise<unknown>]>([
    ['a probe ends its pause', (box) => box.store.pauses.end(product, 'it answers', 3000)],
    [
      'an operator resumes its scope',
      (box) =>
        box.store.operator.resumeScope({
          scope: product,
          actor: 'cli:anna',
          reason: 'mended',
          nowMs: 3000,
        }),
    ],
    [
      'a trial ends its pause',
      (box) => closed(box, 3000, () => ({ end: [{ scope: product, why: 'it was accepted' }] })),
    ],
  ])('is forgotten when %s: to pause it again takes new evidence', async (_what, end) => {
    const box = await boxOf(5);
    await closed(box, 2000, (id) => counts(id));
    await closed(box, 2001, (id) => ({ ...counts(id), ...opens('unreadable_success') }));
    await closed(box, 2002, (id) => counts(id, 'api_unreachable', 'account'));
    await end(box);
    expect(await pausesOf(box)).toEqual([]);
    expect((await closed(box, 3001, () => ({}))).evidence.map(({ scope }) => scope)).toEqual([
      'account',
    ]);
  });

  it('of another reason stays when a call ends the pause and is such evidence itself', async () => {
    const box = await boxOf(3);
    await closed(box, 2000, (id) => ({ ...counts(id, 'order_absent'), ...opens('order_absent') }));
    await closed(box, 2001, (id) => ({
      ...counts(id, 'consecutive_rejections'),
      end: [{ scope: product, why: 'the API answered' }],
    }));
    expect((await closed(box, 2002, () => ({}))).evidence.map(({ reason }) => reason)).toEqual([
      'consecutive_rejections',
    ]);
  });
});

describe('a pause by evidence', () => {
  it('is opened, postponed and ended with the call that shows it', async () => {
    const box = await boxOf(3);
    await closed(box, 2000, () => opens('unreadable_success', 2));
    await box.reopen();
    expect(await pausesOf(box)).toMatchObject([{ scope: product, probes: 2, probeAtMs: 9000 }]);
    const paused = (trials: readonly string[]) =>
      stepsOf(box.store).openAttempt(box.claim({ trials }));
    expect(await paused([])).toBeNull();
    const trial = await paused([product]);
    expect(trial?.trialOf).toEqual([product]);
    if (trial === null) return;
    const judge = ({ pauses }: ScopeFindings): ScopeChange => {
      expect(pauses).toMatchObject([{ scope: product, openedBy: 'worker', probes: 2 }]);
      return { ...none, postpone: [{ scope: product, probeAtMs: 12_000.4 }] };
    };
    const changed = await stepsOf(box.store).closeAttempt(
      close(trial, nothing, { scopes: { judged: [product], judge } }),
    );
    expect(changed).toMatchObject({ pausesChanged: true });
    expect(await pausesOf(box)).toMatchObject([{ scope: product, probes: 3, probeAtMs: 12_000 }]);
  });

  it('is not opened over the pause of an operator, nor ends or postpones it', async () => {
    const box = await boxOf(3);
    const first = await box.opened();
    await box.store.operator.pauseScope({
      scope: product,
      actor: 'cli:anna',
      reason: 'stocktaking',
      nowMs: 1999,
    });
    for (const changes of [
      opens('unreadable_success'),
      { postpone: [{ scope: product, probeAtMs: 1 }] },
      { end: [{ scope: product, why: '' }] },
    ]) {
      // Each of them rolls back, so that the one call can be closed again.
      const judge = (): ScopeChange => ({ ...none, ...changes });
      await stepsOf(box.store)
        .closeAttempt(close(first, nothing, { scopes: { judged: [product], judge } }))
        .catch(() => undefined);
      expect(await pausesOf(box)).toMatchObject([
        { reason: 'manual', openedBy: 'cli:anna', probeAtMs: null, probes: 0 },
      ]);
    }
    expect(await stepsOf(box.store).openAttempt(box.claim({ trials: [product] }))).toBeNull();
  });

  it('gives way to the denial with which the API answers again', async () => {
    const box = await boxOf(1);
    const attempt = await box.opened();
    const pause = { scope: 'account', message: '', openedBy: 'worker', probeAtMs: 9000 };
    await box.store.pauses.open({ ...pause, reason: 'api_unreachable', nowMs: 2000 });
    const judge = (): ScopeChange => ({
      ...none,
      end: [{ scope: 'account', why: 'the API answered (api_disabled)' }],
    });
    const scopes = { judged: ['account'], judge };
    await stepsOf(box.store).closeAttempt(
      close(attempt, nothing, { scopes, pause: { ...pause, reason: 'api_disabled' } }),
    );
    expect(await pausesOf(box)).toMatchObject([{ scope: 'account', reason: 'api_disabled' }]);
  });

  it('is not there when the call could not be recorded', async () => {
    const box = await boxOf(1);
    const attempt = await box.opened();
    const judge = (): ScopeChange => ({ ...none, ...opens('unreadable_success') });
    const wrong = close(
      attempt,
      { ...nothing, state: 'cancelled' },
      { scopes: { judged: [product], judge } },
    );
    await expect(stepsOf(box.store).closeAttempt(wrong)).rejects.toMatchObject({
      code: 'INVARIANT',
    });
    expect(await pausesOf(box)).toEqual([]);
  });
});
