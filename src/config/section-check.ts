import { Buffer } from 'node:buffer';
import { isHttpUrl, isLoopback } from '../core/settings/schema-values.ts';

export type ConfigPath = readonly (string | number)[];

/** A map or a list in a tree that is not checked yet. */
export type Branch = Record<string | number, unknown>;

export function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null;
}

/** The value at a path, or undefined. Only own properties count: `constructor` is not a key of every map. */
export function valueAt(tree: unknown, path: ConfigPath): unknown {
  let here = tree;
  for (const segment of path) {
    if (!isBranch(here) || !Object.hasOwn(here, segment)) return undefined;
    here = here[segment];
  }
  return here;
}

export function isSandbox(tree: unknown): boolean {
  return valueAt(tree, ['wholesale', 'environment']) === 'sandbox';
}

/**
 * The tree as it was written, for the rules between keys: one report has their issues and those of the schema. A rule
 * ignores values of a wrong type, which the schema reports, and puts no secret into a message.
 */
export class SectionCheck {
  readonly #tree: unknown;
  readonly #secretOf: (path: string) => string | undefined;
  readonly #report: (path: ConfigPath, problem: string) => void;
  readonly #warn: (sentence: string) => void;
  readonly isSandbox: boolean;

  constructor(
    tree: unknown,
    options: {
      readonly secretOf: (path: string) => string | undefined;
      readonly report: (path: ConfigPath, problem: string) => void;
      readonly warn: (sentence: string) => void;
    },
  ) {
    this.#tree = tree;
    this.#secretOf = options.secretOf;
    this.#report = options.report;
    this.#warn = options.warn;
    this.isSandbox = isSandbox(tree);
  }

  at(...path: ConfigPath): unknown {
    return valueAt(this.#tree, path);
  }

  /** The path of each entry of the list at this path. */
  entries(...path: ConfigPath): ConfigPath[] {
    const list = valueAt(this.#tree, path);
    return Array.isArray(list) ? list.map((_, index) => [...path, index]) : [];
  }

  number(path: ConfigPath, otherwise: number): number {
    const value = valueAt(this.#tree, path);
    return typeof value === 'number' ? value : otherwise;
  }

  secret(...path: ConfigPath): string | undefined {
    return this.#secretOf(path.join('.'));
  }

  report(path: ConfigPath, problem: string): void {
    this.#report(path, problem);
  }

  /** Adds a sentence to the log about what works, and should be corrected. */
  warn(sentence: string): void {
    this.#warn(sentence);
  }

  /** Reports each entry whose `key` has the value of one before it: `must differ from <others>, got "x"`. */
  distinct(entries: readonly ConfigPath[], key: string, others: string): void {
    const seen = new Set<unknown>();
    for (const entry of entries) {
      const value = this.at(...entry, key);
      if (typeof value === 'string' && seen.has(value))
        this.report([...entry, key], `must differ from ${others}, got "${value}"`);
      seen.add(value);
    }
  }

  /**
   * Reports tokens that share a name and do not belong together. Two of one name are the old and the new one of a
   * rotation, so both may do the same.
   */
  rotations(entries: readonly ConfigPath[], rights: readonly string[]): void {
    const first = new Map<string, ConfigPath>();
    for (const entry of entries) {
      const name = this.at(...entry, 'name');
      if (typeof name !== 'string') continue;
      const other = first.get(name);
      first.set(name, other ?? entry);
      if (other === undefined) continue;
      const right = rights.find(
        (key) => JSON.stringify(this.at(...entry, key)) !== JSON.stringify(this.at(...other, key)),
      );
      if (right === undefined) this.warn(`${entry.join('.')}: "${name}" has more than one token; remove the old one`);
      else {
        const problem = `must differ from the name of ${other.join('.')}, which has another \`${right}\`: two tokens of one name are the old and the new one`;
        this.report([...entry, 'name'], `${problem}, got "${name}"`);
      }
    }
  }

  /** Reports an http address of another machine. */
  encrypted(path: ConfigPath, why: string): void {
    const url = this.at(...path);
    if (isUnencrypted(url)) this.report(path, `must be https, because ${why} unencrypted, got "${url}"`);
  }
}

/** Whether this is an http address of another machine. */
export function isUnencrypted(url: unknown): url is string {
  if (typeof url !== 'string' || !isHttpUrl(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}

const minSecretLength = 16;

/** The problem of a secret that may be any text; null: none. */
export function problemOfText(secret: string): string | null {
  return secret.length >= minSecretLength ? null : `must have at least ${minSecretLength} characters`;
}

/** The problem of a secret of the Standard Webhooks scheme; null: none. Its libraries accept no other secrets. */
export function problemOfWhsec(secret: string): string | null {
  const rule = 'must be whsec_ and base64 of 24 to 64 bytes, for example from: openssl rand -base64 32';
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (encoded === undefined) return rule;
  const bytes = Buffer.from(encoded, 'base64').length;
  return bytes >= 24 && bytes <= 64 ? null : rule;
}
