import type { Logger } from 'pino';
import type { CheckStatus, HealthCheck } from '../admin/health-server.ts';
import type { Config } from '../config/config.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { codeOf } from '../core/order-sync-error.ts';
import { isOutboxBlocked } from '../ops/disk-guard.ts';
import { Loop } from '../ops/loop.ts';
import { onSchedule, type Schedule } from '../ops/schedule.ts';
import type { Store } from '../store/store.ts';
import { upkeepTasks, type UpkeepResult, type UpkeepTask } from '../store/sqlite/upkeep-results.ts';
import { runUpkeep } from './run-upkeep.ts';

interface UpkeepDeps {
  readonly config: Pick<Config, 'databasePath' | 'backup' | 'disk'>;
  readonly store: Pick<Store, 'upkeep' | 'fileSizes'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * After so long without a backup, one is made at the start: no worker ran at the scheduled time.
 */
const missedAfterMs = 36 * 3_600_000;
/** The work of the start comes first. */
const firstAfterMs = 60_000;
const longestWaitMs = 3_600_000;
/**
 * The log is usually below 20 MB: something that reads for very long keeps it from being emptied.
 */
const largeLogBytes = 268_435_456;

type Trouble = readonly [
  status: CheckStatus,
  details: { readonly reason: string; readonly next: string },
];

/**
 * Backs up the database and checks it, by schedule, in a process of its own. No work waits for it,
 * and its failures do not stop the worker: they are in the log, in health and in the metrics, and
 * the task is tried again at the next time.
 */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  readonly #loop: Loop;
  /** When the tasks are to be performed, in steady time. */
  #dueMs = Number.POSITIVE_INFINITY;
  readonly #results = new Map<UpkeepTask, UpkeepResult>();
  #schedule: Schedule | null = null;
  /** Why the last answer of `health` was not `pass`; null: it was. */
  #trouble: Trouble | null = null;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
    this.#loop = new Loop({ clock: deps.clock, round: () => this.#round() });
  }

  get healthCheck(): HealthCheck {
    return {
      name: 'upkeep',
      check: () => this.health(),
      details: () => this.#trouble?.[1] ?? null,
    };
  }

  get results(): ReadonlyMap<UpkeepTask, UpkeepResult> {
    return this.#results;
  }

  async health(): Promise<CheckStatus> {
    this.#trouble = this.#troubleOfResults() ?? (await this.#troubleOfLog());
    return this.#trouble?.[0] ?? 'pass';
  }

  async start(): Promise<void> {
    const { store, clock, config } = this.#deps;
    for (const task of upkeepTasks) {
      const last = await store.upkeep.last(task);
      if (last !== null) this.#results.set(task, last);
    }
    const { schedule } = config.backup;
    const doneAtMs = this.#results.get('backup')?.doneAtMs ?? null;
    const wasMissed = doneAtMs !== null && clock.wallMs() - doneAtMs > missedAfterMs;
    if (schedule !== null && wasMissed) this.#dueMs = clock.steadyMs() + firstAfterMs;
    if (schedule !== null) this.#schedule = onSchedule(schedule, () => this.#notify());
    this.#loop.start();
  }

  /** Ends what is under way: the next backup removes what is left of it. May be called again. */
  async stop(): Promise<void> {
    this.#schedule?.stop();
    await this.#loop.stop();
  }

  #notify(): void {
    this.#dueMs = this.#deps.clock.steadyMs();
    this.#loop.notify();
  }

  async #round(): Promise<number> {
    const leftMs = this.#dueMs - this.#deps.clock.steadyMs();
    if (leftMs > 0) return Math.min(longestWaitMs, leftMs);
    this.#dueMs = Number.POSITIVE_INFINITY;
    for (const task of upkeepTasks) if (!this.#loop.signal.aborted) await this.#perform(task);
    return 0;
  }

  async #perform(task: UpkeepTask): Promise<void> {
    const { clock, logger } = this.#deps;
    const startMs = clock.steadyMs();
    try {
      const found = task === 'backup' ? await this.#backUp() : await this.#check();
      const line = { task, duration_ms: Math.round(clock.steadyMs() - startMs), ...found };
      const isDamaged = 'problems' in found;
      if (isDamaged)
        logger.error(line, 'the database is damaged: restore a backup, see docs/operating.md');
      else logger.info(line, 'upkeep done');
      await this.#record(
        task,
        isDamaged ? 'damaged' : 'done',
        isDamaged ? 'DATABASE_UNSAFE' : null,
      );
    } catch (error) {
      if (this.#loop.signal.aborted) return;
      logger.error(
        { task, err: error },
        'the backup or check of the database failed: next try as scheduled',
      );
      await this.#record(task, 'failed', codeOf(error) ?? 'failed');
    }
  }

  async #backUp() {
    const { config, clock } = this.#deps;
    const settings = {
      ...config.backup,
      at: isoTime(clock.wallMs()),
      leaveFreeBytes: config.disk.minFreeBytes,
    };
    const { file, removed } = await runUpkeep(
      'backup',
      [config.databasePath, settings],
      this.#loop.signal,
    );
    return { file, removed };
  }

  async #check() {
    const { problems } = await runUpkeep(
      'check',
      [this.#deps.config.databasePath, true],
      this.#loop.signal,
    );
    return problems.length === 0 ? {} : { problems };
  }

  async #record(
    task: UpkeepTask,
    outcome: UpkeepResult['outcome'],
    code: string | null,
  ): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const atMs = clock.wallMs();
    const doneAtMs = outcome === 'done' ? atMs : (this.#results.get(task)?.doneAtMs ?? null);
    const result = { atMs, outcome, doneAtMs, code };
    this.#results.set(task, result);
    try {
      await store.upkeep.record(task, result);
    } catch (error) {
      // It is in memory, and in the log. A disk that cannot be written at all stops the worker at
      // the next order.
      if (!isOutboxBlocked(error))
        logger.error(
          { task, err: error },
          'the result of the backup or check could not be recorded',
        );
    }
  }

  #troubleOfResults(): Trouble | null {
    const check = this.#results.get('check');
    if (check?.outcome === 'damaged') {
      const next = 'see the log, and restore a backup: docs/operating.md';
      return ['fail', { reason: 'the check found damage in the database', next }];
    }
    const [failed, result] =
      [...this.#results].find(([, { outcome }]) => outcome === 'failed') ?? [];
    if (failed === undefined) return null;
    const code = result?.code ?? 'failed';
    const next = `the log says why; try again with \`order-sync db ${failed}\``;
    return ['warn', { reason: `the last ${failed} of the database failed (${code})`, next }];
  }

  async #troubleOfLog(): Promise<Trouble | null> {
    const { walBytes } = await this.#deps.store.fileSizes();
    if (walBytes <= largeLogBytes) return null;
    const next = 'close other programs that keep the database open';
    return ['warn', { reason: `the write-ahead log of the database has ${walBytes} bytes`, next }];
  }
}
