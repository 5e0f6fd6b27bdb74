import type { Attention } from '../../store/read/attention.ts';
import type { PauseEffect } from '../../store/read/pause-effects.ts';

/** The only place that says what rows hold up. Money and the oldest wait belong here, too. */
export function heldUpBy(rows: readonly Attention[], pauses: readonly PauseEffect[]) {
  const count = rows.reduce((sum, { scope, orderId }) => {
    const paused = pauses.find((pause) => pause.scope === scope)?.holdsUp ?? 0;
    return sum + paused + (orderId === null ? 0 : 1);
  }, 0);
  return { count, text: count === 0 ? '' : `${count} order line${count === 1 ? '' : 's'}` };
}
