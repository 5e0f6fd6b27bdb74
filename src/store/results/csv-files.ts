import type { ResultLine } from '../../core/result/result-document.ts';

/** The CSV order files that are written back. Each is due when a result of one of its rows has changed. */
export interface CsvFiles {
  /** The file that is due first; null: none is. */
  nextDue(nowMs: number): Promise<DueCsvFile | null>;
  /**
   * Looks for a row that the worker still has something to do for, among the next rows of a file. What needs a person does not
   * count: it may take weeks, and the other rows are wanted.
   * @param afterRow the line number where the step before ended; 0 at first
   * @returns `open`: whether there is one; `next`: where the next step begins; null at the end
   */
  findOpenRow(id: number, afterRow: number): Promise<{ readonly open: boolean; readonly next: number | null }>;
  /**
   * What became of the rows of a file in this range of line numbers, by line number.
   * @throws OrderSyncError REFUSED when the codes of one were shredded
   */
  results(id: number, fromRow: number, toRow: number): Promise<ReadonlyMap<number, ResultLine>>;
  /** The file waits until a result of one of its rows changes, unless one has changed since this version. */
  awaitChange(file: { id: number; version: number }): Promise<void>;
  /** Whether a row is open or needs a person, or the CSV was not written before a time; also of an unknown file. */
  isNeeded(fileId: string, beforeMs: number): Promise<boolean>;
  close(done: { id: number; version: number; nowMs: number }): Promise<void>;
  fail(failed: { id: number; version: number; error: string; retryAtMs: number }): Promise<void>;
  /** This version is not tried again, and is flagged for review. */
  giveUp(given: { id: number; version: number; error: string; nowMs: number }): Promise<void>;
}

export interface DueCsvFile {
  readonly id: number;
  /** Its id as an order file. */
  readonly fileId: string;
  readonly name: string;
  readonly sha256: string;
  readonly delimiter: string;
  /** Rises with each change of a result. */
  readonly version: number;
  readonly tries: number;
}
