import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  act,
  entries,
  inFlightWindowEndMs,
  referenceOf,
  review,
  settle,
  standingIn,
} from '../../support/operator.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

async function outcomeUnknown(): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept([line()]);
  await stepsOf(box.store).closeAttempt(close(await box.opened(), nothing));
  return box;
}

describe('the in-flight window of an unknown outcome', () => {
  it('is stamped by the monotonic clock when it begins, and only then', async () => {
    const box = await outcomeUnknown();
    expect(entries(box)[0]).toMatchObject({
      in_flight_window_end_mono: 119_000,
      in_flight_window_boot_id: 'boot',
    });
    const asked = await box.opened({ step: 'lookup', nowMs: 4000 });
    expect(asked.entry.inFlightWindowEndMono).toBe(119_000);
    await stepsOf(box.store).closeAttempt(
      close(asked, { ...nothing, inFlightWindowMs: null }, { nowMono: 50_000 }),
    );
    expect(entries(box)[0]).toMatchObject({
      in_flight_window_end_mono: 119_000,
      in_flight_window_boot_id: 'boot',
    });
    const settled = {
      ...nothing,
      state: 'rejected',
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
      inFlightWindowMs: null,
    } as const;
    await stepsOf(box.store).closeAttempt(
      close(await box.opened({ step: 'lookup', nowMs: 4000 }), settled),
    );
    expect(entries(box)[0]).toMatchObject({
      in_flight_window_end_ms: null,
      in_flight_window_end_mono: null,
    });
  });

  it('continues after a restart of the worker, and begins again, once, after a restart of the machine', async () => {
    const box = await outcomeUnknown();
    await stepsOf(box.store).restartInFlightWindows({ untilMono: 777_000, bootId: 'boot' });
    expect(entries(box)[0]).toMatchObject({ in_flight_window_end_mono: 119_000 });
    await stepsOf(box.store).restartInFlightWindows({ untilMono: 120_500, bootId: 'next boot' });
    await stepsOf(box.store).restartInFlightWindows({ untilMono: 180_500, bootId: 'next boot' });
    // The end by the wall clock stays: people see it, and the deadline of an acceptance is counted
    // from it.
    expect(entries(box)[0]).toMatchObject({
      in_flight_window_end_mono: 120_500,
      in_flight_window_end_ms: 120_000,
    });
    // Without a boot id every stamp may be of another run of the machine.
    await stepsOf(box.store).restartInFlightWindows({ untilMono: 200_500, bootId: null });
    await stepsOf(box.store).restartInFlightWindows({ untilMono: 260_500, bootId: null });
    expect(entries(box)[0]).toMatchObject({
      in_flight_window_end_mono: 260_500,
      in_flight_window_boot_id: null,
    });
  });

  it('also holds for a person who sets the wall clock forward', async () => {
    const box = await standingIn('pending');
    await settle(
      box,
      review({
        outcomeUnknown: true,
        inFlightWindowEndMs: inFlightWindowEndMs,
        inFlightWindowMs: 118_000,
        row: 'dropped',
      }),
    );
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    const later = { nowMs: 10 * inFlightWindowEndMs, bootId: 'boot' };
    await expect(act(box, order, { ...later, nowMono: 118_999 })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await act(box, order, { ...later, nowMono: 119_000 });
    expect(entries(box)[0]).toMatchObject({ reference: referenceOf(box), state: 'rejected' });
  });

  it('also holds for a person where the machine has no boot id', async () => {
    const box = await standingIn('pending');
    await settle(
      box,
      review({
        outcomeUnknown: true,
        inFlightWindowEndMs: inFlightWindowEndMs,
        inFlightWindowMs: 118_000,
        row: 'dropped',
      }),
    );
    await stepsOf(box.store).restartInFlightWindows({ untilMono: 200_000, bootId: null });
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    const later = { nowMs: 10 * inFlightWindowEndMs, bootId: null };
    await expect(act(box, order, { ...later, nowMono: 199_999 })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await act(box, order, { ...later, nowMono: 200_000 });
    expect(entries(box)[0]).toMatchObject({ reference: referenceOf(box), state: 'rejected' });
  });
});
