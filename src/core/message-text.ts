const messageLimit = 500;

/** Text from outside, for logs and people: one line, without control characters, cut to a limit of characters. */
export function messageText(text: string, limit: number = messageLimit): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  // Array.from splits between characters, never inside one.
  const characters = line.length > limit ? Array.from(line) : [];
  return characters.length > limit ? `${characters.slice(0, limit - 1).join('')}…` : line;
}

/** A value from outside, inside a sentence. */
export function quoted(value: string): string {
  return `"${messageText(value, 64)}"`;
}

/** Removes a secret from a text, and also the beginning of it that is left where the text was cut. */
export function withoutSecret(text: string, secret: string): string {
  if (secret === '') return text;
  let clean = text.replaceAll(secret, '[key]');
  for (let length = secret.length - 1; length >= 4 && clean.includes('…'); length -= 1) {
    clean = clean.replaceAll(`${secret.slice(0, length)}…`, '[key]…');
  }
  return clean;
}
