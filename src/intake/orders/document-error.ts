import { OrderSyncError } from '../../core/order-sync-error.ts';

/** Why a whole document is rejected. Nothing of such a document is bought. */
export type DocumentErrorCode =
  | 'empty'
  | 'no_orders'
  | 'too_large'
  | 'too_many_rows'
  | 'line_too_long'
  | 'nul_bytes'
  | 'encoding_utf16'
  | 'encoding_not_utf8'
  | 'invalid_json'
  | 'too_deep'
  | 'truncated_tail'
  | 'unclosed_quote'
  | 'misplaced_quote'
  | 'suspicious_quote'
  | 'bad_separator'
  | 'missing_column'
  | 'duplicate_column'
  | 'unknown_column'
  | 'bad_column_name'
  | 'too_many_columns'
  | 'unknown_extension'
  | 'not_a_regular_file'
  | 'hard_link'
  | 'poison_file'
  | 'row_count_mismatch'
  | 'sha256_mismatch'
  | 'bad_marker'
  | 'vanished';

/** One of the mistakes for which a document is rejected. */
export interface DocumentMistake {
  readonly line: number | null;
  /** A code of a document, or of a line of it. */
  readonly code: string;
  readonly message: string;
}

/** Shown to the developer of the shop: the message says what is wrong and where, `hint` what to do. */
export class DocumentError extends OrderSyncError {
  readonly documentCode: DocumentErrorCode;
  readonly line: number | null;
  readonly byte: number | null;
  /** The first mistakes; empty where the message names the only one. */
  readonly mistakes: readonly DocumentMistake[];
  /** How many mistakes were found in all. */
  readonly mistakeCount: number;

  constructor(
    documentCode: DocumentErrorCode,
    message: string,
    place: Partial<Pick<DocumentError, 'line' | 'byte' | 'mistakes' | 'mistakeCount'>> & { hint?: string } = {},
  ) {
    super('INVALID_INPUT', message, place.hint === undefined ? {} : { hint: place.hint });
    this.name = 'DocumentError';
    this.documentCode = documentCode;
    this.line = place.line ?? null;
    this.byte = place.byte ?? null;
    this.mistakes = place.mistakes ?? [];
    this.mistakeCount = place.mistakeCount ?? Math.max(1, this.mistakes.length);
  }
}
