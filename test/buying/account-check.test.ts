import { stepsOf } from '../support/steps.ts';
import { expect, it, onTestFinished } from 'vitest';
import type { LookupOutcome } from '../../src/core/answers/outcome.ts';
import { keyOfOtherAccount } from '../../src/store/entries/pauses.ts';
import { AccountCheck } from '../../src/buying/proofs/account-check.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { HandClock } from '../support/hand-clock.ts';
import { answer, close, fulfilled, line, Outbox } from '../support/outbox.ts';

const inFlightWindowMs = 120_000;
const boughtAtMs = 1_000_000_000;

/** The key `main` bought orders; `spare` was never used, and finds none of them. */
async function boughtWithMain() {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  const steps = stepsOf(box.store);
  const clock = new HandClock(boughtAtMs);
  const asked: string[] = [];
  const lookUp = async ({
    key,
    keyValue,
  }: {
    key: string;
    keyValue: string;
  }): Promise<LookupOutcome> => {
    if (keyValue === 'value-spare') asked.push(key);
    return { kind: 'absent' };
  };
  const usual = attemptDeps(box.store, { lookUp });
  const deps = {
    ...usual,
    clock,
    gate: new BudgetGate(['main', 'spare'], { ...usual.limits, requests: 1000 }, clock),
    pauses: new Pauses({ ...usual, clock, retryTimeScale: 1 }),
    policy: { ...usual.policy, inFlightWindowMs },
    keyValue: (name: string) => `value-${name}`,
  };
  const keys = ['main', 'spare'].map((name) => ({ name, value: `value-${name}` }));
  await box.store.adoptKeys({ keys, nowMs: clock.wallMs(), whileRunning: false });
  await deps.lookups.recordFound('gift_card_order', deps.wholesale);
  const accounts = new AccountCheck();
  let orders = 0;
  return {
    deps,
    clock,
    asked,
    buy: async () => {
      orders += 1;
      await box.accept([line({ orderId: `o${orders}` })], null, clock.wallMs());
      const attempt = await box.opened({
        keyName: 'main',
        keyValue: 'value-main',
        nowMs: clock.wallMs(),
      });
      const shown = { ...answer, orderNumber: `N${orders}`, units: [{ code: `CODE-${orders}` }] };
      await steps.closeAttempt({
        ...close(attempt, { ...fulfilled, answer: shown }),
        nowMs: clock.wallMs(),
      });
      return attempt.entry.reference;
    },
    /** One round of the worker, so many ms later. */
    round: async (ms: number) => {
      clock.now += ms;
      await deps.pauses.refresh();
      await accounts.refresh(deps);
      await accounts.ask(deps, new AbortController().signal);
      return deps.pauses.all.map(({ scope, reason }) => `${scope} ${reason}`);
    },
  };
}

it('a key of another account is recognised although the clock was set back: the order seems to be of the future', async () => {
  const { buy, clock, round } = await boughtWithMain();
  await buy();
  clock.aheadMs -= 28 * 86_400_000;
  expect(await round(0)).toEqual([]);
  expect(await round(inFlightWindowMs - 1000)).toEqual([]);
  expect(await round(6000)).toEqual([`key:spare ${keyOfOtherAccount}`]);
});

it('a key of another account is recognised while another key buys all the time', async () => {
  const { buy, round } = await boughtWithMain();
  const first = await buy();
  const seen: (readonly string[])[] = [];
  for (let ms = 0; ms <= inFlightWindowMs; ms += 3000) {
    await buy();
    seen.push(await round(3000));
  }
  expect(first).not.toBe('');
  expect(seen.findIndex((pauses) => pauses.length > 0)).toBeGreaterThan(20);
  expect(seen.at(-1)).toEqual([`key:spare ${keyOfOtherAccount}`]);
});

it('a key of another account is shown as such soon after another pause of it ends', async () => {
  const { buy, deps, round } = await boughtWithMain();
  await buy();
  const denied = {
    scope: 'key:spare',
    reason: 'invalid_key',
    message: '',
    openedBy: 'worker',
    probeAtMs: null,
  };
  await deps.store.pauses.open({ ...denied, nowMs: boughtAtMs });
  await round(0);
  expect(await round(inFlightWindowMs)).toEqual(['key:spare invalid_key']);
  await deps.pauses.release({ ...denied, sinceMs: 1, probes: 0 }, 'the API answers again');
  await round(6000);
  expect(await round(0)).toEqual([`key:spare ${keyOfOtherAccount}`]);
});

it('a key of another account is asked every five minutes, and each time for the order that was just settled', async () => {
  const { buy, asked, round } = await boughtWithMain();
  await buy();
  await round(inFlightWindowMs);
  const before = asked.length;
  for (let second = 0; second < 290; second += 10) await round(10_000);
  expect(asked).toHaveLength(before);
  const last = await buy();
  await round(inFlightWindowMs);
  expect(asked.at(-1)).toBe(last);
});
