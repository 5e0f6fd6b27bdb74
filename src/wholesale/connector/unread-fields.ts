import type { Unit } from '../../core/answers/order-answer.ts';
import { type ExactJson, isJsonObject } from '../../core/exact-json.ts';

/** So many names are shown at most. */
export const shownNames = 10;

/** A field name, and surely no code: some APIs use codes as names. */
export const shownName = (name: string): string =>
  /^[a-z][A-Za-z]{0,39}(_[A-Za-z]{1,39}){0,5}$/.test(name) ? name : '(another)';

const textOf = (value: ExactJson): string => (typeof value === 'string' ? value.trim() : JSON.stringify(value));

function isRead(value: ExactJson, read: readonly string[]): boolean {
  // Neither a flag nor an empty value is something that a customer could miss.
  if (value === null || typeof value === 'boolean') return true;
  const text = textOf(value);
  if (['', '[]', '{}'].includes(text)) return true;
  return read.some(
    (one) => one === text || (one.length >= 4 && text.includes(one)) || (text.length >= 4 && one.includes(text)),
  );
}

/**
 * The names of the fields of units that nothing was read from: a code may be in one of them, or its second part. Names only,
 * never values.
 * @param known names that are looked at, or that its owner does not need
 */
export function unreadFieldsOf(
  elements: readonly { readonly element: ExactJson; readonly unit: Unit | null }[],
  known: { readonly ignored: readonly string[]; readonly candidates: readonly string[] },
): readonly string[] {
  const names = new Set<string>();
  for (const { element, unit } of elements) {
    if (!isJsonObject(element)) continue;
    const values = unit === null ? [] : Object.values(unit).filter((value) => typeof value === 'string');
    for (const [name, value] of Object.entries(element)) {
      if (names.size >= shownNames) return [...names];
      // A unit that is not delivered yet may have its field already.
      const isKnown = known.ignored.includes(name) || (unit === null && known.candidates.includes(name));
      if (!isKnown && !isRead(value, values)) names.add(shownName(name));
    }
  }
  return [...names];
}
