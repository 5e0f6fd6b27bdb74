/** One line of the table: what was measured, beside what it is compared with in the same run. */
export interface Row {
  readonly bench: string;
  readonly what: string;
  readonly result: string;
  /** A quotient of two figures of the same run; empty when there is nothing to divide by. */
  readonly ratio: string;
  /** What it should be, and whether it is; empty when nobody has promised anything. */
  readonly goal: string;
}

export function goal(text: string, met: boolean): string {
  return `${text}: ${met ? 'met' : 'MISSED'}`;
}

/** The value below which `share` of the samples lie. */
export function quantile(samples: readonly number[], share: number): number {
  const ordered = samples.toSorted((a, b) => a - b);
  return ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

export function printTable(rows: readonly Row[]): string {
  const heads = ['bench', 'what', 'result', 'ratio', 'goal', 'repeat'];
  const cells = rows.map((row) => [
    row.bench,
    row.what,
    row.result,
    row.ratio,
    row.goal,
    `npm run bench -- ${row.bench}`,
  ]);
  const widths = heads.map((head, column) => Math.max(head.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[heads, widths.map((width) => '-'.repeat(width)), ...cells].map(line).join('\n')}\n`;
}
