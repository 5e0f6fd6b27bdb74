/** The form of the keys that this sandbox makes: see `newKeyValue`. */
const generatedKey = /wok_[\w-]{32}/g;
/** No key is shorter. A caller's token of a few letters would mask parts of every word. */
const minKeyChars = 8;

/** The text with `[key]` in the place of each of these keys, and of every key that a sandbox made. */
export function withoutKeys(text: string, keys: readonly string[]): string {
  let masked = text.replaceAll(generatedKey, '[key]');
  for (const key of keys) {
    if (key.length < minKeyChars) continue;
    // In a path, a key is percent-encoded.
    masked = masked.replaceAll(key, '[key]').replaceAll(encodeURIComponent(key), '[key]');
  }
  return masked;
}
