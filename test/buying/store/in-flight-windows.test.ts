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
  it('begins with the call, in steady time, and a lookup keeps it', async () => {
    const box = await outcomeUnknown();
    expect(entries(box)[0]).toMatchObject({ in_flight_window_end_steady: 120_000 });
    const asked = await box.opened({ step: 'lookup', nowMs: 4000 });
    expect(asked.entry.inFlightWindowEndMs).toBe(120_000);
    await stepsOf(box.store).closeAttempt(close(asked, nothing, { nowMs: 50_000 }));
    expect(entries(box)[0]).toMatchObject({ in_flight_window_end_steady: 120_000 });
    const settled = {
      ...nothing,
      state: 'rejected',
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
    } as const;
    await stepsOf(box.store).closeAttempt(
      close(await box.opened({ step: 'lookup', nowMs: 4000 }), settled),
    );
    expect(entries(box)[0]).toMatchObject({ in_flight_window_end_steady: null });
  });

  it('also holds for an operator who sets the wall clock forward', async () => {
    const box = await standingIn('pending');
    await settle(
      box,
      review({
        outcomeUnknown: true,
        inFlightWindowEndMs: inFlightWindowEndMs,
        row: 'dropped',
      }),
    );
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    const later = { nowMs: 10 * inFlightWindowEndMs };
    await expect(act(box, order, { ...later, steadyMs: 119_999 })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await act(box, order, { ...later, steadyMs: 120_000 });
    expect(entries(box)[0]).toMatchObject({ reference: referenceOf(box), state: 'rejected' });
  });
});
