import { olderCopyPause } from '../core/decision/after-loss.ts';
import type { Probe, ProbeQuestion } from '../core/scopes/probe.ts';
import { budgetedRead, type CallDeps } from './budgeted-read.ts';
import type { WholesalePort } from './wholesale-port.ts';

export interface ApiCheckDeps extends CallDeps {
  readonly wholesale: Pick<WholesalePort, 'probe'>;
}

interface KeyCheck {
  readonly key: string;
  readonly verdict: Probe['verdict'] | 'no_slot';
  readonly outcome: string | null;
  readonly message: string;
}

/** How often a slot is tried to get while the budget is used up. */
const slotRetryMs = 250;

/**
 * Asks the API with each key whether it answers and accepts the key: one small read on the budget, two where the first cannot
 * tell. Spends no money, and never throws because of an answer.
 * @param asked.withinMs how long slots are waited for in all
 */
export async function checkApi(
  deps: ApiCheckDeps,
  asked: { keys: readonly string[]; withinMs: number; signal: AbortSignal },
): Promise<readonly KeyCheck[]> {
  // Nobody knows what a lost outbox left of the budget.
  const lost = (await deps.store.submission.pauses.all()).find(({ reason }) => reason === olderCopyPause);
  if (lost !== undefined)
    return asked.keys.map((key) => ({ key, verdict: 'no_slot', outcome: null, message: lost.message }));
  const untilMono = deps.clock.monoMs() + asked.withinMs;
  const checks: KeyCheck[] = [];
  for (const key of asked.keys) checks.push(await checkKey(deps, key, untilMono, asked.signal));
  return checks;
}

async function checkKey(deps: ApiCheckDeps, key: string, untilMono: number, signal: AbortSignal): Promise<KeyCheck> {
  const ask = (question: ProbeQuestion): Promise<Probe | null> => askWhenFree(deps, key, question, untilMono, signal);
  const first = await ask('lookup');
  const probe = (first?.verdict === 'cannot_tell' ? await ask('products') : null) ?? first;
  if (probe === null) {
    return { key, verdict: 'no_slot', outcome: null, message: 'the request budget of the key had no slot in time' };
  }
  const { verdict, outcome } = probe;
  return { key, verdict, outcome: outcome.row, message: outcome.message };
}

async function askWhenFree(
  deps: ApiCheckDeps,
  key: string,
  question: ProbeQuestion,
  untilMono: number,
  signal: AbortSignal,
): Promise<Probe | null> {
  for (;;) {
    const read = await budgetedRead(
      deps,
      {
        call: (keyValue) => deps.wholesale.probe({ question, keyValue, signal }),
        outcomeOf: ({ outcome }) => outcome,
      },
      () => deps.gate.takeForProbe(key),
    );
    if (read !== null) return read.answer;
    if (signal.aborted || deps.clock.monoMs() >= untilMono) return null;
    await deps.clock.sleep(slotRetryMs, signal);
  }
}
