import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { hasCode } from '../../core/order-sync-error.ts';
import { isOutboxBlocked, repeatWhileBlocked } from '../../ops/disk-guard.ts';
import { Loop } from '../../ops/loop.ts';
import type { AcceptedLines } from '../../store/intake/intake.ts';
import type { Store } from '../../store/store.ts';
import type { OpenSkuMap, SkuSource } from '../orders/sku-source.ts';
import {
  type ArchivedFile,
  ArchivedFiles,
  type FileContext,
  type FileOutcome,
} from './finish-file.ts';
import { type ClaimedFile, claimFile, findUnfinishedFiles, reclaimFile } from './claim-file.ts';
import { newFileId } from './file-names.ts';
import { checkFolders, isFilesystemError } from './filesystem.ts';
import { FolderLog } from './folder-log.ts';
import { type InboxFile, listInbox, StableFiles } from './inbox.ts';
import { ingestFile } from './ingest-file.ts';
import { readCsvFormat } from '../orders/csv-formats.ts';
import type { CsvFormat } from '../orders/settings.ts';
import type { FolderSettings } from './settings.ts';

class ScanReport {
  ingested = 0;
  rejected = 0;
  /** Files that were written to after they were taken; they will be read again. */
  changed = 0;
  /** Files that are not ready yet, or have no marker yet. */
  waiting = 0;
  unfinished = 0;
  /** Files that could not be read or moved; they will be tried again. */
  deferred = 0;
  readonly lines = { accepted: 0, known: 0, conflicts: 0, rejected: 0 };

  add(outcome: Exclude<FileOutcome, { kind: 'interrupted' }>): void {
    this[outcome.kind] += 1;
    if (outcome.kind !== 'ingested') return;
    for (const kind of ['accepted', 'known', 'conflicts', 'rejected'] as const)
      this.lines[kind] += outcome.lines[kind];
  }
}

interface FolderIntakeOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: FolderSettings;
  readonly openSkuMap: OpenSkuMap;
  /** Whether the disk has space for new orders. */
  readonly hasSpace: () => Promise<boolean>;
  /** The outbox has new lines, or lines that it knows came again. */
  readonly onAccepted: (lines: AcceptedLines) => void;
  /** Counts the files that were read to their end, or as far as the stop of the worker allowed. */
  readonly onFileEnded: (outcome: FileOutcome['kind']) => void;
}

const retryMs = 60_000;
const fullDiskRetryMs = 1000;

/**
 * Takes in order files by scanning a folder again and again. Where a file is tells how far it was
 * processed.
 */
export class FolderIntake {
  #options: FolderIntakeOptions;
  #skus: SkuSource | null;
  #format: CsvFormat;
  readonly #log: FolderLog;
  readonly #stable: StableFiles;
  readonly #loop: Loop;
  /** Files in the work folder by id, and when to process each of them. */
  readonly #unfinished = new Map<string, { file: ClaimedFile; dueMs: number }>();
  /** Files in the inbox that could not be claimed by key, and when to try each of them again. */
  readonly #unclaimable = new Map<string, number>();
  readonly #begun = new Set<string>();
  readonly #archived = new ArchivedFiles();
  #prepared = false;
  /**
   * A move failed, perhaps after its rename: the work folder may have a file that is not in
   * `#unfinished`.
   */
  #mayHaveMore = false;
  #lastScan: Promise<unknown> = Promise.resolve();

  /** @throws OrderSyncError CONFIG_INVALID when the SKU map or the format cannot be used */
  constructor(options: FolderIntakeOptions) {
    const { config, clock, logger } = options;
    this.#options = options;
    this.#skus = options.openSkuMap(config.skuMap);
    this.#format = readCsvFormat(config);
    this.#log = new FolderLog(logger);
    this.#stable = new StableFiles(config);
    this.#loop = new Loop({ clock, round: () => this.#round() });
  }

  /**
   * Takes up what an earlier run did not finish, and starts to scan.
   * @throws OrderSyncError FOLDER_UNUSABLE when the folders cannot be used; until it is stopped, it
   * tries again
   */
  async start(): Promise<void> {
    try {
      await this.#prepare();
    } finally {
      this.#loop.start();
    }
  }

  /**
   * Stops after the current batch; a file that was read in part is resumed at the next start. May
   * be called twice.
   */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#lastScan;
  }

  scanOnce(): Promise<ScanReport> {
    const scan = this.#lastScan.then(async () => {
      await this.#prepare();
      return this.#scan();
    });
    this.#lastScan = scan.catch(() => undefined);
    return scan;
  }

  /**
   * Rejects when an error of the store or of the intake has stopped it: no more files are taken.
   */
  get failed(): Promise<never> {
    return this.#loop.failed;
  }

  /**
   * Prepares another scan interval, limits, columns, balance and SKU map, and returns a function
   * that uses them from the next file on. The folders stay the same. Throws CONFIG_INVALID when the
   * SKU map or the format cannot be used.
   */
  prepare(config: FolderSettings): () => void {
    const isSame = config.skuMap === this.#options.config.skuMap;
    const skus = isSame ? this.#skus : this.#options.openSkuMap(config.skuMap);
    const format = readCsvFormat(config);
    return () => {
      this.#options = { ...this.#options, config };
      this.#skus = skus;
      this.#format = format;
      this.#loop.notify();
    };
  }

  /** `degraded`: the problems with which it runs, and what it tries again; null: there is none. */
  status(): { readonly name: string; readonly degraded: string | null } {
    const skuProblem = this.#skus?.problem ?? null;
    const problems = [...this.#log.problems()];
    if (skuProblem !== null) problems.push(`The changed SKU map is not in use: ${skuProblem}`);
    const degraded = problems.length === 0 ? null : problems.slice(0, 5).join(' ');
    return { name: this.#options.config.name, degraded };
  }

  async #round(): Promise<number> {
    const isUsable = this.#attempt('folders', 'The folder cannot be used', () => this.#prepare());
    if (await isUsable) await this.scanOnce();
    return this.#options.config.scanIntervalMs;
  }

  async #prepare(): Promise<true> {
    if (this.#prepared) return true;
    const { config, clock } = this.#options;
    await checkFolders(config, newFileId(clock));
    this.#log.foreign(await this.#resumeUnfinished(), config.work);
    this.#prepared = true;
    return true;
  }

  /**
   * Takes up the files in the work folder that are not known yet. Returns the names there that it
   * did not write.
   */
  async #resumeUnfinished(): Promise<readonly string[]> {
    const { config, store } = this.#options;
    const { unfinished, foreign } = await findUnfinishedFiles(config, store.intake.files);
    const unknown = unfinished.filter(({ id }) => !this.#unfinished.has(id));
    for (const file of unknown) this.#unfinished.set(file.id, { file, dueMs: 0 });
    this.#log.resumed(unknown.length);
    return foreign;
  }

  /** A file that was moved, although the move failed, would otherwise wait for the next start. */
  async #findMore(): Promise<void> {
    if (!this.#mayHaveMore) return;
    const message = `The work folder ${this.#options.config.work} cannot be read`;
    this.#mayHaveMore =
      (await this.#attempt('work', message, () => this.#resumeUnfinished())) === undefined;
  }

  /**
   * Undefined when the files or the disk prevent it: then it is tried again later, and the problem
   * lasts until it succeeds.
   */
  async #attempt<T>(
    topic: string,
    message: string,
    work: () => Promise<T>,
    onFailure: (error: Error) => void = () => undefined,
  ): Promise<T | undefined> {
    try {
      const result = await work();
      this.#log.solved(topic);
      return result;
    } catch (error) {
      if (
        !isFilesystemError(error) &&
        !isOutboxBlocked(error) &&
        !hasCode(error, 'FOLDER_UNUSABLE')
      )
        throw error;
      this.#log.problem(topic, `${message}: ${error.message}`);
      onFailure(error);
      return undefined;
    }
  }

  async #scan(): Promise<ScanReport> {
    const { clock } = this.#options;
    const report = new ScanReport();
    await this.#findMore();
    for (const file of await this.#lateWrites()) await this.#reclaim(file, report);
    const due = [...this.#unfinished.values()].filter(({ dueMs }) => dueMs <= clock.steadyMs());
    // Without space a file would be read again and again, up to its first new order.
    if (await this.#hasDiskSpace()) for (const { file } of due) await this.#ingest(file, report);

    for (const ready of await this.#readyFiles(report)) {
      if (this.#loop.signal.aborted || !(await this.#hasDiskSpace())) break;
      const file = await this.#claim(ready, report);
      if (file !== null && (await this.#ingest(file, report)) === 'unfinished')
        this.#stable.markUnfinished(ready.key);
    }
    return report;
  }

  async #lateWrites(): Promise<readonly ArchivedFile[]> {
    const { clock, config } = this.#options;
    const message = `The archive ${config.archive} cannot be read, so nobody notices if an archived file is written to`;
    return (
      (await this.#attempt('archive', message, () =>
        this.#archived.takeChanged(clock.steadyMs()),
      )) ?? []
    );
  }

  async #readyFiles(report: ScanReport): Promise<readonly InboxFile[]> {
    const { config, clock } = this.#options;
    const list = () => listInbox(config.inbox, config.ready === 'done_file');
    const listing = await this.#attempt('inbox', `The inbox ${config.inbox} cannot be read`, list);
    if (listing === undefined) return [];
    const { files, marked } = listing;
    this.#forgetRemoved(files);
    const isMarked = (file: InboxFile): boolean =>
      config.ready === 'stable' || marked.has(file.key);
    const stable = this.#stable.observe(files, clock.steadyMs());
    this.#log.folders(stable.filter((file) => file.kind === 'folder').map((file) => file.name));
    const ready = stable.filter((file) => file.kind !== 'folder' && isMarked(file));
    report.waiting = files.filter((file) => file.kind !== 'folder').length - ready.length;
    return ready;
  }

  /** The problem of a file that could not be claimed ends when somebody removes the file. */
  #forgetRemoved(files: readonly InboxFile[]): void {
    const present = new Set(files.map((file) => file.key));
    for (const key of [...this.#unclaimable.keys()].filter((known) => !present.has(known))) {
      this.#unclaimable.delete(key);
      this.#log.solved(`claim ${key}`);
    }
  }

  async #hasDiskSpace(): Promise<boolean> {
    if (await this.#options.hasSpace()) {
      this.#log.solved('disk');
      return true;
    }
    this.#log.problem(
      'disk',
      'The disk of the outbox is nearly full: no more order files are taken in.',
    );
    return false;
  }

  async #claim(file: InboxFile, report: ScanReport): Promise<ClaimedFile | null> {
    const { config, clock } = this.#options;
    if ((this.#unclaimable.get(file.key) ?? 0) > clock.steadyMs()) {
      report.deferred += 1;
      return null;
    }
    const message = `The file ${file.name} cannot be taken from the inbox`;
    const claim = () => claimFile(config, file, newFileId(clock));
    const claimed = await this.#attempt(`claim ${file.key}`, message, claim, () => {
      report.deferred += 1;
      this.#mayHaveMore = true;
      this.#unclaimable.set(file.key, clock.steadyMs() + retryMs);
    });
    if (claimed === undefined) return null;
    this.#unclaimable.delete(file.key);
    if (claimed !== null) this.#unfinished.set(claimed.id, { file: claimed, dueMs: 0 });
    return claimed;
  }

  /** Claims a file from the archive again. Its lines that were accepted before are recognised. */
  async #reclaim(archived: ArchivedFile, report: ScanReport): Promise<void> {
    const { config, clock, store } = this.#options;
    const message = `The file ${archived.path} was written to after it was archived, and cannot be read again`;
    const reclaim = async (): Promise<ClaimedFile> => {
      const claimed = await reclaimFile(config, archived, newFileId(clock));
      // It is in the work folder by now: no other scan would record this.
      const life = { clock, signal: this.#loop.signal };
      await repeatWhileBlocked(() => store.intake.files.replaced(archived.id), life);
      return claimed;
    };
    const file = await this.#attempt(`archive ${archived.path}`, message, reclaim, () => {
      this.#mayHaveMore = true;
      this.#archived.watch(archived, clock.steadyMs());
    });
    if (file === undefined) return;
    this.#log.lateWrite(file, archived.path);
    report.changed += 1;
    this.#unfinished.set(file.id, { file, dueMs: clock.steadyMs() + config.stableMs });
  }

  async #ingest(file: ClaimedFile, report: ScanReport): Promise<FileOutcome['kind'] | null> {
    const { config, clock, store, onAccepted } = this.#options;
    const context: FileContext = {
      store: store.intake,
      clock,
      config,
      skus: this.#skus,
      format: this.#format,
      onAccepted,
      onArchiving: (archived) => this.#archived.watch(archived, clock.steadyMs()),
      begun: this.#begun,
      signal: this.#loop.signal,
    };
    const message = `The file ${file.name} (${file.id}) cannot be processed`;
    const ingest = () => ingestFile(context, file);
    const outcome = await this.#attempt(`file ${file.id}`, message, ingest, (error) => {
      report.deferred += 1;
      this.#mayHaveMore = true;
      const delayMs = isOutboxBlocked(error) ? fullDiskRetryMs : retryMs;
      this.#unfinished.set(file.id, { file, dueMs: clock.steadyMs() + delayMs });
    });
    if (outcome === undefined) return null;
    this.#log.outcome(outcome);
    this.#options.onFileEnded(outcome.kind);
    if (outcome.kind === 'interrupted') return outcome.kind;
    this.#unfinished.delete(file.id);
    this.#begun.delete(file.id);
    // Its writer may still be writing, so it gets the same time to become stable as a file in the
    // inbox.
    if (outcome.kind === 'changed') {
      this.#unfinished.set(outcome.next.id, {
        file: outcome.next,
        dueMs: clock.steadyMs() + config.stableMs,
      });
    }
    report.add(outcome);
    return outcome.kind;
  }
}
