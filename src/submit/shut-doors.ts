import { decisionTable } from '../core/decision-table.ts';
import type { Outcome } from '../core/outcome.ts';
import type { AttemptDeps } from './attempt-run.ts';
import { pauseScope } from './pause-board.ts';

/** How long to leave a key alone after a 429 that does not say how long (Spec 7: "Wait a few seconds, retry."). */
const turnedAwayMs = 5000;

/**
 * What turns a read away also turns orders away: no money is sent to a door that is known to be shut. For calls that
 * belong to no entry: probes, and the lookups that check whether lookups work.
 */
export async function heedRefusal(deps: AttemptDeps, keyName: string, outcome: Outcome): Promise<void> {
  const { store, gate, pauses, clock } = deps;
  const { row, message, retryAfterMs } = outcome;
  if (row === 'rate_limited') gate.turnedAway(keyName, clock.monoMs() + (retryAfterMs ?? turnedAwayMs));
  const { pause } = decisionTable[row].clean;
  if (pause !== 'key' && pause !== 'account') return;
  const probeAtMs = row === 'answer_mismatch' ? null : pauses.firstProbeAtMs(row);
  const scope = pauseScope(pause, keyName, null);
  await store.openPause({ scope, reason: row, message, openedBy: 'worker', probeAtMs, nowMs: clock.wallMs() });
  await pauses.refresh();
}
