// What spreadsheets make of a long number, of `1-12`, and of `2026-1-12`: `1,23457E+11`, `12.Jan`
// or `Jan-12`, a date.
const power = /^-?\d+(?:[.,]\d+)?E[+-]\d+$/i;
const month =
  '(?:jan|janv|feb|f[eé]vr?|mar|mars|mrz|mär|apr|avr|abr|may|mai|jun|juin|jul|juil|aug|août|ago|sept?|oct|okt|nov|dec|dez|déc|dic|ene)';
const dayOrMonth = new RegExp(
  `^(?:\\d\\d?[. -]{1,2}${month}\\.?(?:[. -]\\d{2,4})?|${month}\\.?[. -]\\d\\d)$`,
  'i',
);
const date =
  /^(?:\d{4}([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2(?:\d{4}|\d{2}))(?: 0?0:00(?::00)?)?$/;

/**
 * What a spreadsheet has probably turned an id into; null: nothing shows that. A whole date may
 * well be an id.
 */
export function mangledAs(text: string): 'number' | 'month' | 'date' | null {
  if (power.test(text)) return 'number';
  if (dayOrMonth.test(text)) return 'month';
  return date.test(text) ? 'date' : null;
}

/**
 * A cell without the mark by which a spreadsheet keeps it a text: `'0027001`, `="0027001"`, or a
 * tab before it.
 */
export function withoutTextMark(cell: string): string {
  // Most cells have none.
  if (!/^[\t'=]/.test(cell)) return cell;
  if (cell.startsWith('\t')) return cell.slice(1);
  if (cell.startsWith('="')) return /^="[^"]*"$/.test(cell) ? cell.slice(2, -1) : cell;
  return /^'[^'=+\-@]/.test(cell) ? cell.slice(1) : cell;
}

/**
 * The number that a spreadsheet makes of an id such as `0027001` or `27001.0`; null: it leaves the
 * id as it is.
 */
export function bareNumber(id: string): string | null {
  return /^'?0*([1-9]\d*)(?:[.,]0+)?$/.exec(id)?.[1] ?? null;
}
