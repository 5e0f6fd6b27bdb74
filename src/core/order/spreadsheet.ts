// What spreadsheets make of a long number, of `1-12`, and of `2026-1-12`: `1,23457E+11`, `12.Jan` or `Jan-12`, a date.
const power = /^-?\d+(?:[.,]\d+)?E[+-]\d+$/i;
const month =
  '(?:jan|janv|feb|f[eé]vr?|mar|mars|mrz|mär|apr|avr|abr|may|mai|jun|juin|jul|juil|aug|août|ago|sept?|oct|okt|nov|dec|dez|déc|dic|ene)';
const dayOrMonth = new RegExp(`^(?:\\d\\d?[. -]{1,2}${month}\\.?(?:[. -]\\d{2,4})?|${month}\\.?[. -]\\d\\d)$`, 'i');
const date = /^(?:\d{4}([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2(?:\d{4}|\d{2}))(?: 0?0:00(?::00)?)?$/;

/** What a spreadsheet has probably turned an id into; null: nothing shows that. A whole date may well be an id. */
export function mangledAs(text: string): 'number' | 'month' | 'date' | null {
  if (power.test(text)) return 'number';
  if (dayOrMonth.test(text)) return 'month';
  return date.test(text) ? 'date' : null;
}
