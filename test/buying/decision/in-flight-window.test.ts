import { expect, it } from 'vitest';
import { inFlightWindowLeftMs } from '../../../src/core/entry/in-flight-window.ts';

const end = { inFlightWindowEndMs: 1_000_120_000, inFlightWindowEndMono: 620_000 };

it('the in-flight window lasts its length on the monotonic clock, however the wall clock is set meanwhile', () => {
  for (const wallMs of [0, 1_000_000_000, 1_000_120_000, 2_000_000_000]) {
    expect(inFlightWindowLeftMs(end, { wallMs, monoMs: 500_000 })).toBe(120_000);
    expect(inFlightWindowLeftMs(end, { wallMs, monoMs: 619_999 })).toBe(1);
    expect(inFlightWindowLeftMs(end, { wallMs, monoMs: 620_000 })).toBe(0);
  }
});

it('the in-flight window goes by the wall clock only if no monotonic time is known, and is never negative', () => {
  const wallOnly = { ...end, inFlightWindowEndMono: null };
  expect(inFlightWindowLeftMs(wallOnly, { wallMs: 1_000_000_000, monoMs: 9_999_999 })).toBe(
    120_000,
  );
  expect(inFlightWindowLeftMs(wallOnly, { wallMs: 1_000_120_001, monoMs: 0 })).toBe(0);
  expect(
    inFlightWindowLeftMs(
      { inFlightWindowEndMs: null, inFlightWindowEndMono: null },
      { wallMs: 0, monoMs: 0 },
    ),
  ).toBe(0);
});
