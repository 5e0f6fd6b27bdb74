/**
 * A JSON reader for documents that spend money. It accepts the same texts as JSON.parse, and
 * reports what JSON.parse hides: duplicate keys (the last one wins), numbers that lose digits,
 * `__proto__`, lone surrogates. Each finding has its place, so that only the line that contains it
 * is rejected; a syntax error ends the reading.
 */
export interface StrictJson {
  readonly value: unknown;
  readonly findings: readonly JsonFinding[];
  /** The line of text on which an object begins; null for any other value. */
  readonly lineOf: (value: unknown) => number | null;
}

/** Something that JSON allows and an order must not contain. */
export interface JsonFinding {
  readonly code: 'duplicate_key' | 'reserved_key' | 'unsafe_number' | 'bad_unicode';
  readonly path: readonly (string | number)[];
  readonly rule: string;
  readonly value: string;
}

export class JsonSyntaxError extends Error {
  override name = 'JsonSyntaxError';
  readonly code: 'invalid_json' | 'too_deep';
  readonly offset: number;

  constructor(message: string, offset: number, code: 'invalid_json' | 'too_deep' = 'invalid_json') {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/** RFC 6901: the place of a value in a document. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

/** Reads one JSON value, whose objects may have so many names. Throws JsonSyntaxError. */
export function parseStrictJson(
  text: string,
  maxDepth: number,
  maxNames = Number.POSITIVE_INFINITY,
): StrictJson {
  const reader = new Reader(text, maxDepth, maxNames);
  const value = reader.document();
  return { value, findings: reader.findings, lineOf: (found) => reader.lines.get(found) ?? null };
}

const findingsLimit = 1000;
const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const words = new Map(
  [true, false, null].map((value) => [String(value).charAt(0), { text: String(value), value }]),
);
const unknownEscape = /\\(?!["/bfnrt]|u[0-9a-fA-F]{4})/;

class Reader {
  readonly findings: JsonFinding[] = [];
  readonly lines = new Map<unknown, number>();
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #maxNames: number;
  readonly #path: (string | number)[] = [];
  #at = 0;
  #line = 1;

  constructor(text: string, maxDepth: number, maxNames: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#maxNames = maxNames;
  }

  document(): unknown {
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length)
      this.#fail(`unexpected ${this.#met()} after the end of the document`);
    return value;
  }

  #fail(message: string, offset = this.#at): never {
    throw new JsonSyntaxError(message, offset);
  }

  #met(): string {
    const point = this.#text.codePointAt(this.#at);
    return point === undefined
      ? 'the end of the text'
      : JSON.stringify(String.fromCodePoint(point));
  }

  #find(code: JsonFinding['code'], rule: string, value: string, key?: string): void {
    // None may be left out: an order whose finding is missing would look correct.
    if (this.findings.length >= findingsLimit)
      this.#fail(`more than ${findingsLimit} mistakes: ${key ?? ''} ${rule}`);
    const path = key === undefined ? [...this.#path] : [...this.#path, key];
    this.findings.push({ code, path, rule, value });
  }

  #skipSpace(): void {
    for (; ; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      // Strings contain no raw newlines, so every newline of the document is met here.
      if (code === 0x0a) this.#line += 1;
      else if (code !== 0x20 && code !== 0x0d && code !== 0x09) return;
    }
  }

  #value(depth: number): unknown {
    this.#skipSpace();
    const begin = this.#text[this.#at] ?? '';
    if (begin === '{') return this.#object(depth + 1);
    if (begin === '[') return this.#array(depth + 1);
    if (begin === '"') return this.#string();
    const word = words.get(begin);
    if (word === undefined) return this.#number();
    if (!this.#text.startsWith(word.text, this.#at))
      this.#fail(`expected a value, found ${this.#met()}`);
    this.#at += word.text.length;
    return word.value;
  }

  /** Steps into an object or an array. True when it is empty; then also out of it. */
  #enter(depth: number, close: string): boolean {
    if (depth > this.#maxDepth)
      throw new JsonSyntaxError(
        `more than ${this.#maxDepth} nested objects and arrays`,
        this.#at,
        'too_deep',
      );
    this.#at += 1;
    this.#skipSpace();
    if (this.#text[this.#at] !== close) return false;
    this.#at += 1;
    return true;
  }

  /** Steps over a comma, or out of the object or array. True when there is another member. */
  #hasNext(close: string): boolean {
    this.#skipSpace();
    const next = this.#text[this.#at];
    if (next !== ',' && next !== close)
      this.#fail(`expected "," or "${close}", found ${this.#met()}`);
    this.#at += 1;
    return next === ',';
  }

  #object(depth: number): object {
    const object: Record<string, unknown> = {};
    this.lines.set(object, this.#line);
    if (this.#enter(depth, '}')) return object;
    let names = 0;
    do {
      this.#skipSpace();
      names += 1;
      if (names > this.#maxNames) this.#fail(`more than ${this.#maxNames} names in one object`);
      if (this.#text[this.#at] !== '"')
        this.#fail(`expected a name in double quotes, found ${this.#met()}`);
      const key = this.#string();
      this.#skipSpace();
      if (this.#text[this.#at] !== ':') this.#fail(`expected ":", found ${this.#met()}`);
      this.#at += 1;
      if (key === '__proto__') this.#find('reserved_key', 'must not be used as a name', key, key);
      else if (Object.hasOwn(object, key))
        this.#find('duplicate_key', 'is given twice in the same object', key, key);
      this.#path.push(key);
      const value = this.#value(depth);
      this.#path.pop();
      if (key !== '__proto__') object[key] = value;
    } while (this.#hasNext('}'));
    return object;
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    if (this.#enter(depth, ']')) return array;
    do {
      this.#path.push(array.length);
      array.push(this.#value(depth));
      this.#path.pop();
    } while (this.#hasNext(']'));
    return array;
  }

  #string(): string {
    const start = this.#at;
    let isPlain = true;
    let end = start + 1;
    for (let code = this.#text.charCodeAt(end); code !== 0x22; code = this.#text.charCodeAt(end)) {
      if (Number.isNaN(code)) this.#fail('the text ends inside a string', end);
      if (code < 0x20) this.#fail(`control character ${code} inside a string`, end);
      if (code === 0x5c) isPlain = false;
      end += code === 0x5c ? 2 : 1;
    }
    this.#at = end + 1;
    return isPlain ? this.#text.slice(start + 1, end) : this.#decoded(start, end);
  }

  /** Decodes the string whose opening quote is at `start` and whose closing quote is at `end`. */
  #decoded(start: number, end: number): string {
    // Escaped backslashes are blanked out first: the second one must not look like the start of an
    // escape.
    const unknown = unknownEscape.exec(this.#text.slice(start, end).replaceAll('\\\\', '__'));
    if (unknown !== null) this.#fail('unknown escape in a string', start + unknown.index);
    const text: string = JSON.parse(this.#text.slice(start, end + 1));
    // A lone surrogate cannot be stored as UTF-8: it would come back as another character.
    if (!text.isWellFormed())
      this.#find('bad_unicode', 'contains a lone surrogate', text.toWellFormed());
    return text;
  }

  #number(): number {
    numberPattern.lastIndex = this.#at;
    const match = numberPattern.exec(this.#text)?.[0];
    if (match === undefined) this.#fail(`expected a value, found ${this.#met()}`);
    this.#at += match.length;
    const value = Number(match);
    if (losesDigits(match, value))
      this.#find(
        'unsafe_number',
        'is a number too long to be read exactly: send it as a string',
        match,
      );
    return value;
  }
}

function losesDigits(literal: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  if (Number.isInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER) return true;
  const [mantissa = ''] = literal.split(/[eE]/, 1);
  const digits = mantissa.replace(/[^0-9]/g, '').replace(/^0+/, '');
  if (value === 0) return digits !== '';
  // By hand: the time of /0+$/ grows with the square of the length.
  let significant = digits.length;
  while (significant > 17 && digits[significant - 1] === '0') significant -= 1;
  return significant > 17;
}
