import { randomBytes, randomInt } from 'node:crypto';
import type { Database } from '../database.ts';
import { fingerprintOf } from './accounts.ts';

export type CodePurpose = 'sign_in' | 'create_key';

const lifetimeMs = 10 * 60_000;
const triesPerCode = 5;
/** With five tries for each, a code of six digits cannot be guessed within the hour. */
const codesPerHour = 20;

/** One-time codes for the account holder (Spec 5.3). Only their fingerprints are stored. */
export class OneTimeCodes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Makes a code; older ones for the same purpose are no longer valid. Null: too many were requested in this hour. */
  issue(account: string, purpose: CodePurpose, now: number): string | null {
    const recent = this.#database
      .prepare<[string, number], number>('SELECT count(*) FROM one_time_codes WHERE account = ? AND created_at > ?')
      .pluck()
      .get(account, now - 3_600_000);
    if ((recent ?? 0) >= codesPerHour) return null;
    this.#database
      .prepare('UPDATE one_time_codes SET used_at = ? WHERE account = ? AND purpose = ? AND used_at IS NULL')
      .run(now, account, purpose);
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    this.#database
      .prepare(
        'INSERT INTO one_time_codes (account, purpose, fingerprint, created_at, expires_at, tries_left) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(account, purpose, fingerprintOf(`${account}/${purpose}/${code}`), now, now + lifetimeMs, triesPerCode);
    return code;
  }

  /** True once, for the latest code of the account and purpose, for ten minutes. A wrong code uses up one of five tries. */
  redeem(account: string, purpose: CodePurpose, code: string, now: number): boolean {
    const live = this.#database
      .prepare<[string, string, number], { id: number; fingerprint: string }>(
        `SELECT id, fingerprint FROM one_time_codes WHERE account = ? AND purpose = ? AND expires_at > ?
           AND used_at IS NULL AND tries_left > 0 ORDER BY id DESC LIMIT 1`,
      )
      .get(account, purpose, now);
    if (live === undefined) return false;
    if (live.fingerprint !== fingerprintOf(`${account}/${purpose}/${code.trim()}`)) {
      this.#database.prepare('UPDATE one_time_codes SET tries_left = tries_left - 1 WHERE id = ?').run(live.id);
      return false;
    }
    this.#database.prepare('UPDATE one_time_codes SET used_at = ? WHERE id = ?').run(now, live.id);
    return true;
  }
}

export type Session = { account: string; formToken: string };

export const sessionLifetimeMs = 8 * 3_600_000;

/** The sessions of the account page. A cookie's value is random; the database has only its fingerprint. */
export class Sessions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Starts a session and returns the value of its cookie. */
  start(account: string, now: number): string {
    const [cookie, formToken] = [randomBytes(24).toString('base64url'), randomBytes(24).toString('base64url')];
    this.#database.prepare('DELETE FROM sessions WHERE expires_at <= ?').run(now);
    this.#database
      .prepare('INSERT INTO sessions VALUES (?, ?, ?, ?)')
      .run(fingerprintOf(cookie), account, formToken, now + sessionLifetimeMs);
    return cookie;
  }

  of(cookie: string | undefined, now: number): Session | null {
    if (cookie === undefined) return null;
    const session = this.#database
      .prepare<[string, number], Session>(
        'SELECT account, form_token AS formToken FROM sessions WHERE fingerprint = ? AND expires_at > ?',
      )
      .get(fingerprintOf(cookie), now);
    return session ?? null;
  }

  end(cookie: string): void {
    this.#database.prepare('DELETE FROM sessions WHERE fingerprint = ?').run(fingerprintOf(cookie));
  }
}
