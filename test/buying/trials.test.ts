import { SystemClock } from '../../src/ops/system-clock.ts';
import { stepsOf } from '../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { withoutAnswer, type Outcome } from '../../src/core/answers/outcome.ts';
import { Attempt } from '../../src/buying/run-call.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { close, emptyBalance, line, Outbox } from '../support/outbox.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

const product = 'variant:steam-10';
const dropped = withoutAnswer('dropped', true, 'the connection ended');
const key = { name: 'main', value: 'key' };

async function boxOf(lines: number): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(Array.from({ length: lines }, (_, index) => line({ orderId: `o${index}` })));
  return box;
}

const paused = (box: Outbox) =>
  box.store.pauses.open({
    scope: product,
    reason: 'unreadable_success',
    message: 'two entries',
    openedBy: 'worker',
    probeAtMs: 1,
    nowMs: 1,
  });

interface Watch {
  /** Called while the pauses are read. */
  readonly onRefresh?: (trials: readonly string[]) => void;
  readonly duringCall?: () => Promise<void>;
}

/** Runs the trial order of the product to this end. */
async function tried(box: Outbox, outcome: Outcome, { onRefresh, duringCall }: Watch = {}) {
  const store = wrappedStore(box.store, (name, step) => {
    if (name !== 'pauses.all') return step;
    return (...values) => {
      onRefresh?.(deps.pauses.trials());
      return step(...values);
    };
  });
  const submit = async (): Promise<Outcome> => {
    await duringCall?.();
    return outcome;
  };
  const deps = attemptDeps(store, { submit });
  await deps.pauses.refresh();
  deps.gate.tryTake('spend');
  const attempt = await box.opened({ trials: deps.pauses.trials() });
  expect(attempt.trialOf).toEqual([product]);
  deps.pauses.trialOpened(attempt.trialOf, attempt.attemptId);
  expect(deps.pauses.trials()).toEqual([]);
  await new Attempt(deps).run(attempt, key, new AbortController().signal);
  return deps.pauses;
}

describe('a trial order', () => {
  it('that fails is the only one until the doubled delay is over, also while its end is written', async () => {
    const box = await boxOf(2);
    await paused(box);
    const seen: (readonly string[])[] = [];
    const failed: Outcome = { ...dropped, row: 'unreadable_success', http: 200 };
    const pauses = await tried(box, failed, { onRefresh: (trials) => void seen.push(trials) });
    // The first reading is the one before the trial.
    expect(seen.slice(1)).toEqual([[]]);
    expect(pauses.trials()).toEqual([]);
    const [pause] = pauses.all;
    expect(pause?.probes).toBe(1);
    expect((pause?.probeAtMs ?? 0) - new SystemClock().steadyMs()).toBeGreaterThan(100_000);
  });

  it('that no byte left for is made again, and its scope is not stuck', async () => {
    const box = await boxOf(2);
    await paused(box);
    const pauses = await tried(box, withoutAnswer('local_resource', false, 'no ports left'));
    expect(pauses.trials()).toEqual([product]);
    expect(pauses.all).toMatchObject([{ scope: product, probes: 0 }]);
  });

  it('has a scope that an operator took over meanwhile no more', async () => {
    const box = await boxOf(2);
    await paused(box);
    const person = { scope: product, actor: 'cli:anna', reason: 'stocktaking', nowMs: 2 };
    const pauses = await tried(box, dropped, {
      duringCall: () => box.store.operator.pauseScope(person),
    });
    await pauses.refresh();
    expect(pauses.trials()).toEqual([]);
    expect(await stepsOf(box.store).openAttempt(box.claim({ trials: [product] }))).toBeNull();
    expect(pauses.all).toMatchObject([{ reason: 'manual', probeAtMs: null }]);
  });
});

describe('the trial of a paused scope', () => {
  it('of a balance takes turns between what it refused and what it did not refuse yet', async () => {
    const scope = 'balance:USD';
    const box = await boxOf(0);
    await box.accept(
      ['old', 'new', 'newer', 'newest'].map((variant) => line({ orderId: variant, variant })),
    );
    await stepsOf(box.store).closeAttempt(
      close(await box.opened(), { ...emptyBalance, dueAtMs: 2500 }),
    );
    const reason = 'insufficient_balance';
    await box.store.pauses.open({
      scope,
      reason,
      message: '',
      openedBy: 'worker',
      probeAtMs: 1,
      nowMs: 1,
    });
    const names: (string | null)[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const attempt = await box.opened({ nowMs: 3000 + turn, trials: [scope] });
      names.push(attempt.entry.variant);
      // The first one is due again for each further trial.
      const dueAtMs = attempt.entry.variant === 'old' ? 3000 : 99_000;
      await stepsOf(box.store).closeAttempt(close(attempt, { ...emptyBalance, dueAtMs }));
      await box.store.pauses.postponeProbe(scope, 3000 + turn);
    }
    expect(names.map((name) => name === 'old')).toEqual([false, true, false, true]);
  });

  it('of a family goes to a proven product, then to a new one, then to one that fails', async () => {
    const scope = 'family:gift_card';
    const box = await boxOf(0);
    await box.accept(
      ['failing', 'new', 'proven'].map((variant) => line({ orderId: variant, variant })),
    );
    const reason = 'answer_mismatch';
    await box.store.pauses.open({
      scope,
      reason,
      message: '',
      openedBy: 'worker',
      probeAtMs: 1,
      nowMs: 1,
    });
    const products = {
      isProven: (name: string) => name === 'variant:proven',
      isFailing: (name: string) => name === 'variant:failing',
      manyFail: () => false,
    };
    const names: (string | null)[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const attempt = await box.opened({ nowMs: 3000 + turn, trials: [scope], products });
      names.push(attempt.entry.variant);
      await stepsOf(box.store).closeAttempt(close(attempt, { ...emptyBalance, dueAtMs: 99_000 }));
    }
    expect(names).toEqual(['proven', 'new', 'failing']);
  });
});
