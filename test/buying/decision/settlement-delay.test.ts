import { expect, it } from 'vitest';
import { settlementDelayLeftMs } from '../../../src/core/entry/settlement-delay.ts';

const end = { settlementDelayEndMs: 1_000_120_000, settlementDelayEndMono: 620_000 };

it('the settlement delay lasts its length on the monotonic clock, however the wall clock is set meanwhile', () => {
  for (const wallMs of [0, 1_000_000_000, 1_000_120_000, 2_000_000_000]) {
    expect(settlementDelayLeftMs(end, { wallMs, monoMs: 500_000 })).toBe(120_000);
    expect(settlementDelayLeftMs(end, { wallMs, monoMs: 619_999 })).toBe(1);
    expect(settlementDelayLeftMs(end, { wallMs, monoMs: 620_000 })).toBe(0);
  }
});

it('the settlement delay goes by the wall clock only if no monotonic time is known, and is never negative', () => {
  const wallOnly = { ...end, settlementDelayEndMono: null };
  expect(settlementDelayLeftMs(wallOnly, { wallMs: 1_000_000_000, monoMs: 9_999_999 })).toBe(120_000);
  expect(settlementDelayLeftMs(wallOnly, { wallMs: 1_000_120_001, monoMs: 0 })).toBe(0);
  expect(
    settlementDelayLeftMs({ settlementDelayEndMs: null, settlementDelayEndMono: null }, { wallMs: 0, monoMs: 0 }),
  ).toBe(0);
});
