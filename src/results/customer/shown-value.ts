/** A value of the order within a text. It runs from left to right, also where the text around it does not. */
export class ShownValue {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** LEFT-TO-RIGHT ISOLATE and POP DIRECTIONAL ISOLATE of Unicode. */
const isolate = ['\u2066', '\u2069'] as const;

/** Writes values into a plain text. Only where the text runs from right to left, marks keep them apart from it. */
export function writeIntoText(rightToLeft: boolean): (value: unknown) => string {
  const [before, after] = rightToLeft ? isolate : ['', ''];
  return (value) => (value instanceof ShownValue ? `${before}${value.text}${after}` : String(value));
}

/**
 * Writes values into a page: what is between the tags is the value, character by character.
 * @throws Error for a value that no page can show unaltered. Its message has no value in it
 */
export function writeIntoHtml(value: unknown): string {
  return value instanceof ShownValue ? `<bdi dir="ltr">${escapeHtml(value.text)}</bdi>` : escapeHtml(String(value));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // A page reads a bare carriage return as a line feed.
  '\r': '&#13;',
};

function escapeHtml(text: string): string {
  if (text.includes('\0') || !text.isWellFormed()) throw new Error('a value has a character that a page cannot show');
  return text.replaceAll(/[&<>"'\r]/g, (character) => escapes[character] ?? '');
}
