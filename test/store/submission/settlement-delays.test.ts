import { describe, expect, it, onTestFinished } from 'vitest';
import { act, entries, quietUntilMs, referenceOf, review, settle, standingIn } from '../../support/operator.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

async function inDoubt(): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept([line()]);
  await box.store.closeAttempt(close(await box.opened(), nothing));
  return box;
}

describe('the quiet time of a doubt', () => {
  it('is stored on the clock of the machine when it begins, and only then', async () => {
    const box = await inDoubt();
    expect(entries(box)[0]).toMatchObject({ doubt_until_mono: 119_000, doubt_boot_id: 'boot' });
    const asked = await box.opened({ step: 'lookup', nowMs: 4000 });
    expect(asked.entry.doubtUntilMono).toBe(119_000);
    await box.store.closeAttempt(close(asked, { ...nothing, quietMs: null }, { nowMono: 50_000 }));
    expect(entries(box)[0]).toMatchObject({ doubt_until_mono: 119_000, doubt_boot_id: 'boot' });
    const settled = { ...nothing, state: 'rejected', inDoubt: false, doubtUntilMs: null, quietMs: null } as const;
    await box.store.closeAttempt(close(await box.opened({ step: 'lookup', nowMs: 4000 }), settled));
    expect(entries(box)[0]).toMatchObject({ doubt_until_ms: null, doubt_until_mono: null });
  });

  it('goes on after a restart of the worker, and begins anew, once, after one of the machine', async () => {
    const box = await inDoubt();
    await box.store.restartQuietTimes({ untilMono: 777_000, bootId: 'boot' });
    expect(entries(box)[0]).toMatchObject({ doubt_until_mono: 119_000 });
    await box.store.restartQuietTimes({ untilMono: 120_500, bootId: 'next boot' });
    await box.store.restartQuietTimes({ untilMono: 180_500, bootId: 'next boot' });
    // What people are shown, and what the time of an acceptance is counted from, stays.
    expect(entries(box)[0]).toMatchObject({ doubt_until_mono: 120_500, doubt_until_ms: 120_000 });
    // Nobody can tell which run of the machine this is.
    await box.store.restartQuietTimes({ untilMono: 200_500, bootId: null });
    await box.store.restartQuietTimes({ untilMono: 260_500, bootId: null });
    expect(entries(box)[0]).toMatchObject({ doubt_until_mono: 260_500, doubt_boot_id: null });
  });

  it('binds a person too, who set the clock forward', async () => {
    const box = await standingIn('pending');
    await settle(box, review({ inDoubt: true, doubtUntilMs: quietUntilMs, quietMs: 118_000, row: 'dropped' }));
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    const later = { nowMs: 10 * quietUntilMs, bootId: 'boot' };
    await expect(act(box, order, { ...later, nowMono: 118_999 })).rejects.toMatchObject({ code: 'REFUSED' });
    await act(box, order, { ...later, nowMono: 119_000 });
    expect(entries(box)[0]).toMatchObject({ reference: referenceOf(box), state: 'rejected' });
  });

  it('binds a person too where nobody knows which run of the machine this is', async () => {
    const box = await standingIn('pending');
    await settle(box, review({ inDoubt: true, doubtUntilMs: quietUntilMs, quietMs: 118_000, row: 'dropped' }));
    await box.store.restartQuietTimes({ untilMono: 200_000, bootId: null });
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    const later = { nowMs: 10 * quietUntilMs, bootId: null };
    await expect(act(box, order, { ...later, nowMono: 199_999 })).rejects.toMatchObject({ code: 'REFUSED' });
    await act(box, order, { ...later, nowMono: 200_000 });
    expect(entries(box)[0]).toMatchObject({ reference: referenceOf(box), state: 'rejected' });
  });
});
