import type { Clock } from '../core/clock.ts';

/**
 * Answers with the last reading while it is at most `forMs` old: a caller of health must not make
 * the worker count a long list all the time.
 */
export function keptAnswer<T>(read: () => T, forMs: number, clock: Pick<Clock, 'monoMs'>): () => T {
  let kept: { readonly answer: T; readonly untilMono: number } | null = null;
  return () => {
    const nowMono = clock.monoMs();
    if (kept === null || nowMono >= kept.untilMono)
      kept = { answer: read(), untilMono: nowMono + forMs };
    return kept.answer;
  };
}
