/** JSON whose numbers are the text they were written as: an ICCID or a price read as a float is no longer itself. */
export type JsonText = string | boolean | null | readonly JsonText[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonText;
}

function withNumbersAsText(_key: string, value: unknown, ...rest: unknown[]): unknown {
  if (typeof value !== 'number') return value;
  const context = rest[0];
  if (typeof context === 'object' && context !== null && 'source' in context && typeof context.source === 'string') {
    return context.source;
  }
  return String(value);
}

/**
 * Reads JSON without losing a digit. Undefined when the text is not complete JSON, whatever is wrong with it: what
 * follows from that is for the caller to say, so this never throws.
 */
export function parseJsonText(text: string): JsonText | undefined {
  try {
    const value: JsonText = JSON.parse(text, withNumbersAsText);
    return value;
  } catch {
    // Besides a syntax error this may be a RangeError: the reviver recurses, and an answer may be nested too deep.
    return undefined;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The same for bytes; undefined also when they are not UTF-8. A byte order mark is no part of the text. */
export function parseJsonBytes(bytes: Uint8Array): JsonText | undefined {
  try {
    return parseJsonText(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: JsonText | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `Array.isArray` does not see through a readonly array; this does. */
export function isJsonList(value: JsonText | undefined): value is readonly JsonText[] {
  return Array.isArray(value);
}

/** The value at a dotted path such as `order.total`; `$` is the value itself. Undefined when there is none. */
export function valueAt(value: JsonText, path: string): JsonText | undefined {
  if (path === '$') return value;
  let current: JsonText | undefined = value;
  for (const key of path.split('.')) {
    if (!isJsonObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/** The first candidate that `accept` turns into something; null when none does. */
export function firstAt<T>(
  value: JsonText,
  candidates: readonly string[],
  accept: (found: JsonText) => T | null,
): T | null {
  for (const path of candidates) {
    const found = valueAt(value, path);
    if (found === undefined || found === null) continue;
    const accepted = accept(found);
    if (accepted !== null) return accepted;
  }
  return null;
}

/** Text that says something: not blank, verbatim. */
export function textOf(value: JsonText): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
