import { isoTime, type Clock } from '../core/clock.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';
import type { PauseEffect } from '../store/read/pause-effects.ts';
import { keptAnswer } from './kept-answer.ts';

/** So many are shown; the rest is counted. */
const mostShown = 50;
/** How old an answer may be, in ms. */
const keptForMs = 1000;

/** What `/healthz` shows of the pauses. Their messages are left out: they may have what the API wrote. */
export interface ShownPauses {
  readonly pauses: readonly {
    readonly scope: string;
    readonly reason: string;
    readonly since: string;
    readonly holds_up: number;
  }[];
  readonly pauses_not_shown: number;
}

/** Shows the pauses that hold up the most. An answer may be a second old. */
export function pausesShown(read: Pick<OutboxReader, 'pauses'>, clock: Pick<Clock, 'monoMs'>): () => ShownPauses {
  return keptAnswer(() => shownOf(read.pauses()), keptForMs, clock);
}

function shownOf(all: readonly PauseEffect[]): ShownPauses {
  const shown = all.toSorted((a, b) => b.holdsUp - a.holdsUp || a.sinceMs - b.sinceMs).slice(0, mostShown);
  return {
    pauses: shown.map(({ scope, reason, sinceMs, holdsUp }) => ({
      scope,
      reason,
      since: isoTime(sinceMs),
      holds_up: holdsUp,
    })),
    pauses_not_shown: all.length - shown.length,
  };
}
