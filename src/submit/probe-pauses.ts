import { olderCopyPause } from '../core/decision/after-loss.ts';
import type { Probe, ProbeQuestion } from '../core/scopes/probe.ts';
import { scopeFrom } from '../core/scopes/scope.ts';
import type { Pause } from '../store/submission/pauses.ts';
import { budgetedRead, type CallDeps } from './budgeted-read.ts';
import type { WholesalePort } from './wholesale-port.ts';

/** The dependencies of a probe. */
interface ProbeDeps extends CallDeps {
  readonly wholesale: Pick<WholesalePort, 'probe' | 'canLookUp'>;
}

/**
 * Probes every paused scope that is due for it.
 * @param onChange called after each scope that was probed
 */
export async function probeDuePauses(
  deps: ProbeDeps,
  options: { signal: AbortSignal; onChange: () => void },
): Promise<void> {
  const { pauses } = deps;
  for (const pause of pauses.toProbe()) {
    if (pause.reason === olderCopyPause) {
      await pauses.release(pause, 'the calls of the lost outbox have come to their end');
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
  deps: ProbeDeps,
  pause: Pause,
  signal: AbortSignal,
): Promise<{ answer: Probe; isKeyReplaced: boolean } | null> {
  const { gate, wholesale } = deps;
  const scope = scopeFrom(pause.scope);
  const ask = (question: ProbeQuestion): ReturnType<typeof budgetedRead<Probe>> =>
    budgetedRead(
      deps,
      { call: (keyValue) => wholesale.probe({ question, keyValue, signal }), outcomeOf: ({ outcome }) => outcome },
      () => (scope?.kind === 'key' ? gate.takeForProbe(scope.name) : gate.tryTake('read')),
    );
  const canLookUp = wholesale.canLookUp('gift_card') || wholesale.canLookUp('esim');
  // Without a slot for the second question, the first answer counts. So each question is the first one by turns.
  const startsWithProducts = !canLookUp || deps.pauses.unclearProbes(pause.scope) % 2 === 1;
  const first = await ask(startsWithProducts ? 'products' : 'lookup');
  if (first?.answer.verdict !== 'cannot_tell' || !canLookUp) return first;
  return (await ask(startsWithProducts ? 'lookup' : 'products')) ?? first;
}
