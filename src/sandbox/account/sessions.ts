import { randomBytes } from 'node:crypto';
import type { Database } from '../database.ts';
import { fingerprintOf } from './accounts.ts';

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
