import type { Logger } from 'pino';
import type { FileJob, FileOutcome } from './finish-file.ts';

/** The one place where the folder intake speaks. What lasts is said once when it begins and once when it ends. */
export class FolderReporter {
  readonly #logger: Logger;
  readonly #problems = new Map<string, string>();
  #folders = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  problems(): readonly string[] {
    return [...this.#problems.values()];
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
    this.#logger.info({ was: message }, 'a problem of the order folder is over');
  }

  prepared(jobs: readonly FileJob[], foreign: readonly string[], work: string): void {
    if (jobs.length > 0) this.#logger.info({ files: jobs.length }, 'order files of an earlier run are taken up again');
    if (foreign.length > 0)
      this.#logger.warn({ work, names: foreign.slice(0, 20) }, 'files that are not ours lie in the work folder');
  }

  /** Folders in the inbox stay where they are; each is mentioned once. */
  folders(names: readonly string[]): void {
    for (const name of names) {
      if (!this.#folders.has(name)) this.#logger.warn({ name }, 'a folder lies in the inbox; only files are taken');
    }
    this.#folders = new Set(names);
  }

  lateWrite(next: FileJob, where: string): void {
    this.#logger.warn(
      { file: next.name, file_id: next.id, where },
      'order file was written to after it was taken: it is read again; its writer should write under a temporary name, then rename',
    );
  }

  outcome(outcome: FileOutcome): void {
    const file = { file: outcome.job.name, file_id: outcome.job.id };
    switch (outcome.kind) {
      case 'ingested': {
        const { acceptedCount, knownCount, conflictCount, rejectedCount } = outcome.row;
        const counts = {
          accepted: acceptedCount,
          known: knownCount,
          conflicts: conflictCount,
          rejected: rejectedCount,
        };
        if (outcome.report === null) this.#logger.info({ ...file, ...counts }, 'order file accepted');
        else
          this.#logger.warn(
            { ...file, ...counts, report: outcome.report },
            'order file accepted, but not all its lines',
          );
        return;
      }
      case 'rejected':
        this.#logger.warn(
          { ...file, code: outcome.code, reason: outcome.message },
          'order file refused: nothing more of it is sent',
        );
        return;
      case 'changed':
        this.lateWrite(outcome.next, outcome.job.workName);
        return;
      case 'interrupted':
        this.#logger.info(file, 'order file half read; it is taken up again at the next start');
    }
  }
}
