/**
 * JSON with every number as the text that was sent. Read as a JavaScript number, a price or an
 * ICCID loses digits, and two different order ids of a shop can become the same.
 */
export type ExactJson = string | boolean | null | readonly ExactJson[] | ExactJsonObject;
export interface ExactJsonObject {
  readonly [key: string]: ExactJson;
}

/**
 * Reads JSON. Undefined when the text is not complete JSON, or is nested too deep to read. Never
 * throws.
 */
export function parseExactJson(text: string): ExactJson | undefined {
  try {
    const value: ExactJson = JSON.parse(text, numberAsText);
    return value;
  } catch {
    // A syntax error, or a RangeError: the reviver is called recursively.
    return undefined;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The same for bytes; undefined also when they are not UTF-8. Byte order marks are skipped. */
export function parseExactJsonBytes(bytes: Uint8Array): ExactJson | undefined {
  try {
    return parseExactJson(utf8.decode(bytes).trimStart());
  } catch {
    return undefined;
  }
}

/**
 * Node passes the source text of a value to the reviver; the types of its library do not declare it
 * yet.
 */
function numberAsText(
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  return typeof value === 'number' ? (context?.source ?? String(value)) : value;
}

export function isJsonObject(value: ExactJson | undefined): value is ExactJsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `Array.isArray` does not narrow to a readonly array; this does. */
export function isJsonList(value: ExactJson | undefined): value is readonly ExactJson[] {
  return Array.isArray(value);
}
