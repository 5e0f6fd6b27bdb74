import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostInAnyWindow } from '../operator/ledger.ts';
import { type LimitModel, limitModel } from '../limits/limits.ts';

const windowMs = 1_000;
const cap = 5;

/** Runs a model over the arrival times and returns which calls it lets in. */
function run(model: LimitModel, arrivals: readonly number[]): boolean[] {
  return arrivals.map((now) => {
    const admitted = model.waitMs(now) === 0;
    model.count(now, admitted);
    return admitted;
  });
}

/** Increasing times. Many are equal or close to the edge of a window, where the models differ. */
const arrivals = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 400 }), fc.constant(windowMs)), {
    maxLength: 120,
  })
  .map((gaps) => gaps.reduce<number[]>((times, gap) => [...times, (times.at(-1) ?? 7_000) + gap], []));

const admittedAt = (kind: Parameters<typeof limitModel>[0], times: readonly number[]): number[] => {
  const admitted = run(limitModel(kind, windowMs, cap), times);
  return times.filter((_, index) => admitted[index]);
};

describe('the models of a limit', () => {
  it('sliding_log lets in the cap within any window, never more and never fewer', () => {
    fc.assert(
      fc.property(arrivals, (times) => {
        const admitted = run(limitModel('sliding_log', windowMs, cap), times);
        const stamps = times.filter((_, index) => admitted[index]);
        expect(mostInAnyWindow(stamps, windowMs)).toBeLessThanOrEqual(cap);
        for (const [index, now] of times.entries()) {
          const earlier = times.filter((at, other) => other < index && admitted[other] && at > now - windowMs).length;
          expect(admitted[index]).toBe(earlier < cap);
        }
      }),
    );
  });

  it('rejected_count counts every call, so callers that do not wait stay limited', () => {
    fc.assert(
      fc.property(arrivals, (times) => {
        const admitted = run(limitModel('rejected_count', windowMs, cap), times);
        for (const [index, now] of times.entries()) {
          const earlier = times.filter((at, other) => other < index && at > now - windowMs).length;
          expect(admitted[index]).toBe(earlier < cap);
        }
      }),
    );
  });

  it('fixed_window lets in the cap within each window of the clock and twice as many around an edge', () => {
    fc.assert(
      fc.property(arrivals, (times) => {
        const perWindow = Map.groupBy(admittedAt('fixed_window', times), (at) => Math.floor(at / windowMs));
        for (const stamps of perWindow.values()) expect(stamps.length).toBeLessThanOrEqual(cap);
      }),
    );
    const aroundTheEdge = [...Array.from({ length: cap }, () => 1_999), ...Array.from({ length: cap }, () => 2_000)];
    expect(admittedAt('fixed_window', aroundTheEdge)).toHaveLength(2 * cap);
  });

  it('sliding_counter counts 50 % of the previous window in the middle of the next one', () => {
    const full = Array.from({ length: cap }, () => 1_000);
    expect(admittedAt('sliding_counter', [...full, 2_500, 2_500, 2_500, 2_500])).toHaveLength(cap + 3);
    expect(admittedAt('sliding_counter', [...full, 2_000])).toHaveLength(cap);
  });

  it('token_bucket lets in a burst of the cap, then one call whenever a token is back', () => {
    const burst = Array.from({ length: cap + 3 }, () => 5_000);
    expect(admittedAt('token_bucket', [...burst, 5_199, 5_200, 5_201])).toHaveLength(cap + 1);
  });

  it('a call that waits exactly as long as it was asked to is let in', () => {
    const kinds = ['sliding_log', 'fixed_window', 'sliding_counter', 'token_bucket', 'rejected_count'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...kinds), arrivals, (kind, times) => {
        const model = limitModel(kind, windowMs, cap);
        run(model, times);
        const now = times.at(-1) ?? 0;
        const wait = model.waitMs(now);
        // The wait of the approximate counter can reach into the next window, where its estimate starts again.
        expect(kind === 'sliding_counter' ? wait <= windowMs : model.waitMs(now + wait) === 0).toBe(true);
      }),
    );
  });
});
