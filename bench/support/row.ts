/** One row of the table: a measurement, with its comparison from the same run. */
export interface Row {
  readonly bench: string;
  readonly what: string;
  readonly result: string;
  /** The quotient of two figures of the same run; empty without a comparison. */
  readonly ratio: string;
  /** The promised figure, and whether it is met; empty when none is promised. */
  readonly goal: string;
}

export function goal(text: string, met: boolean): string {
  return `${text}: ${met ? 'met' : 'MISSED'}`;
}

/** The value below which this share of the samples lies. */
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
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[heads, widths.map((width) => '-'.repeat(width)), ...cells].map(line).join('\n')}\n`;
}
