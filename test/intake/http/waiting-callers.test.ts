import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { WaitingCallers } from '../../../src/intake/http/waiting-callers.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { Outbox } from '../../support/outbox.ts';

it('waits for so many orders in all, and beyond that only for those who wait for a few', async () => {
  const outbox = await Outbox.open();
  const waiting = new WaitingCallers(outbox.store.read, new SystemClock(), 1000);
  const gone = new AbortController();
  let over = 0;
  const wait = (from: number, orders: number, signal = gone.signal): Promise<void> =>
    waiting
      .wait(
        Array.from({ length: orders }, (_, index) => from + index),
        60_000,
        signal,
      )
      .then(() => {
        over += 1;
      });
  // None of these orders is there, so nothing ends a wait but the caller.
  const waits = Array.from({ length: 50 }, (_, index) => wait(index * 1000, 1000));
  await wait(0, 51);
  expect(over).toBe(1);
  const few = wait(0, 50);
  gone.abort();
  await Promise.all([...waits, few]);
  expect(over).toBe(52);
  // What they waited for does not count any more.
  const later = wait(0, 51, new AbortController().signal);
  await nextTurn();
  expect(over).toBe(52);
  await waiting.stop();
  await later;
});
