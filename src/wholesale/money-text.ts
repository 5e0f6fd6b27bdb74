import type { JsonText } from './json-text.ts';

/** An amount as plain decimal text; null for anything else, such as an exponent, a sign of currency or a grouping. */
function decimalText(value: string): string | null {
  return /^-?\d{1,18}(\.\d{1,18})?$/.test(value) ? value : null;
}

/** Moves the point `digits` to the left, on the text: 1999 with 2 digits is 19.99. Money never becomes a float. */
function shiftPoint(decimal: string, digits: number): string {
  if (digits === 0) return decimal;
  const sign = decimal.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = decimal.slice(sign.length).split('.');
  const padded = whole.padStart(digits + 1, '0');
  return `${sign}${padded.slice(0, -digits)}.${padded.slice(-digits)}${fraction}`;
}

/** An amount, with its last `minorDigits` digits behind the point; null for what is no plain decimal. */
export function amountIn(value: JsonText, minorDigits: number): string | null {
  const amount = typeof value === 'string' ? decimalText(value.trim()) : null;
  return amount === null ? null : shiftPoint(amount, minorDigits);
}

/** A currency code in capital letters; null for anything else, such as the amount of a balance. */
export function currencyIn(value: JsonText): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  return /^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : null;
}
