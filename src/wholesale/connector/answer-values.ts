import { type ExactJson, isJsonList, isJsonObject } from '../../core/exact-json.ts';
import type { Unit } from '../../core/answers/order-answer.ts';

/**
 * The value at a dotted path such as `order.total`; `$` is the value itself. Undefined when there
 * is none.
 */
export function valueAt(value: ExactJson, path: string): ExactJson | undefined {
  if (path === '$') return value;
  // Most paths are one name, and an answer is asked for hundreds of them.
  if (!path.includes('.'))
    return isJsonObject(value) && Object.hasOwn(value, path) ? value[path] : undefined;
  let current: ExactJson | undefined = value;
  for (const key of path.split('.')) {
    if (!isJsonObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/**
 * What `accept` makes of the first candidate path whose value it accepts; null when it accepts
 * none.
 */
export function firstAt<T>(
  value: ExactJson,
  candidates: readonly string[],
  accept: (found: ExactJson) => T | null,
): T | null {
  for (const path of candidates) {
    const found = valueAt(value, path);
    if (found === undefined || found === null) continue;
    const accepted = accept(found);
    if (accepted !== null) return accepted;
  }
  return null;
}

/** Text that is not blank, unchanged. */
export function textIn(value: ExactJson): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** Text of this form, without the space around it. */
function matching(value: ExactJson, form: RegExp): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  return form.test(text) ? text : null;
}

/**
 * A text in the form in which values are compared: 12.0 is 12, and capital letters are small ones.
 */
function comparable(text: string): string {
  return text
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/^(\d+)\.0+$/, '$1');
}

/**
 * Whether two texts have the same value: suppliers change the case of an id, or write a number as
 * 12.0.
 */
export function isSameText(shown: string, expected: string): boolean {
  return comparable(shown) === comparable(expected);
}

/** A number as a plain decimal; null for anything else. Not for money. */
export function numberIn(value: ExactJson): number | null {
  return typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?$/.test(value.trim())
    ? Number(value)
    : null;
}

export function listIn(value: ExactJson): readonly ExactJson[] | null {
  return isJsonList(value) ? value : null;
}

/** A count of up to nine digits. */
export function countIn(value: ExactJson): number | null {
  return typeof value === 'string' && /^\d{1,9}$/.test(value.trim()) ? Number(value) : null;
}

/** `true`, `yes` or `1`, and their opposites, as a boolean. */
export function flagIn(value: ExactJson): boolean | null {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return null;
  if (/^(true|yes|1)$/i.test(value.trim())) return true;
  return /^(false|no|0)$/i.test(value.trim()) ? false : null;
}

/**
 * A decimal amount, with its last `minorDigits` digits behind the point: 1999 with 2 digits is
 * 19.99. It stays text, because money never becomes a float. Null for a sign, an exponent, a
 * currency or grouped digits.
 */
export function amountIn(value: ExactJson, minorDigits: number): string | null {
  const decimal = typeof value === 'string' ? value.trim() : '';
  if (!/^\d{1,18}(\.\d{1,18})?$/.test(decimal)) return null;
  if (minorDigits === 0) return decimal;
  const [whole = '', fraction = ''] = decimal.split('.');
  const padded = whole.padStart(minorDigits + 1, '0');
  return `${padded.slice(0, -minorDigits)}.${padded.slice(-minorDigits)}${fraction}`;
}

/** A text in the place of an amount. A text that does not look like one may be a code: it is not shown. */
export function shownAmount(value: ExactJson): string | null {
  const text = textIn(value)?.trim() ?? null;
  return text === null || /^[-+]?[\d.,' ]{1,24}(e[-+]?\d{1,4})?$/i.test(text) ? text : '(a text)';
}

/** A currency code in capital letters; null for anything else, such as the amount of a balance. */
export function currencyIn(value: ExactJson): string | null {
  return matching(value, /^[A-Za-z]{3}$/)?.toUpperCase() ?? null;
}

/**
 * An ICCID of 18 to 22 digits; null for the placeholders that some suppliers show while an eSIM is
 * pending.
 */
export function iccidIn(value: ExactJson): string | null {
  // Read as bytes from the card, an ICCID of 19 digits has a padding F.
  return matching(value, /^\d{18,22}F?$/i)?.replace(/F$/i, '') ?? null;
}

/** An http(s) address. */
export function addressIn(value: ExactJson): string | null {
  return matching(value, /^https?:\/\/\S+$/i);
}

/** An http(s) address, or a picture as a `data:` address. */
export function pictureIn(value: ExactJson): string | null {
  return matching(value, /^(https?:\/\/\S+|data:image\/\S+)$/i);
}

/** So many names are shown at most. */
export const shownNames = 10;

/** A field name, and surely no code: some APIs use codes as names. */
export const shownName = (name: string): string =>
  /^[a-z][A-Za-z]{0,39}(_[A-Za-z]{1,39}){0,5}$/.test(name) ? name : '(another)';

const textOf = (value: ExactJson): string =>
  typeof value === 'string' ? value.trim() : JSON.stringify(value);

function isRead(value: ExactJson, read: readonly string[]): boolean {
  // Neither a flag nor an empty value is something that a customer could miss.
  if (value === null || typeof value === 'boolean') return true;
  const text = textOf(value);
  if (['', '[]', '{}'].includes(text)) return true;
  return read.some(
    (one) =>
      one === text ||
      (one.length >= 4 && text.includes(one)) ||
      (text.length >= 4 && one.includes(text)),
  );
}

/**
 * The names of the fields of units that nothing was read from: a code may be in one of them, or its
 * second part. Names only, never values.
 * @param known names that are looked at, or that its owner does not need
 */
export function unreadFieldsOf(
  elements: readonly { readonly element: ExactJson; readonly unit: Unit | null }[],
  known: { readonly ignored: readonly string[]; readonly candidates: readonly string[] },
): readonly string[] {
  const names = new Set<string>();
  for (const { element, unit } of elements) {
    if (!isJsonObject(element)) continue;
    const values =
      unit === null ? [] : Object.values(unit).filter((value) => typeof value === 'string');
    for (const [name, value] of Object.entries(element)) {
      if (names.size >= shownNames) return [...names];
      // A unit that is not delivered yet may have its field already.
      const isKnown =
        known.ignored.includes(name) || (unit === null && known.candidates.includes(name));
      if (!isKnown && !isRead(value, values)) names.add(shownName(name));
    }
  }
  return [...names];
}
