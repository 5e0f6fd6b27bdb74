import type { Logger } from 'pino';
import { sealAgain } from '../admin/seal-again.ts';
import type { Clock } from '../core/clock.ts';
import { repeatWhileBlocked } from '../ops/disk-guard.ts';
import { Loop } from '../ops/loop.ts';
import { onSchedule, type Schedule } from '../ops/schedule.ts';
import { removeOldResults } from '../results/old-results.ts';
import type { ShredCursor, ShredProgress, ShredRequest } from '../store/sealing/codes.ts';
import type { Store } from '../store/store.ts';
import type { ApiClock } from '../buying/proofs/api-clock.ts';
import type { PartDeps, WorkerParts } from './worker-deps.ts';

/** In UTC. */
const nightlyAt = '17 3 * * *';
const longestWaitMs = 3_600_000;
const sealedBetweenLogs = 10_000;
const lookedAtOnce = 50;
const shortestPauseMs = 2;
const emptiedEveryMs = 1000;
const dayMs = 86_400_000;

/**
 * Builds the jobs that run at each start and every night: codes are sealed and shredded, and old
 * files removed.
 */
export function nightlyJobs(
  deps: PartDeps,
  { store, submission: { apiClock }, results: { resultFolder } }: WorkerParts,
): readonly Loop[] {
  const { clock, config } = deps;
  const { codesDays } = config.retention;
  const { keepDays } = config.results;
  const logger = deps.logger.child({ component: 'sealing' });
  const jobs = [nightly(clock, (signal) => sealCodes({ store, clock, logger }, signal))];
  const removeAnswers = async (signal: AbortSignal): Promise<void> => {
    await repeatWhileBlocked(() => store.answers.removeOld(clock.wallMs()), { clock, signal });
  };
  jobs.push(nightly(clock, removeAnswers));
  if (codesDays !== null) {
    const shredder = { store, clock, apiClock, logger, codesDays };
    jobs.push(nightly(clock, (signal) => shredOldCodes(shredder, signal)));
  }
  if (keepDays !== null) {
    const folder = {
      folder: resultFolder,
      keepDays,
      logger: deps.logger.child({ component: 'results' }),
    };
    jobs.push(
      nightly(clock, (signal) => removeOldResults({ store, clock, apiClock, ...folder }, signal)),
    );
  }
  return jobs;
}

/**
 * Runs a step at the start and every night, one at a time. It stops early when the signal aborts.
 */
function nightly(clock: Clock, run: (signal: AbortSignal) => Promise<void>): Loop {
  let isDue = true;
  let schedule: Schedule | null = null;
  const round = async (signal: AbortSignal): Promise<number> => {
    if (isDue) await run(signal);
    isDue = false;
    if (schedule !== null || signal.aborted) return longestWaitMs;
    const started = onSchedule(nightlyAt, () => {
      isDue = true;
      loop.notify();
    });
    signal.addEventListener('abort', () => started.stop());
    schedule = started;
    return longestWaitMs;
  };
  const loop = new Loop({ clock, round });
  return loop;
}

interface SealingDeps {
  readonly store: Pick<Store, 'sealing'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Seals what is in clear and what older keys have sealed. A worker that is killed meanwhile
 * continues at its next start.
 */
async function sealCodes(deps: SealingDeps, signal: AbortSignal): Promise<void> {
  const { clock, logger } = deps;
  const { sealing } = deps.store;
  let sealed = 0;
  let more = true;
  while (more && !signal.aborted) {
    const step = () => sealAgain(sealing, clock, sealedBetweenLogs, signal);
    const { unreadable, ...done } = await repeatWhileBlocked(step, { clock, signal });
    ({ more } = done);
    sealed += done.sealed;
    const lost = { references: unreadable.slice(0, 20), count: unreadable.length };
    if (lost.count > 0)
      logger.error(lost, 'sealed codes cannot be decrypted: they were damaged or moved');
    if (more)
      logger.info(
        { entries: sealed, seals_with: sealing.sealsWith },
        'sealing codes with the first key',
      );
  }
  if (sealed === 0) return;
  await emptyLog(deps, signal);
  if (!more)
    logger.info(
      { entries: sealed, seals_with: sealing.sealsWith },
      'all codes are sealed with the first key',
    );
}

/** Until then the write-ahead log has the codes as they were. */
async function emptyLog(
  { store: { sealing }, clock }: SealingDeps,
  signal: AbortSignal,
): Promise<void> {
  const isEmpty = (): Promise<boolean> =>
    repeatWhileBlocked(() => sealing.emptyLog(), { clock, signal });
  while (!signal.aborted && !(await isEmpty())) await clock.sleep(emptiedEveryMs, signal);
}

interface ShredderDeps extends SealingDeps {
  readonly store: Pick<Store, 'codeRetention' | 'sealing'>;
  /** A clock that is wrong could shred what is new: then nothing is shredded. */
  readonly apiClock: Pick<ApiClock, 'read'>;
  readonly codesDays: number;
}

async function shredOldCodes(deps: ShredderDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, apiClock, logger, codesDays } = deps;
  if (apiClock.read().verdict === 'wrong') {
    logger.warn('no codes are shredded, because the clock of this machine is wrong');
    return;
  }
  const nowMs = clock.wallMs();
  const reason = `kept for ${codesDays} days (retention.codes_days)`;
  const request = { nowMs, beforeMs: nowMs - codesDays * dayMs, reason, limit: lookedAtOnce };
  let shredded = 0;
  let after: ShredCursor | null = null;
  do {
    const startMs = clock.steadyMs();
    const step: ShredRequest = { ...request, after };
    const shred = (): Promise<ShredProgress> => store.codeRetention.shredNext(step);
    const done = await repeatWhileBlocked(shred, { clock, signal });
    shredded += done.shredded;
    after = done.next;
    await clock.sleep(Math.max(shortestPauseMs, clock.steadyMs() - startMs), signal);
  } while (after !== null && !signal.aborted);
  if (shredded === 0) return;
  await emptyLog(deps, signal);
  logger.info({ entries: shredded, days: codesDays }, 'codes were shredded');
}
