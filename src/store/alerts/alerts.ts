import type { AttentionKind } from '../read/attention.ts';

/** Something that alerts are about: a kind of rows of the attention list, or `check:<name>` for a check that fails. */
export interface AlertCondition {
  readonly condition: string;
  /** How many rows there are, at most as many as are looked at. */
  readonly count: number;
  /** The time of the newest row, in ms; 0 where there are no rows. */
  readonly newestMs: number;
}

/** One row of the attention list, without any text that somebody outside wrote. */
export interface AlertRow {
  readonly kind: AttentionKind;
  readonly id: string;
  readonly source: string | null;
  readonly orderId: string | null;
  readonly code: string;
  readonly sinceMs: number;
  readonly whatToDo: string;
}

/** What was posted to the alert endpoints. */
export interface Alerts {
  /** The rows of the attention list, those that matter most before the others; `complete`: there are no more. */
  rows(atMost: number): Promise<{ readonly rows: readonly AlertRow[]; readonly complete: boolean }>;
  told(endpoint: string): Promise<{ readonly conditions: readonly AlertCondition[]; readonly nextAtMs: number }>;
  /** Replaces what is known to have been posted to an endpoint. */
  record(told: { endpoint: string; conditions: readonly AlertCondition[]; nextAtMs: number }): Promise<void>;
  /** Forgets endpoints that are not configured any more. */
  keep(endpoints: readonly string[]): Promise<void>;
}
