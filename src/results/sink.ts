import type { ResultDocument } from '../core/result/result-document.ts';

/** One version of a result, on its way to one place. */
export interface Delivery {
  /** Rises with each change of the result. */
  readonly version: number;
  /** Aborts when the worker ends: what is not delivered by then stays due. */
  readonly signal: AbortSignal;
}

/** A place that results are written back to. */
export interface Sink {
  /** Stable: deliveries are recorded under it. */
  readonly name: string;
  /** Resolves when the result is durably there. Writing the same result again must do no harm. */
  deliver(document: ResultDocument, delivery: Delivery): Promise<void>;
  /**
   * How long to wait after so many failures in a row, in ms; null: give it up, and tell a person. Without it, a delivery
   * is tried for ever, at most five minutes apart.
   */
  retryDelayMs?(failures: number): number | null;
  /** How long the end of the worker waits for what is due; without it, until all of it was tried. */
  readonly stopGraceMs?: number;
}
