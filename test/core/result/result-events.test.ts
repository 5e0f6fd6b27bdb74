import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LineState, ResultDocument } from '../../../src/core/result/result-document.ts';
import { orderStateOf } from '../../../src/core/result/result-document.ts';
import {
  readConfirmed,
  resultEvents,
  resultEventTypes,
  type ConfirmedEvents,
  type ResultEventType,
} from '../../../src/core/result/result-events.ts';

const nothing = readConfirmed(null);

/** The result of an order whose lines are in these states. */
function result(version: number, ...states: LineState[]): ResultDocument {
  return {
    source: 'shop',
    order_id: '1001',
    state: orderStateOf(states),
    sandbox: false,
    metadata: {},
    lines: states.map((state, index) => ({
      line_id: String(index + 1),
      state,
      entries: [],
      error: null,
    })),
    updated_at: `2026-11-21T12:00:${String(version % 60).padStart(2, '0')}.000Z`,
  };
}

/** An endpoint that confirms everything, or what a test lets it confirm. */
class Endpoint {
  readonly told: { type: ResultEventType; id: string; data: unknown }[] = [];
  confirmed: ConfirmedEvents = nothing;
  readonly #wants: readonly ResultEventType[];

  constructor(...wants: ResultEventType[]) {
    this.#wants = wants.length === 0 ? resultEventTypes : wants;
  }

  /**
   * Delivers a version; `failsAt`: the post of this index fails, and those after it are not made.
   */
  deliver(document: ResultDocument, version: number, failsAt = Number.POSITIVE_INFINITY): string[] {
    const { events, after } = resultEvents(document, version, {
      wants: this.#wants,
      confirmed: this.confirmed,
    });
    for (const [index, { id, body, announces, confirms }] of events.entries()) {
      if (announces !== null) this.#store(announces);
      this.told.push({ type: body.type, id, data: body.data });
      if (index === failsAt) return events.map((event) => event.body.type);
      this.#store(confirms);
    }
    if (events.length === 0) this.#store(after);
    return events.map((event) => event.body.type);
  }

  replay(): void {
    this.#store({ replays: this.confirmed.replays + 1, reviews: {} });
  }

  /** As it is after it was on disk. */
  #store(confirmed: ConfirmedEvents): void {
    this.confirmed = readConfirmed(JSON.stringify(confirmed));
  }
}

describe('the events of a result', () => {
  it('are an update at each version, and that it is settled once nothing is open', () => {
    const endpoint = new Endpoint();
    expect(endpoint.deliver(result(1, 'pending', 'pending'), 1)).toEqual(['order.updated']);
    expect(endpoint.deliver(result(2, 'fulfilled', 'pending'), 2)).toEqual(['order.updated']);
    expect(endpoint.deliver(result(3, 'fulfilled', 'rejected'), 3)).toEqual([
      'order.updated',
      'order.settled',
    ]);
    expect(endpoint.deliver(result(4, 'fulfilled', 'rejected'), 4)).toEqual(['order.updated']);
    expect(endpoint.deliver(result(5, 'fulfilled', 'fulfilled'), 5)).toEqual([
      'order.updated',
      'order.settled',
    ]);
    expect(new Set(endpoint.told.map(({ id }) => id)).size).toBe(endpoint.told.length);
  });

  it('cost an endpoint nothing that it does not want', () => {
    const endpoint = new Endpoint('order.settled');
    expect(endpoint.deliver(result(1, 'pending'), 1)).toEqual([]);
    expect(endpoint.deliver(result(2, 'needs_review'), 2)).toEqual([]);
    expect(endpoint.deliver(result(3, 'fulfilled'), 3)).toEqual(['order.settled']);
    expect(endpoint.told).toMatchObject([{ data: { order_id: '1001', state: 'completed' } }]);
  });

  it('tell a settled result again after it was another one in between, under a new id', () => {
    const endpoint = new Endpoint('order.settled');
    for (const [index, state] of (['fulfilled', 'refunded', 'fulfilled'] as const).entries())
      endpoint.deliver(result(index, state), index);
    expect(new Set(endpoint.told.map(({ id }) => id)).size).toBe(3);
  });

  it('tell a settled result again when the answer to another one was lost in between, under a new id each', () => {
    const endpoint = new Endpoint('order.settled');
    endpoint.deliver(result(1, 'fulfilled'), 1);
    endpoint.deliver(result(2, 'refunded'), 2, 0);
    endpoint.deliver(result(2, 'refunded'), 2, 0);
    endpoint.deliver(result(3, 'fulfilled'), 3, 0);
    endpoint.deliver(result(4, 'refunded'), 4);
    expect(endpoint.told.map(({ data }) => JSON.stringify(data).includes('refunded'))).toEqual([
      false,
      true,
      true,
      false,
      true,
    ]);
    const [first, lost, again, ...rest] = endpoint.told.map(({ id }) => id);
    expect(again).toBe(lost);
    expect(new Set([first, lost, ...rest]).size).toBe(4);
    expect(endpoint.deliver(result(4, 'refunded'), 4)).toEqual([]);
  });

  it('say that a line needs review once each time it comes to need it, with the line alone', () => {
    const endpoint = new Endpoint('line.needs_review');
    const states: LineState[] = [
      'pending',
      'needs_review',
      'needs_review',
      'pending',
      'needs_review',
    ];
    for (const [version, state] of states.entries())
      endpoint.deliver(result(version, 'fulfilled', state), version);
    expect(endpoint.told).toHaveLength(2);
    expect(endpoint.told[0]?.id).not.toBe(endpoint.told[1]?.id);
    expect(endpoint.told[0]?.data).toMatchObject({
      source: 'shop',
      order_id: '1001',
      line: { line_id: '2', state: 'needs_review' },
    });
  });

  it('keep their id when a try fails, also in a later version; what was confirmed is not told again', () => {
    const endpoint = new Endpoint();
    const before = result(1, 'needs_review', 'needs_review', 'pending');
    endpoint.deliver(before, 1, 2);
    const [updated, first, second] = endpoint.told;
    endpoint.deliver(before, 1, 0);
    expect(endpoint.told.at(-1)).toEqual(second);
    endpoint.deliver(result(2, 'needs_review', 'needs_review', 'fulfilled'), 2);
    const later = endpoint.told.slice(4);
    expect(later.map(({ type }) => type)).toEqual(['order.updated', 'line.needs_review']);
    expect(later[1]?.id).toBe(second?.id);
    expect(later[0]?.id).not.toBe(updated?.id);
    expect(first?.id).not.toBe(second?.id);
  });

  it('take a new id when the answer about a review was lost and its line shows something else now', () => {
    const endpoint = new Endpoint('line.needs_review');
    const document = result(1, 'needs_review');
    endpoint.deliver(document, 1, 0);
    endpoint.deliver(result(2, 'pending'), 2);
    const error = { code: 'needs_review', message: 'another reason', action: null };
    endpoint.deliver(
      { ...document, lines: document.lines.map((line) => ({ ...line, error })) },
      3,
      0,
    );
    const [first, second] = endpoint.told;
    expect(second?.data).not.toEqual(first?.data);
    expect(second?.id).not.toBe(first?.id);
  });

  it('are told again under new ids when an operator asks for the result again', () => {
    const endpoint = new Endpoint('order.settled', 'line.needs_review');
    endpoint.deliver(result(1, 'fulfilled'), 1);
    endpoint.replay();
    endpoint.deliver(result(2, 'fulfilled'), 2);
    expect(endpoint.told).toHaveLength(2);
    expect(endpoint.told[0]?.id).not.toBe(endpoint.told[1]?.id);
  });

  it('tell the last settled result and every review, whatever fails on the way', () => {
    const state = fc.constantFrom<LineState>('pending', 'needs_review', 'fulfilled', 'rejected');
    const step = fc.record({
      states: fc.array(state, { minLength: 3, maxLength: 3 }),
      failsAt: fc.option(fc.nat(3), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        const endpoint = new Endpoint();
        for (const [version, { states, failsAt }] of steps.entries()) {
          endpoint.deliver(result(version, ...states), version, failsAt);
        }
        const last = steps.at(-1)?.states ?? [];
        const document = result(steps.length, ...last);
        endpoint.deliver(document, steps.length);
        const settled = endpoint.told.filter(({ type }) => type === 'order.settled').at(-1);
        const isOpen = ['in_progress', 'needs_review'].includes(document.state);
        expect(
          isOpen || JSON.stringify(settled?.data).includes(JSON.stringify(document.lines)),
        ).toBe(true);
        for (const line of document.lines.filter((one) => one.state === 'needs_review'))
          expect(endpoint.told).toContainEqual(
            expect.objectContaining({
              type: 'line.needs_review',
              data: expect.objectContaining({ line }),
            }),
          );
        expect(endpoint.deliver(document, steps.length)).toEqual([]);
      }),
    );
  });
});
