import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClockSteps, smallestStepMs } from '../../../src/core/time/wall-clock.ts';

const startMs = Date.UTC(2026, 10, 1);

describe('steps of the wall clock', () => {
  it('are told from time that passes, in both directions', () => {
    const steps = new ClockSteps({ wallMs: startMs, monoMs: 0 });
    expect(steps.read({ wallMs: startMs + 60_000, monoMs: 60_000 })).toEqual({
      wallMs: startMs + 60_000,
      stepMs: 0,
    });
    const fiveDays = 5 * 86_400_000;
    expect(steps.read({ wallMs: startMs + 61_000 - fiveDays, monoMs: 61_000 })).toEqual({
      wallMs: startMs + 61_000,
      stepMs: -fiveDays,
    });
    steps.accept(-fiveDays);
    expect(steps.read({ wallMs: startMs + 62_000 - fiveDays, monoMs: 62_000 }).stepMs).toBe(0);
    expect(steps.read({ wallMs: startMs + 63_000, monoMs: 63_000 }).stepMs).toBe(fiveDays);
  });

  it('of some seconds are followed at once, however many come one after the other', () => {
    const steps = new ClockSteps({ wallMs: startMs, monoMs: 0 });
    for (let count = 1; count < 100; count += 1) {
      const wallMs = startMs + count * (1000 + smallestStepMs - 1);
      expect(steps.read({ wallMs, monoMs: count * 1000 })).toEqual({ wallMs, stepMs: 0 });
    }
  });

  it('that were undone before anybody accepted them were none', () => {
    const steps = new ClockSteps({ wallMs: startMs, monoMs: 0 });
    expect(steps.read({ wallMs: startMs + 3_600_000, monoMs: 0 }).stepMs).toBe(3_600_000);
    expect(steps.read({ wallMs: startMs + 1000, monoMs: 1000 })).toEqual({
      wallMs: startMs + 1000,
      stepMs: 0,
    });
  });

  it('never let the time jump by as much as a step before they are accepted, whatever the clock does', () => {
    const change = fc.record({
      passMs: fc.integer({ min: 0, max: 10_000 }),
      stepMs: fc.oneof(fc.constant(0), fc.integer({ min: -30 * 86_400_000, max: 30 * 86_400_000 })),
      accepts: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        let sample = { wallMs: startMs, monoMs: 0 };
        const steps = new ClockSteps(sample);
        let shown = steps.read(sample).wallMs;
        for (const { passMs, stepMs, accepts } of changes) {
          sample = { wallMs: sample.wallMs + passMs + stepMs, monoMs: sample.monoMs + passMs };
          const reading = steps.read(sample);
          expect(Math.abs(reading.wallMs - shown - passMs)).toBeLessThan(smallestStepMs);
          shown = reading.wallMs;
          if (!accepts) continue;
          steps.accept(reading.stepMs);
          shown = steps.read(sample).wallMs;
          expect(shown).toBe(sample.wallMs);
        }
      }),
    );
  });
});
