import type { FileRow } from '../../store/intake/files.ts';
import type { Rejection } from '../../store/intake/rejections.ts';
import type { DocumentError } from '../orders/document-error.ts';

/** A report lists at most this many lines; the outbox has all of them. */
const reportedLines = 10_000;

const nextSteps: Readonly<Record<string, string>> = {
  conflict: 'If you want to buy the new content, send it under a new line_id. Otherwise nothing needs to be done.',
  unknown_field: 'Correct or remove the field and send the line again.',
  missing_field: 'Add the field and send the line again.',
  id_mangled: 'Format the column as text before the export, and send the line again.',
  iccid_mangled: 'Format the column as text before the export, and send the line again.',
  unsafe_number: 'Write the number as a string, in quotes, and send the line again.',
  duplicate_key: 'Remove one of the two and send the line again.',
  unknown_sku: 'Add the SKU to the SKU map, or correct it, and send the line again.',
  too_many_lines: 'Split the order and send each part under an order id of its own.',
  wrong_cell_count: 'Look for a missing or extra separator or quote in the line, and send the line again.',
  totals_row: 'If it has the totals of the table, nothing needs to be done. Otherwise add the product.',
  invalid_json: 'Correct the line and send it again.',
};

/** The report to the sender about a file of which some lines were rejected. The same file gets the same report. */
export function lineReport(file: FileRow, rejections: readonly Rejection[]): string {
  const shown = rejections.slice(0, reportedLines);
  const { length } = rejections;
  const others =
    file.acceptedCount + file.knownCount === 0 ? 'Nothing of it will be bought.' : 'The other lines were accepted.';
  return render({
    file: file.name,
    file_id: file.id,
    code: 'lines_not_accepted',
    message: `${length} ${length === 1 ? 'line of the file was' : 'lines of the file were'} rejected. ${others}`,
    lines_not_shown: length - shown.length,
    next_step: 'Correct these lines and send them in a new file. Accepted lines may be sent again unchanged.',
    lines: shown.map((line) => ({
      line: line.lineNumber,
      source: line.source,
      order_id: line.orderId,
      line_id: line.lineId,
      code: line.code,
      field: line.field,
      rule: line.rule,
      value: line.value,
      next_step: nextSteps[line.code] ?? 'Correct the value and send the line again.',
    })),
  });
}

export function documentReport(file: { id: string; name: string }, error: DocumentError): string {
  return render({
    file: file.name,
    file_id: file.id,
    code: error.documentCode,
    message: error.message,
    line: error.line,
    byte: error.byte,
    ...(error.mistakes.length < 2 ? {} : { mistakes: error.mistakes }),
    next_step: error.hint,
  });
}

function render(report: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}
