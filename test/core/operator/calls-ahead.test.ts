import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callsAhead } from '../../../src/core/operator/queue-explanation.ts';
import { Turns, type Queue } from '../../../src/store/submission/lanes.ts';

describe('how many calls come before an entry', () => {
  it('a backlog of one shop delays the single order of another by one call', () => {
    const lanes = [
      { source: 'big', name: 'pending big|USD', due: 10_000 },
      { source: 'small', name: 'pending small|USD', due: 1 },
    ];
    expect(callsAhead(lanes, { source: 'small', name: 'pending small|USD', before: 0 })).toBe(1);
    expect(callsAhead(lanes, { source: 'big', name: 'pending big|USD', before: 9999 })).toBe(10_000);
  });

  it('is never too low, whichever shops and lanes were served before', () => {
    const lane = fc.record({
      source: fc.integer({ min: 0, max: 3 }),
      lane: fc.integer({ min: 0, max: 2 }),
      due: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(
        fc.array(lane, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.nat(),
        fc.nat({ max: 20 }),
        (drawn, pick, depth, served) => {
          const unique = [...new Map(drawn.map((each) => [`s${each.source}|L${each.lane}`, each])).entries()];
          const lanes = unique.map(([name, each]) => ({ source: `s${each.source}`, name, due: each.due }));
          const own = lanes[pick % lanes.length];
          if (own === undefined) return;
          const before = depth % own.due;
          const queues = lanes.map((each): Queue => ({ state: 'pending', lane: each.name }));
          const turns = new Turns();
          // Whatever was served before this moment.
          for (let i = 0; i < served; i += 1)
            turns.served(
              turns.order(queues)[(i * 7) % queues.length] ?? { state: 'pending', lane: 's0|USD|variant:x' },
            );
          const left = new Map(lanes.map((each) => [each.name, each.due]));
          let calls = 0;
          for (let mine = 0; ; calls += 1) {
            const next = turns.order(queues).find((each) => (left.get(each.lane) ?? 0) > 0);
            if (next === undefined) throw new Error('it is served in the end');
            turns.served(next);
            left.set(next.lane, (left.get(next.lane) ?? 0) - 1);
            if (next.lane !== own.name) continue;
            if (mine === before) break;
            mine += 1;
          }
          expect(calls).toBeLessThanOrEqual(callsAhead(lanes, { ...own, before }));
        },
      ),
    );
  });
});
