/** An amount as plain decimal text; null for anything else, such as an exponent, a sign of currency or a grouping. */
export function decimalText(value: string): string | null {
  return /^-?\d{1,18}(\.\d{1,18})?$/.test(value) ? value : null;
}

/** Moves the point `digits` to the left, on the text: 1999 with 2 digits is 19.99. Money never becomes a float. */
export function shiftPoint(decimal: string, digits: number): string {
  if (digits === 0) return decimal;
  const sign = decimal.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = decimal.slice(sign.length).split('.');
  const padded = whole.padStart(digits + 1, '0');
  return `${sign}${padded.slice(0, -digits)}.${padded.slice(-digits)}${fraction}`;
}
