/** A search finds so many values of one order, or of one line. */
const mostValues = 40;
/** A longer word is cut, and so is a longer value: it is no name, number or address. */
const longestWord = 64;
const longestValue = 400;

/**
 * A value that is as it should be already, which most are: it is looked at once, because many come
 * at a time.
 */
const plainValue = /^[\dA-Za-z](?:[\w@.+-]{0,62}[\dA-Za-z])?$/;

/**
 * The words of a text, in small letters. An e-mail address, and a SKU such as `steam-usd-20`, is
 * one word; `#1001` is `1001`.
 */
export function wordsOf(text: string): readonly string[] {
  return text
    .slice(0, longestValue)
    .normalize('NFC')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}@._+-]+/u)
    .map((word) => word.replaceAll(/^[@._+-]+|(?<![@._+-])[@._+-]+$/g, '').slice(0, longestWord))
    .filter((word) => word !== '');
}

/**
 * The words by which something is found, divided by spaces, from values as deep as they are: texts
 * and numbers, not the names of fields. The index does not tell capital letters of A to Z from
 * small ones.
 */
export function searchWords(values: readonly unknown[]): string {
  const words: string[] = [];
  const waiting = values.toReversed();
  for (let read = 0; waiting.length > 0 && read < mostValues; read += 1) {
    const value = waiting.pop();
    if (typeof value === 'string' && plainValue.test(value)) words.push(value);
    else if (typeof value === 'string' || typeof value === 'number')
      words.push(...wordsOf(String(value)));
    else if (typeof value === 'object' && value !== null) {
      waiting.push(...Object.values(value).slice(0, mostValues).toReversed());
    }
  }
  return words.join(' ');
}

/**
 * The last four letters and digits of a code; null for a short code, of which four would tell too
 * much.
 */
export function endingOf({
  code,
  pin,
}: {
  readonly code?: string;
  readonly pin?: string;
}): string | null {
  const plain = (code ?? pin ?? '').toUpperCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');
  return plain.length < 8 ? null : plain.slice(-4);
}
