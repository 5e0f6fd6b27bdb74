import { stepsOf } from '../../support/steps.ts';
import { afterEach, expect, it } from 'vitest';
import { keptUnits } from '../../../src/core/answers/units.ts';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

/** An answer with as many units as are kept, which no other answer has. */
function placedWith(round: number): Settlement {
  const units = Array.from({ length: keptUnits(1) }, (_, index) => ({
    code: `R${round}-${index}`,
  }));
  return {
    ...fulfilled,
    state: 'placed',
    nextStep: 'lookup',
    dueAtMs: 1,
    answer: { ...answer, units },
  };
}

it('an order that shows other units at each lookup does not grow: the newest are kept', async () => {
  outbox = await Outbox.open();
  const { store } = outbox;
  await outbox.accept([line()]);
  await stepsOf(store).closeAttempt(close(await outbox.opened(), placedWith(0)));
  for (const round of [1, 2, 3]) {
    const lookup = await outbox.opened({ step: 'lookup' });
    expect(lookup.entry.units).toHaveLength(keptUnits(1));
    await stepsOf(store).closeAttempt(close(lookup, placedWith(round)));
  }
  const units = store.read.resultDocument(1).document.lines[0]?.entries[0]?.units ?? [];
  expect(units).toHaveLength(keptUnits(1));
  expect(units[0]?.code).toBe('R3-0');
});
