import { affectedText, type Affected } from '../../core/operator/affected.ts';
import type { Attention } from '../../store/read/attention.ts';
import type { PauseEffect } from '../../store/read/pause-effects.ts';

/** What entries cost, by their references; null: only their number is wanted. */
export type ReadAffected = ((references: readonly string[]) => Affected) | null;

/** The only place that says what rows hold up. */
export function heldUpBy(
  rows: readonly Attention[],
  pauses: readonly PauseEffect[],
  affectedBy: ReadAffected,
  nowMs: number,
) {
  const paused = rows.flatMap(({ scope }) => pauses.find((pause) => pause.scope === scope) ?? []);
  const ofOrders = rows.filter(({ orderId }) => orderId !== null);
  const count = paused.reduce((sum, { holdsUp }) => sum + holdsUp, ofOrders.length);
  if (count === 0) return { count, text: '' };
  const references = ofOrders.flatMap(({ reference }) => reference ?? []);
  const costs =
    affectedBy === null
      ? []
      : [...paused.map(({ affects }) => affects()), affectedBy(references)]
          .map((affected) => affectedText(affected, nowMs))
          .filter((text) => text !== '');
  const lines = `${count} order line${count === 1 ? '' : 's'}`;
  return { count, text: costs.length === 0 ? lines : costs.join('; ') };
}
