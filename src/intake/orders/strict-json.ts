/**
 * A JSON reader for documents that spend money. It reads what JSON.parse reads, and names what JSON.parse hides:
 * duplicate keys (the last one wins in silence), numbers that lose digits, `__proto__`, half characters. Those are
 * collected with their place, so that one bad line of an order is refused alone; a syntax error ends the reading.
 */
export interface StrictJson {
  readonly value: unknown;
  readonly findings: readonly JsonFinding[];
  /** Where an object begins in the text. */
  offsetOf(value: object): number;
}

/** Something that JSON allows and an order must not contain. */
export interface JsonFinding {
  readonly code: 'duplicate_key' | 'reserved_key' | 'unsafe_number' | 'bad_unicode';
  readonly path: readonly (string | number)[];
  readonly rule: string;
  readonly value: string;
}

export class JsonSyntaxError extends Error {
  readonly code: 'invalid_json' | 'too_deep';
  readonly offset: number;

  constructor(code: 'invalid_json' | 'too_deep', message: string, offset: number) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.code = code;
    this.offset = offset;
  }
}

const findingsLimit = 1000;
const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** Reads one JSON value. Throws JsonSyntaxError. */
export function parseStrictJson(text: string, maxDepth: number): StrictJson {
  const reader = new Reader(text, maxDepth);
  const value = reader.document();
  return { value, findings: reader.findings, offsetOf: (object) => reader.offsets.get(object) ?? 0 };
}

class Reader {
  readonly findings: JsonFinding[] = [];
  readonly offsets = new Map<object, number>();
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): unknown {
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail(`unexpected ${this.#met()} after the end of the document`);
    return value;
  }

  #fail(message: string, offset = this.#at): never {
    throw new JsonSyntaxError('invalid_json', message, offset);
  }

  #met(): string {
    const point = this.#text.codePointAt(this.#at);
    return point === undefined ? 'end of the text' : JSON.stringify(String.fromCodePoint(point));
  }

  #find(code: JsonFinding['code'], rule: string, value: string, key?: string): void {
    // None may be passed over: the next could stand in an order that looks clean without it.
    if (this.findings.length >= findingsLimit)
      this.#fail(`more than ${findingsLimit} places like this one: ${key ?? ''} ${rule}`);
    const path = key === undefined ? [...this.#path] : [...this.#path, key];
    this.findings.push({ code, path, rule, value });
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #value(depth: number): unknown {
    this.#space();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth + 1);
      case '[':
        return this.#array(depth + 1);
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail(`expected a value, met ${this.#met()}`);
    this.#at += word.length;
    return value;
  }

  #deepen(depth: number): void {
    if (depth > this.#maxDepth) {
      throw new JsonSyntaxError(
        'too_deep',
        `more than ${this.#maxDepth} objects and arrays within each other`,
        this.#at,
      );
    }
  }

  #object(depth: number): object {
    this.#deepen(depth);
    const object: Record<string, unknown> = {};
    this.offsets.set(object, this.#at);
    this.#at += 1;
    this.#space();
    if (this.#text[this.#at] === '}') {
      this.#at += 1;
      return object;
    }
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail(`expected a name in double quotes, met ${this.#met()}`);
      const key = this.#string();
      this.#space();
      if (this.#text[this.#at] !== ':') this.#fail(`expected ":", met ${this.#met()}`);
      this.#at += 1;
      if (key === '__proto__') this.#find('reserved_key', 'must not be used as a name', key, key);
      else if (Object.hasOwn(object, key)) {
        this.#find('duplicate_key', 'is given twice in the same object', key, key);
      }
      this.#path.push(key);
      const value = this.#value(depth);
      this.#path.pop();
      if (key !== '__proto__') object[key] = value;
      this.#space();
      const next = this.#text[this.#at];
      if (next !== ',' && next !== '}') this.#fail(`expected "," or "}", met ${this.#met()}`);
      this.#at += 1;
      if (next === '}') return object;
    }
  }

  #array(depth: number): unknown[] {
    this.#deepen(depth);
    const array: unknown[] = [];
    this.#at += 1;
    this.#space();
    if (this.#text[this.#at] === ']') {
      this.#at += 1;
      return array;
    }
    for (;;) {
      this.#path.push(array.length);
      array.push(this.#value(depth));
      this.#path.pop();
      this.#space();
      const next = this.#text[this.#at];
      if (next !== ',' && next !== ']') this.#fail(`expected "," or "]", met ${this.#met()}`);
      this.#at += 1;
      if (next === ']') return array;
    }
  }

  #string(): string {
    const start = this.#at + 1;
    let text = '';
    let from = start;
    let escaped = false;
    for (let at = start; ; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code === 0x22) {
        text += this.#text.slice(from, at);
        this.#at = at + 1;
        break;
      }
      if (code === 0x5c) {
        text += this.#text.slice(from, at);
        const [character, length] = this.#escape(at);
        text += character;
        escaped = true;
        at += length;
        from = at + 1;
      } else if (Number.isNaN(code)) {
        this.#fail('the text ends inside a string', start - 1);
      } else if (code < 0x20) {
        this.#fail(`control character ${code} inside a string`, at);
      }
    }
    // Half of a surrogate pair cannot be stored as UTF-8: it would come back as another character.
    if (escaped && !text.isWellFormed()) {
      this.#find('bad_unicode', 'contains half of a surrogate pair', text.toWellFormed());
    }
    return text;
  }

  /** The character that the escape at `at` stands for, and how many characters follow the backslash. */
  #escape(at: number): [string, number] {
    const letter = this.#text[at + 1] ?? '';
    const simple = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
    if (simple !== undefined) return [simple, 1];
    const hex = this.#text.slice(at + 2, at + 6);
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(hex)) this.#fail('unknown escape in a string', at);
    return [String.fromCharCode(Number.parseInt(hex, 16)), 5];
  }

  #number(): number {
    numberPattern.lastIndex = this.#at;
    const match = numberPattern.exec(this.#text)?.[0];
    if (match === undefined) this.#fail(`expected a value, met ${this.#met()}`);
    this.#at += match.length;
    const value = Number(match);
    if (losesDigits(match, value)) {
      this.#find('unsafe_number', 'is a number that loses digits: send it as a string', match);
    }
    return value;
  }
}

function losesDigits(literal: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  if (Number.isInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER) return true;
  const digits = literal
    .replace(/[eE].*$/, '')
    .replace(/[^0-9]/g, '')
    .replace(/^0+/, '');
  if (value === 0) return digits !== '';
  return digits.replace(/0+$/, '').length > 17;
}
