import type { Clock } from '../core/clock.ts';

/**
 * Answers with the last reading while it is at most `forMs` old: a caller of health must not make
 * the worker count a long list all the time.
 */
export function keptAnswer<T>(
  read: () => T,
  forMs: number,
  clock: Pick<Clock, 'steadyMs'>,
): () => T {
  let kept: { readonly answer: T; readonly untilMs: number } | null = null;
  return () => {
    const steadyMs = clock.steadyMs();
    if (kept === null || steadyMs >= kept.untilMs)
      kept = { answer: read(), untilMs: steadyMs + forMs };
    return kept.answer;
  };
}
