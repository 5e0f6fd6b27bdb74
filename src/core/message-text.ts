const messageLimit = 500;

/**
 * Text from outside, for logs and people: one line, without control characters, cut to a limit of
 * characters.
 */
export function messageText(text: string, limit: number = messageLimit): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  return cutTo(line, limit);
}

function cutTo(line: string, limit: number): string {
  // Array.from splits between characters, never inside one.
  const characters = line.length > limit ? Array.from(line) : [];
  return characters.length > limit ? `${characters.slice(0, limit - 1).join('')}…` : line;
}

/**
 * A text as a sentence: with a capital letter where it begins with a plain word, and not with a
 * name such as `key:main`, and with its end.
 */
export function sentence(text: string): string {
  const begun = text.replace(/^[a-z]+(?=[ ,])/, (word) => word[0]?.toUpperCase() + word.slice(1));
  return /[.!?:…]$/.test(begun) || begun === '' ? begun : `${begun}.`;
}

/** Text from outside in quotes, with what nobody would see in it by its code: `"STEAM\u00a020"`. */
export function quoted(value: string): string {
  const shown = value.slice(0, 100).replaceAll(/(?! )[\p{C}\p{Z}\p{DI}]/gu, (character) => {
    return `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`;
  });
  return `"${cutTo(shown, 64)}"`;
}

/** So many characters of a secret are more than a word of the text that happens to be equal. */
const tellingLength = 12;

/**
 * Removes a secret from a text: as it is, in hexadecimal or base64, in capital or small letters,
 * and each beginning of it with at least 12 characters. Also a shorter one that is left where the
 * text was cut.
 */
export function withoutSecret(text: string, secret: string): string {
  if (secret === '' || text === '') return text;
  let clean = secretForms(secret).map(comparable).reduce(withoutForm, text);
  for (
    let length = Math.min(tellingLength, secret.length) - 1;
    length >= 4 && clean.includes('…');
    length -= 1
  ) {
    clean = clean.replaceAll(`${secret.slice(0, length)}…`, '[key]…');
  }
  return clean;
}

/** @param whole one way to write the secret, comparable */
function withoutForm(text: string, whole: string): string {
  const found = comparable(text);
  const start = whole.slice(0, tellingLength);
  let clean = '';
  let from = 0;
  for (let at = found.indexOf(start); at >= 0; at = found.indexOf(start, from)) {
    let length = start.length;
    while (length < whole.length && found[at + length] === whole[length]) length += 1;
    clean += `${text.slice(from, at)}[key]`;
    from = at + length;
  }
  return clean + text.slice(from);
}

/**
 * The ways in which another program may write a secret that it repeats. Base64 of the secret alone,
 * and inside a longer text such as `Bearer <key>`: there it can begin at any of three places of a
 * group. Characters that also depend on what is before or behind it are left out.
 */
function secretForms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const isSplit = (before + bytes.length) % 3 !== 0;
    return text.slice(before === 0 ? 0 : before + 1, isSplit ? -1 : undefined);
  });
  return [secret, bytes.toString('hex'), ...base64];
}

/**
 * The same length with small letters for A to Z, and base64 for addresses in its usual alphabet.
 */
function comparable(text: string): string {
  return text
    .replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .replaceAll('-', '+')
    .replaceAll('_', '/');
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
