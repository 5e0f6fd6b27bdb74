/** The sinks of results. */
export interface ResultsSettings {
  /** Absolute. */
  readonly folder: string;
  /** Null: results are not posted. */
  readonly callback: CallbackSettings | null;
}

/** The receiver of posted results. */
export interface CallbackSettings {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly connectMs: number;
  /** From the start of a post to the status of its answer. */
  readonly totalMs: number;
}
