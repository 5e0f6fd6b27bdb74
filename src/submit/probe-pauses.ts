import type { Logger } from 'pino';
import type { Probe, ProbeQuestion } from '../core/decision/probe.ts';
import { budgetedRead, type CallDeps } from './budgeted-read.ts';
import type { TrialOrders } from './trial-orders.ts';
import type { WholesalePort } from './wholesale-port.ts';

/**
 * Probes every paused scope that is due. A balance and a family have no probe: the pause ends, and the next order is the
 * trial.
 * @param onChange called after each scope that was probed or resumed
 */
export async function probeDuePauses(
  deps: CallDeps & { readonly wholesale: Pick<WholesalePort, 'probe'>; readonly logger: Logger },
  options: { trials: TrialOrders; signal: AbortSignal; onChange: () => void },
): Promise<void> {
  const { pauses, gate, wholesale, logger } = deps;
  const { trials, signal, onChange } = options;
  for (const pause of pauses.due()) {
    const { scope } = pause;
    if (scope.startsWith('balance:') || scope.startsWith('family:')) {
      trials.begin(pause);
      await pauses.release(pause, 'tried again');
      onChange();
      continue;
    }
    const ask = (question: ProbeQuestion): ReturnType<typeof budgetedRead<Probe>> =>
      budgetedRead(
        deps,
        {
          call: (keyValue) => wholesale.probe({ question, keyValue, signal }),
          outcomeOf: ({ outcome }) => outcome,
        },
        () => (scope.startsWith('key:') ? gate.takeForProbe(scope.slice('key:'.length)) : gate.tryTake('read')),
      );
    const first = await ask('lookup');
    // Without a slot for the second question, the first answer counts.
    const read = (first?.answer.verdict === 'cannot_tell' ? await ask('products') : null) ?? first;
    // An answer to the old value of a key decides nothing: the scope stays due.
    if (read === null || read.isKeyReplaced) continue;
    const isResumed = await pauses.judge(pause, read.answer);
    onChange();
    logger.warn({ scope, outcome: read.answer.outcome.row }, isResumed ? 'scope resumed' : 'scope still paused');
  }
}
