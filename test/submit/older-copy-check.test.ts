import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutAnswer, type LookupOutcome } from '../../src/core/answers/outcome.ts';
import { Dispatcher } from '../../src/submit/dispatcher.ts';
import { probeDuePauses } from '../../src/submit/probes.ts';
import { OlderCopyCheck } from '../../src/submit/older-copy-check.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { answer, line, Outbox } from '../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const { signal } = new AbortController();
const dropped = withoutAnswer('dropped', true, 'the connection ended');

/** Makes the check against an API that answers lookups like this. */
function checkAgainst(lookup: (key: string) => LookupOutcome) {
  const found: string[] = [];
  const asked: string[] = [];
  const deps = attemptDeps(outbox.store, {
    lookUp: async ({ key }) => {
      asked.push(key);
      return lookup(key);
    },
  });
  const check = new OlderCopyCheck({ upToEntry: 9, onFound: async (reason) => void found.push(reason) });
  return { check, deps, found, asked };
}

const foundUnder = (reference: string | null): LookupOutcome => ({ kind: 'found', answer: { ...answer, reference } });

describe('the check for an older copy', () => {
  it('asks nothing where every entry was sent already, or none came before this start', async () => {
    const { check, deps, asked } = checkAgainst(foundUnder);
    await check.run(deps, signal);
    expect({ isOver: check.isOver, asked }).toEqual({ isOver: true, asked: [] });
  });

  it('finds that the API has an order that was never sent from here, by one read', async () => {
    const [accepted] = await outbox.accept([line(), line({ orderId: 'b' })]);
    const { check, deps, found, asked } = checkAgainst(foundUnder);
    await check.run(deps, signal);
    await check.run(deps, signal);
    expect(check.isOver).toBe(true);
    expect(asked).toEqual([accepted?.reference]);
    expect(found).toEqual([`the API has an order under ${accepted?.reference}, which was never sent from here`]);
  });

  it('asks up to five entries, those without rules first, and ends with the first that is found', async () => {
    const rules = { fallback_currency: 'EUR' };
    const ruled = ['a', 'b', 'c'].map((orderId) => line({ orderId, rules }));
    const plain = ['d', 'e', 'f', 'g'].map((orderId) => line({ orderId }));
    const accepted = await outbox.accept([...ruled, ...plain]);
    const references = accepted.map(({ reference }) => reference);
    const nothing = checkAgainst(() => ({ kind: 'absent' }));
    await nothing.check.run(nothing.deps, signal);
    expect(nothing.asked).toEqual([...references.slice(3), references[0]]);
    expect([nothing.check.isOver, nothing.found]).toEqual([true, []]);
    const bought = checkAgainst((key) => (key === references[4] ? foundUnder(key) : { kind: 'absent' }));
    await bought.check.run(bought.deps, signal);
    expect([bought.asked, bought.found.length]).toEqual([references.slice(3, 5), 1]);
  });

  it.each<[string, LookupOutcome]>([
    ['the API does not know it', { kind: 'absent' }],
    ['the lookup fails', { kind: 'failed', outcome: dropped }],
    ['the answer is about another order', foundUnder('another')],
    ['the answer shows no reference', foundUnder(null)],
  ])('is over and proves nothing if %s', async (_, outcome) => {
    await outbox.accept([line()]);
    const { check, deps, found, asked } = checkAgainst(() => outcome);
    await check.run(deps, signal);
    expect({ isOver: check.isOver, found, asked: asked.length }).toEqual({ isOver: true, found: [], asked: 1 });
  });

  it('waits for a slot of the budget', async () => {
    await outbox.accept([line()]);
    const { check, deps, asked } = checkAgainst(() => ({ kind: 'absent' }));
    while (deps.gate.tryTake('read') !== null) {
      /* until none is free */
    }
    await check.run(deps, signal);
    expect({ isOver: check.isOver, asked }).toEqual({ isOver: false, asked: [] });
    deps.gate.giveBack('main', 'read');
    await check.run(deps, signal);
    expect({ isOver: check.isOver, asked: asked.length }).toEqual({ isOver: true, asked: 1 });
  });

  it('has the pause after a loss end by its time alone, whatever the API would answer', async () => {
    const { deps } = checkAgainst(() => ({ kind: 'absent' }));
    const { pauses, clock } = deps;
    const pause = { scope: 'account', reason: 'older_copy', message: '', openedBy: 'worker', nowMs: clock.wallMs() };
    await outbox.store.submission.pauses.open({ ...pause, probeAtMs: clock.wallMs() });
    await pauses.refresh();
    // The port of this test answers no probe.
    await probeDuePauses(deps, { signal, onChange: () => undefined });
    expect(pauses.all).toEqual([]);
  });

  it('is made before the first order is sent, also while the API takes its time to answer', async () => {
    await outbox.accept([line()]);
    const calls: string[] = [];
    const answered = Promise.withResolvers<LookupOutcome>();
    const asked = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    const deps = attemptDeps(outbox.store, {
      lookUp: () => {
        calls.push('lookup');
        asked.resolve();
        return answered.promise;
      },
      submit: async () => {
        calls.push('submit');
        sent.resolve();
        return dropped;
      },
    });
    const olderCopy = new OlderCopyCheck({ upToEntry: 9, onFound: async () => undefined });
    const { incarnationId } = outbox;
    const limits = { concurrency: 4, maxUnknownOutcomes: 4, graceMs: 100 };
    const dispatcher = new Dispatcher(deps, { ...limits, incarnationId, olderCopy, maxIdleDelayMs: 5 });
    await dispatcher.start();
    await asked.promise;
    // Several rounds of the loop, in each of which the entry is due.
    await deps.clock.sleep(50);
    expect(calls).toEqual(['lookup']);
    answered.resolve({ kind: 'absent' });
    await sent.promise;
    expect(calls.slice(0, 2)).toEqual(['lookup', 'submit']);
    await dispatcher.stop();
  });
});
