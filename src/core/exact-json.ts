/**
 * Reads JSON with every number as the text that was sent: ids of storefronts are larger than a JavaScript number can
 * hold, and two of them would become the same. Null when it is not JSON.
 */
export function readExactJson(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text, asWritten) };
  } catch {
    // Not JSON, or nested so deep that reading it is not worth it.
    return null;
  }
}

/** Node tells a reviver what stood in the text; the type of its library does not know yet. */
function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? String(value)) : value;
}
