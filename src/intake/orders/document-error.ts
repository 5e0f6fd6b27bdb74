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
  | 'poison_file'
  | 'row_count_mismatch'
  | 'sha256_mismatch'
  | 'bad_marker'
  | 'vanished';

/** Shown to the developer of the shop: the message says what is wrong and where, `hint` what to do. */
export class DocumentError extends OrderSyncError {
  readonly documentCode: DocumentErrorCode;
  readonly line: number | null;
  readonly byte: number | null;

  constructor(
    documentCode: DocumentErrorCode,
    message: string,
    place: { line?: number; byte?: number; hint?: string } = {},
  ) {
    super('INVALID_INPUT', message, place.hint === undefined ? {} : { hint: place.hint });
    this.name = 'DocumentError';
    this.documentCode = documentCode;
    this.line = place.line ?? null;
    this.byte = place.byte ?? null;
  }
}
