import { randomBytes } from 'node:crypto';
import { fingerprintOf } from './accounts.ts';
import type { Database } from '../database.ts';

export type Session = { account: string; formToken: string };

export const sessionLifetimeMs = 8 * 3_600_000;

/** Who is signed in on the account page. The cookie's value is random; the database keeps its fingerprint. */
export class Sessions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Starts a session and returns the value of its cookie. */
  start(account: string, now: number): string {
    const cookie = randomBytes(24).toString('base64url');
    this.#database.prepare('DELETE FROM sessions WHERE expires_at <= ?').run(now);
    this.#database
      .prepare('INSERT INTO sessions VALUES (?, ?, ?, ?)')
      .run(fingerprintOf(cookie), account, randomBytes(24).toString('base64url'), now + sessionLifetimeMs);
    return cookie;
  }

  of(cookie: string | undefined, now: number): Session | null {
    if (cookie === undefined) return null;
    const row = this.#database
      .prepare<[string, number], { account: string; form_token: string }>(
        'SELECT account, form_token FROM sessions WHERE fingerprint = ? AND expires_at > ?',
      )
      .get(fingerprintOf(cookie), now);
    return row === undefined ? null : { account: row.account, formToken: row.form_token };
  }

  end(cookie: string): void {
    this.#database.prepare('DELETE FROM sessions WHERE fingerprint = ?').run(fingerprintOf(cookie));
  }
}
