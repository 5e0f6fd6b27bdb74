import { Buffer } from 'node:buffer';
import { isHttpUrl, isLoopback } from '../core/settings/schema-values.ts';
import { findGroup, isInGroup } from '../ops/system-groups.ts';
import type { ConfigIssue } from './config-issue.ts';

export type ConfigPath = readonly (string | number)[];

/** A map or a list in a tree that is not checked yet. */
export type Branch = Record<string | number, unknown>;

export function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null;
}

/**
 * The value at a path, or undefined. Only own properties count: `constructor` is not a key of every
 * map.
 */
export function valueAt(tree: unknown, path: ConfigPath): unknown {
  let here = tree;
  for (const segment of path) {
    if (!isBranch(here) || !Object.hasOwn(here, segment)) return undefined;
    here = here[segment];
  }
  return here;
}

/**
 * The tree as it was written, for the rules between keys: one report has their issues and those of
 * the schema. A rule ignores values of a wrong type, which the schema reports, and puts no secret
 * into a message.
 */
export class SectionCheck {
  readonly tree: unknown;
  readonly isSandbox: boolean;
  readonly issues: ConfigIssue[] = [];
  readonly warnings: string[] = [];
  /** All that are known, by the dotted path of their key. */
  readonly secrets = new Map<string, string>();
  readonly #issueAt: (path: ConfigPath, problem: string) => ConfigIssue;

  constructor(tree: unknown, issueAt: (path: ConfigPath, problem: string) => ConfigIssue) {
    this.tree = tree;
    this.isSandbox = valueAt(tree, ['wholesale', 'environment']) === 'sandbox';
    this.#issueAt = issueAt;
  }

  at(...path: ConfigPath): unknown {
    return valueAt(this.tree, path);
  }

  entries(...path: ConfigPath): ConfigPath[] {
    const list = this.at(...path);
    return Array.isArray(list) ? list.map((_, index) => [...path, index]) : [];
  }

  number(path: ConfigPath, otherwise: number): number {
    const value = this.at(...path);
    return typeof value === 'number' ? value : otherwise;
  }

  secret(...path: ConfigPath): string | undefined {
    return this.secrets.get(path.join('.'));
  }

  report(path: ConfigPath, problem: string): void {
    this.issues.push(this.#issueAt(path, problem));
  }

  /**
   * Reports each entry whose `key` has the value of one before it: `must differ from <others>, got
   * "x"`.
   */
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
   * Reports the secrets of entries that cannot be used.
   * @param problemOf the problem of a secret; null: none
   * @param repeated the problem of a secret that an entry before has; null: several may have it
   * @param seen the entries with each secret, also those of lists that were checked before
   */
  secretsOf(
    entries: readonly ConfigPath[],
    key: string,
    problemOf: (secret: string) => string | null,
    repeated: ((first: string) => string) | null,
    seen = new Map<string, string>(),
  ): void {
    for (const entry of entries) {
      const secret = this.secret(...entry, key);
      if (secret === undefined) continue;
      const problem = problemOf(secret);
      if (problem !== null) this.report([...entry, key], problem);
      const first = seen.get(secret);
      if (first !== undefined && repeated !== null) this.report([...entry, key], repeated(first));
      seen.set(secret, first ?? entry.join('.'));
    }
  }

  /**
   * Reports tokens of one name with other rights: they are the old and the new one of a rotation.
   */
  rotations(entries: readonly ConfigPath[], rights: readonly string[]): void {
    const first = new Map<string, ConfigPath>();
    for (const entry of entries) {
      const name = this.at(...entry, 'name');
      if (typeof name !== 'string') continue;
      const other = first.get(name);
      first.set(name, other ?? entry);
      if (other === undefined) continue;
      const textOf = (token: ConfigPath, right: string) => JSON.stringify(this.at(...token, right));
      const right = rights.find((key) => textOf(entry, key) !== textOf(other, key));
      if (right === undefined) {
        this.warnings.push(
          `${entry.join('.')}: "${name}" has more than one token; remove the old one`,
        );
        continue;
      }
      const problem = `must differ from the name of ${other.join('.')}, which has another \`${right}\`: only the old and the new token of one caller may share a name`;
      this.report([...entry, 'name'], `${problem}, got "${name}"`);
    }
  }

  encrypted(path: ConfigPath, why: string): void {
    const url = this.at(...path);
    if (isUnencrypted(url))
      this.report(path, `must be https, because ${why} unencrypted, got "${url}"`);
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
  return secret.length >= minSecretLength
    ? null
    : `must have at least ${minSecretLength} characters`;
}

/**
 * The problem of a secret of the Standard Webhooks scheme; null: none. Its libraries accept no
 * other secrets.
 */
export function problemOfWhsec(secret: string): string | null {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] ?? '';
  const bytes = Buffer.from(encoded, 'base64').length;
  if (bytes >= 24 && bytes <= 64) return null;
  return 'must be whsec_ followed by base64 of 24 to 64 bytes, for example from: openssl rand -base64 32';
}

/** A group that this process may give its files to. */
export function checkGroup(check: SectionCheck, ...at: ConfigPath): void {
  const group = check.at(...at);
  if (typeof group !== 'string') return;
  const gid = findGroup(group);
  if (gid === null) {
    check.report(
      at,
      `is not a group of this machine: create this group, or give its number, got "${group}"`,
    );
  } else if (!isInGroup(gid)) {
    const user = process.getuid?.();
    const problem = `is a group that the user ${user} is not in: add the user to it and restart the worker`;
    check.report(at, `${problem}, got "${group}"`);
  }
}
