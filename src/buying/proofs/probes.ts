import { olderCopyPause } from '../../core/entry/after-loss.ts';
import type { ResultOf } from '../../core/operator/operator-command.ts';
import type { Probe, ProbeQuestion } from '../../core/answers/probe.ts';
import { keyScope, scopeFrom } from '../../core/order/scope.ts';
import { keyOfOtherAccount } from '../../store/entries/pauses.ts';
import type { Pause } from '../../store/entries/pauses.ts';
import type { AccountCheck, AccountDeps } from './account-check.ts';
import { budgetedProbe, readWhenFree, type ProbeDeps } from './budgeted-read.ts';
import type { WholesalePort } from '../../wholesale/wholesale-port.ts';

interface PauseProbeDeps extends ProbeDeps {
  readonly wholesale: Pick<WholesalePort, 'probe' | 'canLookUp'>;
}

/**
 * Probes every paused scope that is due for it.
 * @param onChange called after each scope that was probed
 */
export async function probeDuePauses(
  deps: PauseProbeDeps,
  options: { signal: AbortSignal; onChange: () => void },
): Promise<void> {
  const { pauses } = deps;
  for (const pause of pauses.toProbe()) {
    if (pause.reason === olderCopyPause) {
      await pauses.release(pause, 'the calls of the lost outbox are over');
      options.onChange();
      continue;
    }
    const read = await askFor(deps, pause, options.signal);
    // An answer to the old value of a key decides nothing: the scope stays due.
    if (read === null || read.isKeyReplaced) continue;
    await pauses.judgeProbe(pause, read.answer);
    options.onChange();
  }
}

/** Asks whether the API answers. Null: no slot was free, and nothing was asked. */
async function askFor(
  deps: PauseProbeDeps,
  pause: Pause,
  signal: AbortSignal,
): ReturnType<typeof budgetedProbe> {
  const { wholesale, pauses } = deps;
  const scope = scopeFrom(pause.scope);
  const keyName = scope?.kind === 'key' ? scope.name : undefined;
  const ask = (question: ProbeQuestion) => budgetedProbe(deps, question, signal, keyName);
  const canLookUp = wholesale.canLookUp('gift_card') || wholesale.canLookUp('esim');
  // Without a slot for the second question, the first answer counts. So each question is the first
  // one by turns.
  const startsWithProducts = !canLookUp || pauses.unclearProbes(pause.scope) % 2 === 1;
  const first = await ask(startsWithProducts ? 'products' : 'lookup');
  if (first?.answer.verdict !== 'cannot_tell' || !canLookUp) return first;
  return (await ask(startsWithProducts ? 'lookup' : 'products')) ?? first;
}

type KeyCheck = ResultOf<'api'>['keys'][number];

/**
 * Whether the API answers there, by a lookup that must find nothing, and by the catalogue where
 * that alone proves nothing: an API may answer a path that it does not have as it answers an order
 * that it does not have.
 * @param ask null: no slot was free
 * @param trustsLookups whether a lookup has found an order before
 */
async function askWhetherOpen(
  ask: (question: ProbeQuestion) => Promise<Probe | null>,
  trustsLookups: boolean,
): Promise<Omit<KeyCheck, 'key'>> {
  const lookup = await ask('lookup');
  const isAbsent = lookup?.outcome.row === 'not_found' && !trustsLookups;
  const catalogue = isAbsent || lookup?.verdict === 'cannot_tell' ? await ask('products') : null;
  const probe =
    catalogue === null || (isAbsent && catalogue.verdict === 'cannot_tell') ? lookup : catalogue;
  if (probe === null)
    return {
      verdict: 'no_slot',
      outcome: null,
      message: 'the request budget of the key had no free slot in time',
    };
  const { row, message } = probe.outcome;
  if (isAbsent && catalogue?.outcome.row === 'not_found')
    return {
      verdict: 'closed',
      outcome: row,
      message: 'at the configured address, the API knows neither orders nor a catalogue',
    };
  const currencies = catalogue === null ? undefined : (catalogue.currencies ?? null);
  return { verdict: probe.verdict, outcome: row, message, currencies };
}

/**
 * Asks the API with each key whether it answers and accepts the key: one or two small reads on the
 * budget, and one more with a key that was never used (see `AccountCheck`). Spends no money, and
 * never throws because of an answer.
 * @param asked.withinMs how long slots are waited for in all
 */
export async function checkApi(
  deps: AccountDeps &
    ProbeDeps & { readonly wholesale: WholesalePort; readonly accounts: AccountCheck },
  asked: { keys: readonly string[]; withinMs: number; signal: AbortSignal },
): Promise<readonly KeyCheck[]> {
  const { store, clock } = deps;
  // Nobody knows what a lost outbox left of the budget.
  const lost = (await store.pauses.all()).find(({ reason }) => reason === olderCopyPause);
  if (lost !== undefined)
    return asked.keys.map((key) => ({
      key,
      verdict: 'no_slot',
      outcome: null,
      message: lost.message,
    }));
  const untilMs = clock.steadyMs() + asked.withinMs;
  const ask = (key: string, question: ProbeQuestion): Promise<Probe | null> =>
    readWhenFree(
      clock,
      () => budgetedProbe(deps, question, asked.signal, key),
      untilMs,
      asked.signal,
    );
  await deps.lookups.refresh();
  const trusts = deps.lookups.hasFound('gift_card_order', deps.wholesale);
  const checks: KeyCheck[] = [];
  for (const key of asked.keys) {
    checks.push({ key, ...(await askWhetherOpen((question) => ask(key, question), trusts)) });
  }
  await deps.pauses.refresh();
  await deps.accounts.refresh(deps);
  await deps.accounts.ask(deps, asked.signal);
  return checks.map((check) => {
    const other = deps.pauses.all.find(
      (it) => it.scope === keyScope(check.key) && it.reason === keyOfOtherAccount,
    );
    return other === undefined
      ? check
      : { ...check, verdict: 'closed', outcome: other.reason, message: other.message };
  });
}
