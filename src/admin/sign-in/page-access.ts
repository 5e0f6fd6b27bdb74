import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { FailedTokens, knownTokens, ownerOfToken, secretDigest } from '../../ops/callers.ts';
import type { Context, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { arePagesShown } from '../../config/admin-rules.ts';
import type { Logger } from 'pino';
import type { Operator } from '../../store/operator/operator.ts';
import type { AdminSettings } from '../settings.ts';
import { isHttps, type PageEnv, type Visitor } from './visitor.ts';

/** A session ends so long after its start, and so long after its last page, in ms. */
const longestMs = 12 * 3_600_000;
const longestIdleMs = 2 * 3_600_000;
/** A token has so many sessions: with one more, that which was used the longest ago ends. */
const mostOfToken = 20;
interface Session {
  readonly tokenName: string;
  /**
   * The digest of the secret that was shown: when it is taken out of the configuration, the session
   * ends.
   */
  readonly secret: string;
  /** The token that forms carry, so that no other site can post them. */
  readonly csrf: string;
  readonly endsMs: number;
  idleEndsMs: number;
  /** What the next page tells. */
  notice: string | null;
}

const digestOf = (secret: string): string => secretDigest(secret).toString('hex');
const randomText = (): string => randomBytes(32).toString('base64url');

const cookieName = 'order_sync_session';
/** Without tokens no form can be posted, so forms need no protection. */
const anybodyHere: Visitor = { name: null, role: 'viewer', csrf: null, notice: null };

type SignIn = { readonly ok: true } | { readonly ok: false; readonly waitMs: number };

/**
 * Decides who may see pages: by the session that a token began, or without tokens anybody on this
 * machine. Sessions are kept in memory: a restart of the worker signs everybody out.
 */
export class PageAccess {
  readonly #settings: () => AdminSettings;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Writes the audit log. */
  readonly #record: Operator['signedIn'];
  readonly #failedTokens: FailedTokens;
  /**
   * By the digest of the id in the cookie, so the time of a search reveals nothing about an id; the
   * one that was used the longest ago comes first.
   */
  readonly #sessions = new Map<string, Session>();

  /** @param settings those in use: a reload adds and removes tokens */
  constructor(
    settings: () => AdminSettings,
    { clock, logger, record }: { clock: Clock; logger: Logger; record: Operator['signedIn'] },
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#logger = logger;
    this.#record = record;
    this.#failedTokens = new FailedTokens(clock, logger);
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
    const session = this.#use(context);
    const token = tokens.find(({ name }) => name === session?.tokenName);
    if (session === null || token === undefined) return null;
    if (!token.secrets.some((secret) => digestOf(secret) === session.secret)) return null;
    const { csrf, notice } = session;
    // Not to the script of another page, which would not show it.
    if (context.req.header('sec-fetch-dest') !== 'empty' && context.req.method === 'GET')
      session.notice = null;
    return { name: token.name, role: token.role, csrf, notice };
  }

  /** Tells this visitor on the next page what was done. */
  tell(context: Context<PageEnv>, text: string): void {
    const session = this.#use(context);
    if (session !== null) session.notice = text;
  }

  /**
   * Signs a visitor with a right token in. Wrong ones are slowed down for each address, and short
   * right ones among them.
   */
  async signIn(context: Context<PageEnv>, sent: string): Promise<SignIn> {
    const { remoteAddress } = context.env.incoming.socket;
    const owner = ownerOfToken(knownTokens(this.#settings().tokens), sent);
    const waitMs = this.#failedTokens.judge(remoteAddress, sent, owner?.name ?? null);
    if (owner === null || waitMs > 0) return { ok: false, waitMs };
    this.#endSession(context);
    const id = this.#begin(owner.name, digestOf(sent));
    setCookie(context, cookieName, id, {
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
      secure: isHttps(context),
    });
    const { name, role } = owner;
    const reason = 'signed in to the pages';
    this.#logger.info({ name, role }, reason);
    await this.#record({ actor: `page:${name}`, role, reason, nowMs: this.#clock.wallMs() }).catch(
      // A full disk refuses nobody: the operator may have come to free it.
      (error: unknown) => this.#logger.warn({ err: error, name }, 'a sign-in was not recorded'),
    );
    return { ok: true };
  }

  signOut(context: Context<PageEnv>): void {
    this.#endSession(context);
    deleteCookie(context, cookieName, { path: '/' });
  }

  /** Begins a session. Returns its id, which only the cookie has. */
  #begin(tokenName: string, secret: string): string {
    const steadyMs = this.#clock.steadyMs();
    for (const [key, session] of this.#sessions)
      if (hasEnded(session, steadyMs)) this.#sessions.delete(key);
    const own = [...this.#sessions].filter(([, session]) => session.tokenName === tokenName);
    for (const [key] of own.slice(0, Math.max(0, own.length - mostOfToken + 1)))
      this.#sessions.delete(key);
    const id = randomText();
    const times = { endsMs: steadyMs + longestMs, idleEndsMs: steadyMs + longestIdleMs };
    this.#sessions.set(digestOf(id), {
      tokenName,
      secret,
      csrf: randomText(),
      ...times,
      notice: null,
    });
    return id;
  }

  #use(context: Context<PageEnv>): Session | null {
    const key = digestOf(getCookie(context, cookieName) ?? '');
    const session = this.#sessions.get(key);
    if (session === undefined) return null;
    const steadyMs = this.#clock.steadyMs();
    this.#sessions.delete(key);
    if (hasEnded(session, steadyMs)) return null;
    session.idleEndsMs = steadyMs + longestIdleMs;
    this.#sessions.set(key, session);
    return session;
  }

  #endSession(context: Context<PageEnv>): void {
    this.#sessions.delete(digestOf(getCookie(context, cookieName) ?? ''));
  }
}

const hasEnded = ({ endsMs, idleEndsMs }: Session, steadyMs: number): boolean =>
  steadyMs >= Math.min(endsMs, idleEndsMs);

/**
 * For routes that decide something: a viewer gets 403. Every form was checked before, see
 * `guardPages`.
 */
export const requireOperator: MiddlewareHandler<PageEnv> = async (context, next) => {
  if (context.var.visitor.role === 'operator') return await next();
  return context.text('Only an operator may decide. This token belongs to a viewer.', 403);
};
