import type { FileRow, Rejection } from '../../store/intake/intake.ts';
import type { DocumentError } from '../orders/document-error.ts';

/** A report names this many lines; the outbox knows them all. */
const reportedLines = 10_000;

const nextSteps: Readonly<Record<string, string>> = {
  conflict: 'If the new content is meant, send it under a new line_id. Otherwise nothing is to be done.',
  unknown_field: 'Correct or remove the field and send the line again.',
  missing_field: 'Add the field and send the line again.',
  iccid_mangled: 'Format the column as text before the export, and send the line again.',
  unsafe_number: 'Write the number as a string, in quotes, and send the line again.',
  duplicate_key: 'Keep one of the two and send the line again.',
  too_many_lines: 'Divide the order and send its parts under order ids of their own.',
  wrong_cell_count: 'Look for a missing or stray separator or quote in the line, and send the line again.',
  invalid_json: 'Correct the line and send it again.',
};

/** What the sender reads about a file that was taken in, when some of its lines were not. The same for the same file, always. */
export function lineReport(file: FileRow, rejections: readonly Rejection[]): string {
  const shown = rejections.slice(0, reportedLines);
  return render({
    file: file.name,
    file_id: file.id,
    code: 'lines_not_accepted',
    message: `${rejections.length} of the file's lines were not accepted and nothing was sent for them. The others go on.`,
    lines_not_shown: rejections.length - shown.length,
    next_step: 'Correct these lines and send them in a new file. Lines that were accepted may be sent again unchanged.',
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

/** What the sender reads about a file that was refused as a whole. */
export function documentReport(file: { id: string; name: string }, error: DocumentError): string {
  return render({
    file: file.name,
    file_id: file.id,
    code: error.documentCode,
    message: error.message,
    line: error.line,
    byte: error.byte,
    next_step: error.hint ?? 'Correct the file and send it again.',
  });
}

function render(report: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}
