import { decisionTable } from '../core/decision/decision-table.ts';
import type { Outcome } from '../core/decision/outcome.ts';
import type { AttemptDeps } from './attempt.ts';
import { pauseScope } from './pauses.ts';

/**
 * What turns a read away also turns orders away: no money is sent to a door that is known to be shut. For calls that
 * belong to no entry: probes, and the lookups that check whether lookups work.
 */
export async function pauseIfDenied(deps: AttemptDeps, keyName: string, outcome: Outcome): Promise<void> {
  const { store, pauses, clock } = deps;
  const { row, message } = outcome;
  const { pause } = decisionTable[row].clean;
  if (pause !== 'key' && pause !== 'account') return;
  if (pause === 'key' && deps.keyValue(keyName) === null) return;
  const probeAtMs = row === 'answer_mismatch' ? null : pauses.firstProbeAtMs(row);
  const scope = pauseScope(pause, keyName, null);
  await store.openPause({ scope, reason: row, message, openedBy: 'worker', probeAtMs, nowMs: clock.wallMs() });
  await pauses.refresh();
}
