import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { renderResultDocument, resultFileName, type ResultDocument } from '../core/result/result-document.ts';
import { syncFolder, writeFileAtomically } from '../ops/atomic-file.ts';
import type { Sink } from './sink.ts';

/**
 * Writes `<folder>/<source>/<order_id>.json`, readable for its owner only because results carry bearer codes. Atomic:
 * a reader sees a whole result or none.
 */
export class FolderSink implements Sink {
  readonly name = 'folder';
  readonly #folder: string;
  readonly #ready = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async deliver(document: ResultDocument): Promise<void> {
    // A source is a safe file name by its schema; an order id becomes one.
    const folder = join(this.#folder, document.source);
    await this.#ensure(folder);
    try {
      await writeFileAtomically(join(folder, resultFileName(document.order_id)), renderResultDocument(document));
    } catch (error) {
      // Somebody may have cleared the folder away: make it anew at the next try.
      this.#ready.delete(folder);
      throw error;
    }
  }

  async #ensure(folder: string): Promise<void> {
    if (this.#ready.has(folder)) return;
    await mkdir(folder, { recursive: true, mode: 0o750 });
    await syncFolder(this.#folder);
    this.#ready.add(folder);
  }
}
