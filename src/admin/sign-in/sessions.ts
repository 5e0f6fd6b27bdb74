import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { secretDigest } from '../../ops/known-tokens.ts';

/** A session ends so long after its start, and so long after its last page, in ms. */
const longestMs = 12 * 3_600_000;
const longestIdleMs = 2 * 3_600_000;
/** A token has so many sessions: with one more, that which was used the longest ago ends. */
const mostOfToken = 20;

/** Someone is signed in with this token. */
export interface Session {
  readonly tokenName: string;
  /** The digest of the secret that was shown: when it is taken out of the configuration, the session ends. */
  readonly secret: string;
  /** What forms carry, so that no other site can post them. */
  readonly csrf: string;
}

interface Kept extends Session {
  readonly endsMono: number;
  readonly idleEndsMono: number;
}

/** Who is signed in. Kept in memory: a restart of the worker signs everybody out. */
export class Sessions {
  readonly #clock: Pick<Clock, 'monoMs'>;
  /** By the digest of the id in the cookie; the one that was used the longest ago comes first. */
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, 'monoMs'>) {
    this.#clock = clock;
  }

  /** Begins a session. Returns its id, which only the cookie has. */
  begin(tokenName: string, secret: string): string {
    const id = randomBytes(32).toString('base64url');
    const nowMono = this.#clock.monoMs();
    this.#endOld(nowMono);
    const own = [...this.#kept].filter(([, session]) => session.tokenName === tokenName);
    for (const [key] of own.slice(0, Math.max(0, own.length - mostOfToken + 1))) this.#kept.delete(key);
    const csrf = randomBytes(32).toString('base64url');
    const times = { endsMono: nowMono + longestMs, idleEndsMono: nowMono + longestIdleMs };
    this.#kept.set(keyOf(id), { tokenName, secret, csrf, ...times });
    return id;
  }

  /** The session of this id; null when there is none, or when it has ended. */
  use(id: string): Session | null {
    const key = keyOf(id);
    const session = this.#kept.get(key);
    if (session === undefined) return null;
    const nowMono = this.#clock.monoMs();
    this.#kept.delete(key);
    if (hasEnded(session, nowMono)) return null;
    this.#kept.set(key, { ...session, idleEndsMono: nowMono + longestIdleMs });
    return session;
  }

  end(id: string): void {
    this.#kept.delete(keyOf(id));
  }

  #endOld(nowMono: number): void {
    for (const [key, session] of this.#kept) if (hasEnded(session, nowMono)) this.#kept.delete(key);
  }
}

const hasEnded = ({ endsMono, idleEndsMono }: Kept, nowMono: number): boolean =>
  nowMono >= Math.min(endsMono, idleEndsMono);

/** The map is searched by a digest: what the search takes tells nothing of an id. */
const keyOf = (id: string): string => secretDigest(id).toString('hex');
