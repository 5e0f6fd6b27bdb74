import { messageText } from '../../core/message-text.ts';

/** The rule that a field breaks, for people. Places are paths as in `line_items[2].quantity`. */
export interface FieldProblem {
  readonly field: string;
  readonly rule: string;
}

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Nothing, as shops write it: PHP code often has `false`, an empty text or an empty list for it.
 */
export function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/**
 * A list. PHP writes a list whose keys have gaps as an object: `{"0": …, "2": …}`. Null for any
 * other value.
 */
export function listOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  if (isNothing(value)) return [];
  return isObject(value) && Object.keys(value).every((key) => /^\d+$/.test(key))
    ? Object.values(value)
    : null;
}

/**
 * An id as exact text: it may be larger than a JavaScript number. Null when it is none, as the 0 of
 * what was not saved.
 */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && /^[1-9]\d{0,19}$/.test(value) ? value : null;
}

/**
 * A whole number of pieces, also as `2.0`; null for anything else, for example a negative number or
 * a weight.
 */
export function piecesOf(value: unknown): number | null {
  return typeof value === 'string' && /^\d{1,9}(?:\.0{1,20})?$/.test(value) ? Number(value) : null;
}

/** ISO 8601 as shops write it, in UTC where it has no zone. Null when it is no time. */
export function shopTime(text: unknown): number | null {
  if (typeof text !== 'string' || text === '') return null;
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);
  return Number.isFinite(ms) ? ms : null;
}

/** A value from a shop inside a sentence: enough to find it, never a full copy. */
export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  // Its beginning is enough, and a value may be as long as a document.
  return messageText((JSON.stringify(value) ?? '').slice(0, 256), 64);
}

/**
 * The fields of an order or a line, also those of plugins and customers, if they say anything.
 * Names are in small letters.
 */
export function allFields(item: Fields): readonly (readonly [name: string, value: unknown])[] {
  const added = [item['meta_data'], item['properties'], item['note_attributes']]
    .flatMap((list) => Object.entries(isObject(list) || Array.isArray(list) ? list : {}))
    .map(([key, entry]: [string, unknown]): [string, unknown] =>
      isObject(entry) ? [String(entry['key'] ?? entry['name']), entry['value']] : [key, entry],
    );
  return [...Object.entries(item), ...added]
    .filter(([, value]) => !isNothing(value) && !/^(?:0|no|false)$/.test(String(value)))
    .map(([name, value]) => [name.toLowerCase(), value]);
}

/**
 * The texts of a field that plugins and customers fill, by its name in small letters. Entries in
 * another form are passed over.
 * @param entries a list of `{ <nameKey>, value }`, or an object of names and values
 */
export function namedTexts(
  entries: unknown,
  nameKey: 'key' | 'name',
): readonly (readonly [string, string])[] {
  const list: object = Array.isArray(entries) || isObject(entries) ? entries : {};
  return Object.entries(list).flatMap(([key, entry]: [string, unknown]) => {
    const [name, value] = isObject(entry) ? [entry[nameKey], entry['value']] : [key, entry];
    const isText = typeof name === 'string' && typeof value === 'string' && value.trim() !== '';
    return isText ? [[name.toLowerCase(), value.trim()] as const] : [];
  });
}

/** Every different text under that name, in capitals or not. */
export function customTexts(
  entries: unknown,
  nameKey: 'key' | 'name',
  wanted: string,
): readonly string[] {
  const texts = namedTexts(entries, nameKey).flatMap(([name, text]) =>
    name === wanted.toLowerCase() ? [text] : [],
  );
  return [...new Set(texts)];
}
