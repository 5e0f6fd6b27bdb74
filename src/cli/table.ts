import { shortTime } from '../core/clock.ts';
import { affectedText } from '../core/operator/affected.ts';
import { sentence } from '../core/message-text.ts';
import { counted, countsText, totalOf } from '../core/counts.ts';
import type { Attention, AttentionCounts, AttentionGroup } from '../store/read/attention.ts';
import { plainLines, plainText } from './output.ts';
import type { CliContext } from './context.ts';

const gap = 2;
/** A column is not made narrower, also where the line then is longer than the terminal is wide. */
const narrowest = 8;
/** Columns with what a person copies into another command: they stay whole. */
const copied: ReadonlySet<string> = new Set(['ID', 'REFERENCE']);
const usualColumns = 80;

/**
 * How many characters a line of the terminal may have; null: any number, because a program or a
 * file reads it.
 */
export function columnsOf({ stdout }: Pick<CliContext, 'stdout'>): number | null {
  return stdout.isTTY === true ? (stdout.columns ?? usualColumns) : null;
}

/**
 * A table of plain text: columns as wide as their content, two spaces apart, nothing at line ends,
 * and nothing at all without rows. On a terminal it is as wide as the terminal at most: the widest
 * columns get narrower, and their text continues below.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | null = null,
): string {
  if (rows.length === 0) return '';
  const cells = rows.map((row) => row.map(plainText));
  const widths = header.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  if (columns !== null) fit(header, widths, columns);
  const lines = [header, ...cells].flatMap((row) => {
    const wrapped = row.map((cell, column) => wrap(cell, widths[column] ?? cell.length));
    const height = Math.max(...wrapped.map((cell) => cell.length));
    return Array.from({ length: height }, (_, index) =>
      wrapped
        .map((cell, column) => (cell[index] ?? '').padEnd(widths[column] ?? 0))
        .join(' '.repeat(gap)),
    );
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Narrows the widest columns that need not stay whole, until the table fits. */
function fit(header: readonly string[], widths: number[], columns: number): void {
  const isCopied = header.map((name) => copied.has(name));
  const over = widths.reduce((sum, width) => sum + width, gap * (widths.length - 1)) - columns;
  for (let left = over; left > 0; left -= 1) {
    const widest = Math.max(...widths.filter((_, column) => isCopied[column] === false));
    if (widest <= narrowest) return;
    widths[
      widths.findLastIndex((width, column) => width === widest && isCopied[column] === false)
    ] = widest - 1;
  }
}

/** The text in lines of this width, broken between words, or within one that is longer. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

const tableColumns = 120;

/**
 * Rows of the attention list as text, with what to do about each kind; nothing when there are none.
 * On a terminal too narrow for a table, each row is a record.
 */
export function attentionTable(rows: readonly Attention[], columns: number | null): string {
  if (rows.length === 0) return '';
  if (columns !== null && columns < tableColumns)
    return rows.map((row) => attentionRecord(row, columns)).join('');
  const header = ['ATTENTION', 'ID', 'SINCE', 'CONCERNS', 'WHAT HAPPENED'];
  const actions = new Map(
    rows.map(({ kind, whatToDo }) => [`${kind} ${whatToDo}`, [kind, whatToDo]]),
  );
  const whatToDo = renderTable(['WHAT TO DO', ''], [...actions.values()], columns);
  return `${renderTable(header, rows.map(attentionRow), columns)}\n${whatToDo}`;
}

const recordFields = ['since', 'concerns', 'happened', 'to do'];

/** The id stays whole, to be copied; each field has its line, and long ones go on below. */
function attentionRecord(row: Attention, columns: number): string {
  const [kind, id, ...cells] = [...attentionRow(row), row.whatToDo];
  const lines = cells.flatMap((cell, index) =>
    wrap(plainText(cell), columns - 12).map(
      (line, at) => `  ${(at === 0 ? (recordFields[index] ?? '') : '').padEnd(8)}  ${line}`,
    ),
  );
  return plainLines([`${id} (${kind})`, ...lines]);
}

const groupColumns = 100;
const indent = '  ';

/**
 * The attention list by cause, each with what happened and what to do, in lines as wide as the
 * terminal.
 */
export function attentionGroupsText(
  groups: readonly AttentionGroup[],
  nowMs: number,
  columns: number | null,
): string {
  return groups
    .map(
      ({
        kind,
        id,
        count,
        code,
        subject,
        sources,
        source,
        orderId,
        lineId,
        since,
        message,
        whatToDo,
        affects,
      }) => {
        const concerns = [source, orderId, lineId].filter((it) => it !== null).join('/');
        const about = [subject ?? '', count === 1 ? concerns : ''].filter(Boolean).join(' ');
        const shops = sources > 1 ? ` in ${sources} shops` : '';
        const more =
          count === 1 ? '' : ` and ${count - 1} more: order-sync orders list --attention`;
        const affected = affectedText(affects, nowMs);
        const facts = [
          sentence(message ?? code),
          ...(affected === '' ? [] : [`Affects: ${affected}`]),
          `To do: ${whatToDo}`,
          `Id: ${id}${more}`,
        ];
        return plainLines([
          `${count} x ${code}${about === '' ? '' : ` ${about}`}${shops} (${kind}), since ${shortTime(since)}`,
          ...facts.flatMap((fact) =>
            wrap(plainText(fact), (columns ?? groupColumns) - indent.length).map(
              (it) => indent + it,
            ),
          ),
        ]);
      },
    )
    .join('');
}

function attentionRow({
  kind,
  id,
  since,
  scope,
  source,
  orderId,
  lineId,
  code,
  message,
}: Attention): string[] {
  const concerns = [source, orderId, lineId].filter((it) => it !== null).join('/');
  return [
    kind,
    id,
    shortTime(since),
    scope ?? concerns,
    message === null ? code : `${code}: ${sentence(message)}`,
  ];
}

/** `3 rows need attention: 2 rejected, 1 pause`; nothing when there are none. */
export function attentionTotal(counts: AttentionCounts): string {
  const total = totalOf(counts);
  const rows = counted(total, 'row needs', 'rows need');
  return total === 0 ? '' : `${rows} attention: ${countsText(counts)}\n`;
}
