const messageLimit = 500;

/** Foreign text for logs and people: one line, no control characters that could drive a terminal, cut to a limit. */
export function messageText(text: string, limit: number = messageLimit): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  // Cut between characters, never within one.
  const characters = line.length > limit ? Array.from(line) : [];
  return characters.length > limit ? `${characters.slice(0, limit - 1).join('')}…` : line;
}

/** A foreign value inside a sentence. */
export function quoted(value: string): string {
  return `"${messageText(value, 64)}"`;
}

/** Takes a secret out of a text, whoever put it there; also the beginning of it that a cut has left. */
export function withoutSecret(text: string, secret: string): string {
  if (secret === '') return text;
  let clean = text.replaceAll(secret, '[key]');
  for (let length = secret.length - 1; length >= 4 && clean.includes('…'); length -= 1) {
    clean = clean.replaceAll(`${secret.slice(0, length)}…`, '[key]…');
  }
  return clean;
}
