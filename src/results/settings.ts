/** The sinks of results. */
export interface ResultsSettings {
  /** Absolute. */
  readonly folder: string;
  /** Null: results are not posted. */
  readonly callback: CallbackSettings | null;
  /** Null: results have no text for the customer. */
  readonly customer: CustomerSettings | null;
}

/** What the customer of an order reads. */
export interface CustomerSettings {
  /** The language of orders that name none, as a tag such as `de`. */
  readonly language: string;
  /** The folder of changed templates, absolute; null: those of the program. */
  readonly templates: string | null;
  /** Whether each eSIM of a result has its QR code as `qr_png`, and as `qr_svg`. */
  readonly qrPng: boolean;
  readonly qrSvg: boolean;
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
