import { renderResultDocument, resultFileName, type ResultDocument } from '../core/result/result-document.ts';
import { folderSinkName } from '../store/results/due-results.ts';
import type { Delivery, Sink } from './delivery-loop.ts';
import type { ResultFolder } from './result-folder.ts';

/**
 * Writes `<folder>/<source>/<order_id>.json`; see `resultFileName` for ids that are no safe names. Atomic: a reader sees a
 * complete result or none.
 */
export class FolderSink implements Sink {
  readonly name = folderSinkName;
  readonly #folder: ResultFolder;

  constructor(folder: ResultFolder) {
    this.#folder = folder;
  }

  async deliver(document: ResultDocument, { sharesName }: Pick<Delivery, 'sharesName'>): Promise<void> {
    const text = renderResultDocument(document);
    // The schema of a source allows only safe file names.
    await this.#folder.replace(document.source, resultFileName(document, sharesName), (draft) =>
      draft.writeFile(text, 'utf8'),
    );
  }
}
