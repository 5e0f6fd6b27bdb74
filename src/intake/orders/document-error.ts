import { OrderSyncError } from '../../core/order-sync-error.ts';

export interface DocumentMistake {
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

/**
 * Why nothing of a document is bought, for its sender: what is wrong, where, and in `hint` what to
 * do.
 */
export class DocumentError extends OrderSyncError {
  /** A stable name of the rule, for example `too_large`. */
  readonly documentCode: string;
  readonly line: number | null;
  readonly byte: number | null;
  /** All mistakes of a header, and its columns; empty for any other reason. */
  readonly mistakes: readonly DocumentMistake[];
  readonly columns: readonly string[];
  /** Whether a longer file could be right: its writer may not have finished it. */
  isUnfinished: boolean;

  constructor(
    documentCode: string,
    message: string,
    place: Partial<
      Pick<DocumentError, 'line' | 'byte' | 'mistakes' | 'columns' | 'isUnfinished'>
    > & { hint: string },
  ) {
    super('INVALID_INPUT', message, { hint: place.hint });
    this.name = 'DocumentError';
    this.documentCode = documentCode;
    this.line = place.line ?? null;
    this.byte = place.byte ?? null;
    this.mistakes = place.mistakes ?? [];
    this.columns = place.columns ?? [];
    this.isUnfinished = place.isUnfinished ?? false;
  }
}

/**
 * Throws when a text begins as a web page: a program that asked for an export may have got a
 * sign-in or error page.
 */
export function rejectHtml(text: string): void {
  if (!/^\s*<(?:!doctype|html|head|body|table|meta|\?xml)\b/i.test(text)) return;
  throw new DocumentError('html_document', 'The file is an HTML or XML document, not orders.', {
    line: 1,
    hint: 'It is perhaps a sign-in or error page: open the file in a browser. Then export the orders again, as CSV or JSON.',
  });
}
