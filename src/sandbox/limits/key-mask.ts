/** The form of the keys that this sandbox makes: see `newKeyValue`. */
const generatedKey = /wok_[\w-]{32}/g;
/** No key is shorter. A caller's token of a few letters would mask parts of every word. */
const minKeyChars = 8;

/** The text with `[key]` in the place of each of these keys, and of every key that a sandbox made. */
export function withoutKeys(text: string, keys: readonly string[]): string {
  let masked = text.replaceAll(generatedKey, '[key]');
  for (const key of keys) {
    if (key.length < minKeyChars) continue;
    for (const spelling of spellingsOf(key)) masked = masked.replaceAll(spelling, '[key]');
  }
  return masked;
}

/** As it is, in a path, and in JSON, where some programs write a slash as `\\/`. */
function spellingsOf(key: string): Set<string> {
  const json = JSON.stringify(key).slice(1, -1);
  return new Set([key, encodeURIComponent(key), json, json.replaceAll('/', '\\/')]);
}
