import type { DueCsvFile } from '../../store/results/csv-files.ts';

/** A CSV order file as it came. */
export interface OriginalCsv {
  /** Whether it begins with a byte order mark. */
  readonly hasMark: boolean;
  readonly lineEnd: string;
  /** All of its records, in their order. To read them to the end fails when they are not those that were taken in. */
  readonly records: AsyncIterable<readonly OriginalRecord[]>;
}

export interface OriginalRecord {
  readonly cells: readonly string[];
  /** The line of text on which it begins. */
  readonly lineNumber: number;
  readonly isBlank: boolean;
}

/**
 * Reads a file again.
 * @throws OrderSyncError NOT_FOUND when it is not kept any more; REFUSED when it is another file now
 */
export type ReadOriginal = (file: DueCsvFile, use: (csv: OriginalCsv) => Promise<void>) => Promise<void>;
