import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { FailedTokens, knownTokens, ownerOfToken, secretDigest } from '../../ops/callers.ts';
import type { Context, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { arePagesShown } from '../../config/admin-section.ts';
import type { Logger } from 'pino';
import type { AdminSettings } from '../settings.ts';
import { isHttps, type PageEnv, type Visitor } from './visitor.ts';

/** A session ends so long after its start, and so long after its last page, in ms. */
const longestMs = 12 * 3_600_000;
const longestIdleMs = 2 * 3_600_000;
/** A token has so many sessions: with one more, that which was used the longest ago ends. */
const mostOfToken = 20;

/** Someone is signed in with this token. */
interface Session {
  readonly tokenName: string;
  /** The digest of the secret that was shown: when it is taken out of the configuration, the session ends. */
  readonly secret: string;
  /** The token that forms carry, so that no other site can post them. */
  readonly csrf: string;
}

interface Kept extends Session {
  readonly endsMono: number;
  readonly idleEndsMono: number;
}

/** Who is signed in. Kept in memory: a restart of the worker signs everybody out. */
class Sessions {
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

/** The map is searched by a digest, so the time of a search reveals nothing about an id. */
const keyOf = (id: string): string => secretDigest(id).toString('hex');

const cookieName = 'order_sync_session';
/** Without tokens no form can be posted, so forms need no protection. */
const anybodyHere: Visitor = { name: null, role: 'viewer', csrf: null };

/** How a sign-in ended. */
type SignIn = { readonly ok: true } | { readonly ok: false; readonly waitMs: number };

/** Decides who may see pages: by the session that a token began, or without tokens anybody on this machine. */
export class PageAccess {
  readonly #settings: () => AdminSettings;
  readonly #sessions: Sessions;
  readonly #failedTokens: FailedTokens;
  readonly #logger: Logger;

  /** @param settings those in use: a reload adds and removes tokens */
  constructor(settings: () => AdminSettings, clock: Clock, logger: Logger) {
    this.#settings = settings;
    this.#sessions = new Sessions(clock);
    this.#failedTokens = new FailedTokens(clock, logger);
    this.#logger = logger;
  }

  get settings(): AdminSettings {
    return this.#settings();
  }

  get isShown(): boolean {
    return arePagesShown(this.#settings());
  }

  /** Who sends this request; null: nobody who is signed in. */
  visitor(context: Context<PageEnv>): Visitor | null {
    const { tokens } = this.#settings();
    if (tokens.length === 0) return anybodyHere;
    const id = getCookie(context, cookieName);
    const session = id === undefined ? null : this.#sessions.use(id);
    const token = tokens.find(({ name }) => name === session?.tokenName);
    if (session === null || token === undefined) return null;
    const isKnown = token.secrets.some((secret) => digestOf(secret) === session.secret);
    return isKnown ? { name: token.name, role: token.role, csrf: session.csrf } : null;
  }

  /** Signs a visitor with a right token in. Wrong ones are slowed down for each address, and short right ones among them. */
  signIn(context: Context<PageEnv>, sent: string): SignIn {
    const { remoteAddress } = context.env.incoming.socket;
    const owner = ownerOfToken(knownTokens(this.#settings().tokens), sent);
    const waitMs = this.#failedTokens.judge(remoteAddress, sent, owner?.name ?? null);
    if (owner === null || waitMs > 0) return { ok: false, waitMs };
    this.#endSession(context);
    const id = this.#sessions.begin(owner.name, digestOf(sent));
    setCookie(context, cookieName, id, { path: '/', httpOnly: true, sameSite: 'Strict', secure: isHttps(context) });
    this.#logger.info({ token: owner.name, role: owner.role }, 'signed in to the pages');
    return { ok: true };
  }

  signOut(context: Context<PageEnv>): void {
    this.#endSession(context);
    deleteCookie(context, cookieName, { path: '/' });
  }

  #endSession(context: Context<PageEnv>): void {
    const id = getCookie(context, cookieName);
    if (id !== undefined) this.#sessions.end(id);
  }
}

/** For routes that decide something: a viewer gets 403. Every form was checked before, see `guardPages`. */
export const requireOperator: MiddlewareHandler<PageEnv> = async (context, next) => {
  if (context.var.visitor.role === 'operator') return await next();
  return context.text('Only an operator may decide. This token is that of a viewer.', 403);
};

const digestOf = (secret: string): string => secretDigest(secret).toString('hex');
