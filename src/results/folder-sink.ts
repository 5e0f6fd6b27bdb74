import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { renderResultDocument, resultFileName, type ResultDocument } from '../core/result/result-document.ts';
import { syncFolder, writeFileAtomically } from '../ops/atomic-file.ts';
import { requireRealFolder } from '../ops/real-folder.ts';
import type { Delivery, Sink } from './delivery-loop.ts';

/**
 * Writes `<folder>/<source>/<order_id>.json`; see `resultFileName` for ids that are no safe names. Only the owner may read it, because results contain codes that anybody
 * can redeem. Atomic: a reader sees a complete result or none.
 */
export class FolderSink implements Sink {
  readonly name = 'folder';
  readonly #folder: string;
  readonly #ready = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async deliver(document: ResultDocument, { sharesName }: Pick<Delivery, 'sharesName'>): Promise<void> {
    // The schema of a source allows only safe file names.
    const folder = join(this.#folder, document.source);
    await this.#ensure(folder);
    try {
      await requireRealFolder(folder);
      await writeFileAtomically(join(folder, resultFileName(document, sharesName)), renderResultDocument(document));
    } catch (error) {
      // The folder may have been deleted: create it again at the next try.
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
