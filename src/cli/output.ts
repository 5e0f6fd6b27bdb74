/** A stream of text; a test reads what was written. */
export interface TextStream {
  readonly isTTY?: boolean | undefined;
  /** How many characters a line of a terminal has. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Answers go to stdout, everything else to stderr. */
export interface Streams {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
}

interface AnswerForm {
  readonly json?: boolean | undefined;
}

/** Writes the answer of a command: one line of JSON, or text for people. */
export function writeAnswer(
  { stdout }: Streams,
  { json: isJson }: AnswerForm,
  json: unknown,
  text: string,
): void {
  stdout.write(isJson === true ? `${JSON.stringify(json)}\n` : text);
}

/** Writes lines for people beside the answer; where JSON was asked for, the answer has it. */
export function writeNotes(
  { stderr }: Streams,
  { json }: AnswerForm,
  notes: readonly string[],
): void {
  if (json !== true) stderr.write(plainLines(notes));
}

/**
 * Writes one line about long work to stderr, where it is a terminal: silence would look like a
 * fault.
 */
export function sayWhatTakesLong(streams: Streams, form: AnswerForm, text: string): void {
  if (streams.stderr.isTTY === true) writeNotes(streams, form, [text]);
}

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * The fields of a record under the names of the JSON contract (docs/cli.md): `orderId` becomes
 * `order_id`.
 */
export function jsonFields(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [snakeCase(name), value]),
  );
}

/**
 * Text from outside (a supplier's message, a file name) as one line that cannot steer a terminal:
 * control characters, which could move the cursor or hide a line, and line breaks become a visible
 * sign.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '\u{fffd}');
}

/** Each text as one plain line. */
export function plainLines(texts: readonly string[]): string {
  return texts.map((text) => `${plainText(text)}\n`).join('');
}
