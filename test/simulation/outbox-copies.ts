import type { ProgressPort, ProgressReading } from '../../src/app/progress-file.ts';
import type { OutboxProgress } from '../../src/core/outbox-progress.ts';
import { readProgress } from '../../src/store/sqlite/meta.ts';
import type { SimDisk } from './sim-disk.ts';

/** A copy of the outbox, and the progress file, which no copy brings back. */
export class OutboxCopies {
  readonly #disk: SimDisk;
  readonly #onMade: () => void;
  #copied: OutboxProgress | null = null;
  #written: OutboxProgress | null = null;
  /** The references of the entries that had ended in the copy. */
  #ended: ReadonlySet<string> = new Set();

  constructor(disk: SimDisk, onMade: () => void) {
    this.#disk = disk;
    this.#onMade = onMade;
  }

  get ended(): ReadonlySet<string> {
    return this.#ended;
  }

  readonly file: ProgressPort = {
    path: 'progress',
    read: (): ProgressReading =>
      this.#written === null ? { kind: 'missing' } : { kind: 'read', progress: this.#written },
    write: async (progress) => {
      this.#written = progress;
    },
  };

  make(): void {
    const { connection } = this.#disk;
    this.#disk.copy();
    this.#copied = readProgress(connection);
    const final = `'fulfilled', 'refunded', 'rejected', 'expired', 'cancelled'`;
    this.#ended = new Set(
      connection
        .prepare<[], string>(`SELECT reference FROM entries WHERE state IN (${final})`)
        .pluck()
        .all(),
    );
    this.#onMade();
  }

  /** Whether the progress file tells that the copy is an older one. */
  get isBehind(): boolean {
    const [copied, written] = [this.#copied, this.#written];
    if (copied === null || written === null) return false;
    return (
      written.attempt > copied.attempt ||
      written.entry > copied.entry ||
      written.decision > copied.decision
    );
  }
}
