import type { Problem } from './check-line.ts';

/** Which rows of a file are bought, by the text of one of its columns, in any case. */
export interface RowRule {
  readonly columns: readonly string[];
  readonly isOptional: boolean;
  /** `*`: any text; an empty text: an empty cell. Null: the column says nothing about payment. */
  readonly buys: readonly string[] | null;
  /** Such rows are not paid, or not any more: nothing happens. Null: all others. */
  readonly skips: readonly string[] | null;
}

export interface PlacedRule {
  readonly name: string;
  readonly index: number;
  readonly rule: RowRule;
}

const fits = (values: readonly string[], cell: string): boolean =>
  values.some((value) => (value === '*' ? cell !== '' : value.trim().toLowerCase() === cell));

/**
 * Whether a row is bought by what it says about its payment; a problem: nobody has said what its
 * text means.
 */
export function judgeRow(
  rules: readonly PlacedRule[],
  cells: readonly string[],
): 'bought' | 'skipped' | Problem {
  let problem: Problem | null = null;
  for (const { name, index, rule } of rules) {
    const value = cells[index]?.trim() ?? '';
    const cell = value.toLowerCase();
    if (rule.buys === null || fits(rule.buys, cell)) continue;
    if (rule.skips === null || fits(rule.skips, cell)) return 'skipped';
    const says =
      'is not known to mean paid or not paid: nothing was bought for this row. If such rows are to be';
    const next = `bought, add the value to \`only\` of the folder under ${JSON.stringify(name)}`;
    problem ??= { code: 'payment_unclear', field: name, rule: `${says} ${next}`, value };
  }
  return problem ?? 'bought';
}
