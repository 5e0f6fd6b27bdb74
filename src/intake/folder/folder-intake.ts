import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { WakeUp } from '../../ops/wake-up.ts';
import type { Store } from '../../store/store.ts';
import { claimFile, findUnfinishedJobs, reclaimFile } from './claim-file.ts';
import { newFileId } from './file-id.ts';
import { runFileJob } from './ingest-file.ts';
import { isFilesystemError } from './filesystem-error.ts';
import type { FolderSettings } from './settings.ts';
import { FolderReporter } from './folder-log.ts';
import { type InboxFile, listInbox } from './inbox.ts';
import { InboxWatcher } from './inbox-watcher.ts';
import { type ArchivedFile, LateWriters } from './archived-files.ts';
import { probeFolders } from './check-folders.ts';
import type { FileJob, FileJobContext, FileOutcome } from './finish-file.ts';
import { StableFiles } from './stable-files.ts';

/** What one look into the inbox brought. */
export interface ScanReport {
  /** Files brought to their end. */
  readonly ingested: number;
  readonly rejected: number;
  /** Files that were written to after they were taken: they are read again. */
  readonly changed: number;
  /** Files that are not ready yet, or wait for their marker. */
  readonly waiting: number;
  /** Files that could not be read or moved just now; they are tried again. */
  readonly deferred: number;
  /** Lines of the ingested files. */
  readonly lines: {
    readonly accepted: number;
    readonly known: number;
    readonly conflicts: number;
    readonly rejected: number;
  };
}

export interface FolderIntakeStatus {
  /** `degraded`: running, but something stands in the way; it is tried again. `failed`: stopped by an error. */
  readonly state: 'stopped' | 'running' | 'degraded' | 'failed';
  /** What stands in the way, in words; null when nothing does. */
  readonly degraded: string | null;
  /** Files in the inbox that are not ready yet. */
  readonly waiting: number;
  /** Files in the work folder that are to be taken up again. */
  readonly unfinished: number;
}

export interface FolderIntake {
  /** Proves that the folders can be used, takes up what an earlier run left, and begins to look. Throws FOLDER_UNUSABLE. */
  start(): Promise<void>;
  /** Ends after the batch in hand; a file half read is taken up again at the next start. May be called twice. */
  stop(): Promise<void>;
  /** Looks once, and brings every file that is ready to its end. */
  scanOnce(): Promise<ScanReport>;
  status(): FolderIntakeStatus;
  /** Takes up another pace, other limits and columns, from the next file on. The folders stay. */
  reload(config: FolderSettings): void;
  /** Rejects when the intake has stopped on an error of the store or of its own: nothing is taken in any more. */
  readonly failed: Promise<never>;
}

export interface FolderIntakeOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: FolderSettings;
  /** New lines are in the outbox. */
  readonly onAccepted?: () => void;
}

export function createFolderIntake(options: FolderIntakeOptions): FolderIntake {
  return new PolledFolder(options);
}

const retryMs = 60_000;
const shortestPauseMs = 100;

/** A folder that is looked into again and again; what is true is where a file is, never which event was seen. */
class PolledFolder implements FolderIntake {
  #options: FolderIntakeOptions;
  readonly #reporter: FolderReporter;
  readonly #stable: StableFiles;
  readonly #watcher: InboxWatcher;
  readonly #wakeUp: WakeUp;
  /** Jobs in the work folder, and when each may be taken up. */
  readonly #unfinished = new Map<string, { job: FileJob; dueMono: number }>();
  /** Files that we may not read, and when each is tried again. */
  readonly #unreadable = new Map<string, number>();
  readonly #begun = new Set<string>();
  readonly #lateWriters = new LateWriters();
  #stopping = new AbortController();
  #failure = Promise.withResolvers<never>();
  #prepared = false;
  #looping: Promise<void> | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #failed = false;

  constructor(options: FolderIntakeOptions) {
    const { config, logger } = options;
    this.#options = options;
    this.#reporter = new FolderReporter(logger);
    this.#stable = new StableFiles(config.stableObservations, config.stableMs);
    this.#wakeUp = new WakeUp(options.clock);
    this.#watcher = new InboxWatcher(config.inbox, () => this.#wakeUp.notify());
    this.#failure.promise.catch(() => undefined);
  }

  async start(): Promise<void> {
    if (this.#looping !== null) return;
    this.#stopping = new AbortController();
    this.#failed = false;
    await this.#prepare();
    this.#looping = this.#loop(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#watcher.close();
    this.#wakeUp.notify();
    await this.#looping;
    await this.#turn.catch(() => undefined);
    this.#looping = null;
  }

  scanOnce(): Promise<ScanReport> {
    const scan = this.#turn.then(async () => {
      await this.#prepare();
      return this.#scan();
    });
    this.#turn = scan.catch(() => undefined);
    return scan;
  }

  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  reload(config: FolderSettings): void {
    this.#options = { ...this.#options, config };
    this.#wakeUp.notify();
  }

  status(): FolderIntakeStatus {
    const problems = this.#reporter.problems();
    const degraded = problems.length === 0 ? null : problems.slice(0, 5).join(' ');
    const running = this.#looping === null ? 'stopped' : degraded === null ? 'running' : 'degraded';
    return {
      state: this.#failed ? 'failed' : running,
      degraded,
      waiting: this.#waiting,
      unfinished: this.#unfinished.size,
    };
  }

  async #loop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#watcher.listen();
      try {
        await this.scanOnce();
      } catch (error) {
        this.#failed = true;
        this.#watcher.close();
        this.#failure.reject(error);
        return;
      }
      const { clock, config } = this.#options;
      const pauseMs = Math.min(shortestPauseMs, config.scanIntervalMs);
      await clock.sleep(pauseMs, signal);
      if (!signal.aborted) await this.#wakeUp.wait(config.scanIntervalMs - pauseMs);
    }
  }

  async #prepare(): Promise<void> {
    if (this.#prepared) return;
    const { config, clock, store } = this.#options;
    await probeFolders(config, newFileId(clock));
    const { jobs, foreign } = await findUnfinishedJobs(config, store);
    for (const job of jobs) this.#unfinished.set(job.id, { job, dueMono: 0 });
    this.#reporter.prepared(jobs, foreign, config.work);
    this.#prepared = true;
  }

  async #scan(): Promise<ScanReport> {
    const { clock } = this.#options;
    const tally = new Tally();
    for (const file of await this.#lateWriters.find(clock.monoMs())) await this.#cancelUnsentResult(file, tally);
    const due = [...this.#unfinished.values()].filter(({ dueMono }) => dueMono <= clock.monoMs());
    for (const { job } of due) await this.#run(job, tally);

    const ready = await this.#readyFiles(tally);
    for (const file of ready) {
      if (this.#stopping.signal.aborted || !(await this.#hasRoom())) break;
      const job = await this.#claim(file, tally);
      if (job !== null) await this.#run(job, tally);
    }
    this.#waiting = tally.waiting;
    return tally;
  }

  async #readyFiles(tally: Tally): Promise<readonly InboxFile[]> {
    const { config, clock } = this.#options;
    try {
      const { files, marked } = await listInbox(config.inbox, config.ready === 'done_file');
      this.#reporter.solved('inbox');
      this.#forgetGone(files);
      const isMarked = (file: InboxFile): boolean => config.ready === 'stable' || marked.has(file.key);
      const stable = this.#stable.observe(files, clock.monoMs());
      this.#reporter.folders(stable.filter((file) => file.kind === 'folder').map((file) => file.name));
      const takeable = files.filter((file) => file.kind !== 'folder');
      const ready = stable.filter((file) => file.kind !== 'folder' && isMarked(file));
      tally.waiting = takeable.length - ready.length;
      return ready;
    } catch (error) {
      if (!isFilesystemError(error)) throw error;
      this.#watcher.close();
      this.#reporter.problem('inbox', `The inbox ${config.inbox} cannot be read: ${error.message}`);
      return [];
    }
  }

  /** A file that could not be taken and is not there any more is no problem any more. */
  #forgetGone(files: readonly InboxFile[]): void {
    if (this.#unreadable.size === 0) return;
    const present = new Set(files.map((file) => file.key));
    for (const key of [...this.#unreadable.keys()].filter((known) => !present.has(known))) {
      this.#unreadable.delete(key);
      this.#reporter.solved(`claim ${key}`);
    }
  }

  async #hasRoom(): Promise<boolean> {
    const { work, limits } = this.#options.config;
    const wanted = limits.minFreeBytes;
    const free = await freeBytes(work);
    if (free !== null && free >= wanted) {
      this.#reporter.solved('disk');
      return true;
    }
    const found = free === null ? 'The room left' : `Only ${Math.floor(free / 1_048_576)} MiB are free`;
    const message = `${found} on the disk of ${work}${free === null ? ' cannot be told' : ''}: no more files are taken.`;
    this.#reporter.problem('disk', message);
    return false;
  }

  async #claim(file: InboxFile, tally: Tally): Promise<FileJob | null> {
    const { config, clock } = this.#options;
    if ((this.#unreadable.get(file.key) ?? 0) > clock.monoMs()) {
      tally.deferred += 1;
      return null;
    }
    const topic = `claim ${file.key}`;
    try {
      const job = await claimFile(config, file, newFileId(clock));
      this.#unreadable.delete(file.key);
      this.#reporter.solved(topic);
      if (job !== null) this.#unfinished.set(job.id, { job, dueMono: 0 });
      return job;
    } catch (error) {
      if (!isFilesystemError(error)) throw error;
      tally.deferred += 1;
      this.#unreadable.set(file.key, clock.monoMs() + retryMs);
      this.#reporter.problem(topic, `The file ${file.name} cannot be taken from the inbox: ${error.message}`);
      return null;
    }
  }

  /** Takes a file from the archive again; lines of it that were accepted are known by now. */
  async #cancelUnsentResult(file: ArchivedFile, tally: Tally): Promise<void> {
    const { config, clock } = this.#options;
    const topic = `archive ${file.path}`;
    try {
      const job = await reclaimFile(config, file, newFileId(clock));
      this.#reporter.solved(topic);
      this.#reporter.lateWrite(job, file.path);
      tally.changed += 1;
      this.#unfinished.set(job.id, { job, dueMono: clock.monoMs() + config.stableMs });
    } catch (error) {
      if (!isFilesystemError(error)) throw error;
      this.#reporter.problem(
        topic,
        `The file ${file.path} was written to after it was archived, and cannot be taken back: ${error.message}`,
      );
    }
  }

  async #run(job: FileJob, tally: Tally): Promise<void> {
    const { config, clock, store, onAccepted = () => undefined } = this.#options;
    const { signal } = this.#stopping;
    const context: FileJobContext = { store, clock, config, onAccepted, begun: this.#begun, signal };
    const topic = `job ${job.id}`;
    try {
      const outcome = await runFileJob(context, job);
      this.#reporter.solved(topic);
      this.#reporter.outcome(outcome);
      if (outcome.kind === 'interrupted') return;
      this.#unfinished.delete(job.id);
      this.#begun.delete(job.id);
      // Its writer may not be done with it: it is given the time that a file in the inbox is given.
      if (outcome.kind === 'changed') {
        this.#unfinished.set(outcome.next.id, { job: outcome.next, dueMono: clock.monoMs() + config.stableMs });
      }
      if (outcome.kind === 'ingested' && outcome.archived !== null) {
        this.#lateWriters.watch({ ...outcome.archived, name: job.name }, clock.monoMs());
      }
      tally.add(outcome);
    } catch (error) {
      if (!isFilesystemError(error)) throw error;
      tally.deferred += 1;
      this.#unfinished.set(job.id, { job, dueMono: clock.monoMs() + retryMs });
      this.#reporter.problem(topic, `The file ${job.name} (${job.id}) cannot be dealt with: ${error.message}`);
    }
  }
}

async function freeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    if (isFilesystemError(error)) return null;
    throw error;
  }
}

class Tally implements ScanReport {
  ingested = 0;
  rejected = 0;
  changed = 0;
  waiting = 0;
  deferred = 0;
  readonly lines = { accepted: 0, known: 0, conflicts: 0, rejected: 0 };

  add(outcome: FileOutcome): void {
    if (outcome.kind === 'rejected') this.rejected += 1;
    if (outcome.kind === 'changed') this.changed += 1;
    if (outcome.kind !== 'ingested') return;
    this.ingested += 1;
    this.lines.accepted += outcome.row.acceptedCount;
    this.lines.known += outcome.row.knownCount;
    this.lines.conflicts += outcome.row.conflictCount;
    this.lines.rejected += outcome.row.rejectedCount;
  }
}
