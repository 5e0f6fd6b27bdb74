import type { Clock } from '../core/clock.ts';
import type { SealProgress, Sealing } from '../store/sealing/sealing.ts';

/** A transaction of so many entries takes a few ms, and others wait for it. */
const sealedAtOnce = 100;
const shortestPauseMs = 2;

/**
 * Seals units again with the first key, in small steps. Between two of them it pauses for as long
 * as the last one took, so orders are delayed by one step at most.
 * @param most so many entries, or up to a step more
 */
export async function sealAgain(
  sealing: Sealing,
  clock: Pick<Clock, 'steadyMs' | 'sleep'>,
  most: number,
  signal?: AbortSignal,
): Promise<SealProgress> {
  let sealed = 0;
  let more = true;
  const unreadable: string[] = [];
  while (more && sealed + unreadable.length < most) {
    if (signal?.aborted === true) break;
    const startMs = clock.steadyMs();
    const step = await sealing.sealNext(sealedAtOnce);
    sealed += step.sealed;
    unreadable.push(...step.unreadable);
    more = step.more;
    await clock.sleep(Math.max(shortestPauseMs, clock.steadyMs() - startMs), signal);
  }
  return { sealed, unreadable, more };
}
