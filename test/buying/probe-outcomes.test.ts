import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { withoutAnswer } from '../../src/core/answers/outcome.ts';
import type { ProbeQuestion } from '../../src/core/answers/probe.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import { probeDuePauses } from '../../src/buying/proofs/probes.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { Outbox } from '../support/outbox.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

/** A paused account whose probe is due. */
async function pausedAccount() {
  outbox = await Outbox.open();
  const { store } = outbox;
  const clock = new SystemClock();
  const pauses = new Pauses({
    store,
    clock,
    random: () => 0.5,
    retryTimeScale: 1,
    logger: pino({ level: 'silent' }),
  });
  const pause = {
    scope: 'account',
    reason: 'api_disabled',
    message: '',
    openedBy: 'worker',
    probeAtMs: 1,
    nowMs: 1,
  };
  await store.pauses.open(pause);
  await pauses.refresh();
  const [due] = pauses.toProbe();
  if (due === undefined) throw new Error('no pause is due');
  return { pauses, due, store, clock };
}

describe('a paused scope', () => {
  it.each(['open', 'closed', 'cannot_tell'] as const)(
    'is resumed only when its probe is open: %s',
    async (verdict) => {
      const { pauses, due } = await pausedAccount();
      const outcome = withoutAnswer('accepted', true, '');
      expect(await pauses.judgeProbe(due, { outcome, verdict })).toBe(verdict === 'open');
      expect(pauses.isAccountPaused()).toBe(verdict !== 'open');
    },
  );

  it.each([
    { lookup: 'open', products: 'closed', asked: ['lookup'], isResumed: true },
    { lookup: 'closed', products: 'open', asked: ['lookup'], isResumed: false },
    { lookup: 'cannot_tell', products: 'open', asked: ['lookup', 'products'], isResumed: true },
    {
      lookup: 'cannot_tell',
      products: 'cannot_tell',
      asked: ['lookup', 'products'],
      isResumed: false,
    },
  ] as const)(
    'is probed by a lookup first, and by the products where that cannot tell: $lookup, $products',
    async ({ asked, isResumed, ...verdicts }) => {
      const { pauses, due, store } = await pausedAccount();
      const questions: ProbeQuestion[] = [];
      const deps = attemptDeps(store, {
        probe: async ({ question }) => {
          questions.push(question);
          return { outcome: withoutAnswer('accepted', true, ''), verdict: verdicts[question] };
        },
      });
      const { signal } = new AbortController();
      await probeDuePauses({ ...deps, pauses }, { signal, onChange: () => undefined });
      expect(questions).toEqual(asked);
      expect((await store.pauses.all()).some((pause) => pause.scope === due.scope)).toBe(
        !isResumed,
      );
    },
  );

  it('is probed again later when the API still denies it, also after a restart', async () => {
    const { pauses, due, store, clock } = await pausedAccount();
    // A stored time is a whole number.
    const before = Math.floor(clock.steadyMs());
    await pauses.judgeProbe(due, {
      outcome: withoutAnswer('api_disabled', true, ''),
      verdict: 'closed',
    });
    expect(pauses.toProbe()).toEqual([]);
    const [stored] = await store.pauses.all();
    expect(stored).toMatchObject({ scope: 'account', probes: 1 });
    // The second delay: twice the first one.
    expect(stored?.probeAtMs).toBeGreaterThanOrEqual(before + 60_000);
  });
});
