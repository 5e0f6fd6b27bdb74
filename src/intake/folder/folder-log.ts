import type { Logger } from 'pino';
import type { ClaimedFile } from './claim-file.ts';
import type { FileOutcome } from './finish-file.ts';

/**
 * All log lines of the folder intake. A lasting problem is logged when it begins and when it ends.
 */
export class FolderLog {
  readonly #logger: Logger;
  readonly #problems = new Map<string, string>();
  #folders = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Those of the folder itself: a full disk of the outbox is reported by a check of its own. */
  problems(): readonly string[] {
    return [...this.#problems].flatMap(([topic, message]) => (topic === 'disk' ? [] : message));
  }

  problem(topic: string, message: string): void {
    const isNew = !this.#problems.has(topic);
    this.#problems.set(topic, message);
    if (isNew) this.#logger.error(message);
  }

  solved(topic: string): void {
    const message = this.#problems.get(topic);
    if (message === undefined) return;
    this.#problems.delete(topic);
    this.#logger.info({ was: message }, 'the problem with the watched folder is solved');
  }

  resumed(files: number): void {
    if (files > 0) this.#logger.info({ files }, 'resuming order files that were not finished');
  }

  foreign(names: readonly string[], work: string): void {
    if (names.length === 0) return;
    this.#logger.warn(
      { work, names: names.slice(0, 20) },
      'the work folder has files that order-sync did not write',
    );
  }

  /** Folders stay in the inbox; each is logged once. */
  folders(names: readonly string[]): void {
    for (const name of names) {
      if (!this.#folders.has(name))
        this.#logger.warn({ name }, 'the inbox has a folder; only files are taken');
    }
    this.#folders = new Set(names);
  }

  lateWrite(next: ClaimedFile, where: string): void {
    this.#logger.warn(
      { file: next.name, file_id: next.id, where },
      'an order file was written to after it was taken; reading the file again. Its writer should use a temporary name, then rename',
    );
  }

  outcome(outcome: FileOutcome): void {
    const file = { file: outcome.file.name, file_id: outcome.file.id };
    if ('code' in outcome) {
      const { code, message: reason } = outcome;
      const isOver = outcome.kind === 'rejected';
      const becomes = isOver
        ? 'rejected; no more of this file will be bought'
        : 'unfinished; waiting 10 minutes for the rest';
      this.#logger.warn({ ...file, code, reason }, `order file ${becomes}`);
    } else if (outcome.kind === 'changed') this.lateWrite(outcome.next, outcome.file.workName);
    else if (outcome.kind === 'interrupted') {
      this.#logger.info(file, 'order file was read in part; reading resumes at the next start');
    } else if (outcome.report === null)
      this.#logger.info({ ...file, ...outcome.lines }, 'order file accepted');
    else {
      const details = { ...file, ...outcome.lines, report: outcome.report };
      this.#logger.warn(details, 'order file accepted, some of its lines rejected');
    }
  }
}
