import type { Context, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Clock } from '../../core/clock.ts';
import { arePagesShown } from '../../config/admin-rules.ts';
import { FailedTokens } from '../../ops/failed-tokens.ts';
import { knownTokens, ownerOfToken, secretDigest } from '../../ops/known-tokens.ts';
import type { Logger } from 'pino';
import type { AdminSettings } from '../settings.ts';
import { isHttps } from './request-origin.ts';
import { Sessions } from './sessions.ts';
import type { PageEnv, Visitor } from './visitor.ts';

const cookieName = 'order_sync_session';
/** Without tokens nothing can be posted, so there is nothing to protect a form against. */
const anybodyHere: Visitor = { name: null, role: 'viewer', csrf: null };

/** How a sign-in ended. */
export type SignIn = { readonly ok: true } | { readonly ok: false; readonly waitMs: number };

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

  /** Signs in whoever shows a right token. Wrong ones are slowed down for each address, right ones among them, too. */
  signIn(context: Context<PageEnv>, sent: string): SignIn {
    const { remoteAddress } = context.env.incoming.socket;
    const owner = ownerOfToken(knownTokens(this.#settings().tokens), sent);
    const waitMs = this.#failedTokens.judge(remoteAddress, owner?.name ?? null);
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
