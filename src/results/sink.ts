import type { ResultDocument } from '../core/result-document.ts';

/** A place that results are written back to. */
export interface Sink {
  /** Stable: deliveries are recorded under it. */
  readonly name: string;
  /** Resolves when the result is durably there. Writing the same result again must do no harm. */
  deliver(document: ResultDocument): Promise<void>;
}
