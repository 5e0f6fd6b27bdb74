import {
  renderResultDocument,
  resultFileName,
  type ResultDocument,
} from '../../src/core/result/result-document.ts';
import type { Sink } from '../../src/results/delivery-loop.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { CrashKind } from './sim-disk.ts';
import type { SimProcess } from './sim-process.ts';

/**
 * The folder of the results, as its reader sees it. A file is replaced as a whole. After a power
 * loss the old file can be back if the folder was not synced.
 */
export class ResultsDisk {
  readonly #random: SeededRandom;
  readonly #visible = new Map<string, string>();
  readonly #durable = new Map<string, string>();
  readonly #onWritten: (document: ResultDocument) => void;
  /** The files of the worker's own sink; null: this disk plays the sink, too. */
  #files: (() => ReadonlyMap<string, string>) | null = null;
  /** While true, writes can fail. */
  failing = false;

  constructor(random: SeededRandom, onWritten: (document: ResultDocument) => void) {
    this.#random = random;
    this.#onWritten = onWritten;
  }

  /** From now on the worker's own sink writes the files. */
  readFrom(files: () => ReadonlyMap<string, string>): void {
    this.#files = files;
  }

  sinkOf(process: SimProcess): Sink {
    return {
      name: 'folder',
      deliver: async (document, { sharesName }) => {
        const path = `${document.source}/${resultFileName(document, sharesName)}`;
        const text = renderResultDocument(document);
        await process.port('results.draft', () => {
          if (this.failing && this.#random.chance(0.2))
            throw new Error('ENOSPC: no space left on device');
        });
        await process.port('results.rename', () => {
          this.#visible.set(path, text);
          this.#onWritten(document);
        });
        await process.port('results.sync', () => {
          this.#durable.set(path, text);
        });
      },
    };
  }

  crash(kind: CrashKind): void {
    if (kind === 'kill') return;
    for (const [path, text] of this.#visible) {
      const durable = this.#durable.get(path);
      if (durable === text || this.#random.chance(0.5)) continue;
      if (durable === undefined) this.#visible.delete(path);
      else this.#visible.set(path, durable);
    }
  }

  read(source: string, orderId: string): ResultDocument | null {
    const files = this.#files?.() ?? this.#visible;
    // No two orders of a run have ids that differ in capital letters only.
    const text = files.get(`${source}/${resultFileName({ source, order_id: orderId }, false)}`);
    if (text === undefined) return null;
    const document: ResultDocument = JSON.parse(text);
    return document;
  }

  /** Every file with its bytes. */
  contents(): ReadonlyMap<string, string> {
    return new Map(this.#files?.() ?? this.#visible);
  }
}
