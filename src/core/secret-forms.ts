/** The ways in which another program may write a secret that it repeats, in small letters. Base64 in its usual alphabet. */
export function secretForms(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex');
  return [secret, hex, ...base64Forms(secret)].map(inSmallLetters);
}

/**
 * Base64 of the secret alone, and inside a longer text such as `Bearer <key>`: there it can begin at any of three places
 * of a group. Characters that also depend on what is before or behind it are left out.
 */
function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const isSplit = (before + bytes.length) % 3 !== 0;
    return text.slice(before === 0 ? 0 : before + 1, isSplit ? -1 : undefined);
  });
}

/** Small letters for A to Z only: the text keeps its length. */
export function inSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
