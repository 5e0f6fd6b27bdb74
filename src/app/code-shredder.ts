import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { repeatWhileDiskIsFull } from '../ops/full-disk.ts';
import type { ShredCursor, ShredProgress, ShredRequest } from '../store/sealing/code-retention.ts';
import type { Store } from '../store/store.ts';
import type { ApiClock } from '../submit/api-clock.ts';

const lookedAtOnce = 50;
const shortestPauseMs = 2;
const emptiedEveryMs = 1000;
const dayMs = 86_400_000;

interface ShredderDeps {
  readonly store: Pick<Store, 'codeRetention' | 'sealing'>;
  readonly clock: Clock;
  /** A clock that is wrong could shred what is new: then nothing is shredded. */
  readonly apiClock: Pick<ApiClock, 'read'>;
  readonly logger: Logger;
  /** For how many days delivered codes are kept. */
  readonly codesDays: number;
}

/** Shreds codes that were kept for long enough, in small steps. */
export async function shredOldCodes(deps: ShredderDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, apiClock, logger, codesDays } = deps;
  if (apiClock.read().verdict === 'wrong') {
    logger.warn('no codes are shredded, because the clock of this machine is wrong');
    return;
  }
  const nowMs = clock.wallMs();
  const request = {
    nowMs,
    beforeMs: nowMs - codesDays * dayMs,
    reason: `kept for ${codesDays} days (retention.codes_days)`,
  };
  let shredded = 0;
  let after: ShredCursor | null = null;
  do {
    const startMono = clock.monoMs();
    const step: ShredRequest = { ...request, after, limit: lookedAtOnce };
    const done: ShredProgress = await repeatWhileDiskIsFull(() => store.codeRetention.shredNext(step), {
      clock,
      signal,
    });
    shredded += done.shredded;
    after = done.next;
    await clock.sleep(Math.max(shortestPauseMs, clock.monoMs() - startMono), signal);
  } while (after !== null && !signal.aborted);
  if (shredded === 0) return;
  // Until then it has the codes as they were.
  while (!signal.aborted && !(await store.sealing.emptyLog())) await clock.sleep(emptiedEveryMs, signal);
  logger.info({ entries: shredded, days: codesDays }, 'codes were shredded');
}
