import type { HttpBindings } from '@hono/node-server';
import type { AdminRole, AdminSettings } from '../settings.ts';
import { isIP } from 'node:net';
import type { Context } from 'hono';
import { isLoopback } from '../../core/settings/schema-values.ts';

export interface Visitor {
  /** The name of the token; null: there are no tokens, and every user of this machine may look. */
  readonly name: string | null;
  readonly role: AdminRole;
  /**
   * The value of the field `csrf` in every form of this session; null: without tokens nothing can
   * be posted.
   */
  readonly csrf: string | null;
  /** The outcome of this visitor's last form; null: there is none. */
  readonly notice: string | null;
}

export interface PageEnv {
  Bindings: HttpBindings;
  Variables: { visitor: Visitor };
}

const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * Why a page is not shown at this address; null when it is. A site that reaches the worker by DNS
 * rebinding still sends its own host name. An address in numbers cannot be rebound; without tokens
 * it must be one of this machine all the same.
 */
export function whyNotThisHost(
  context: Context<PageEnv>,
  { listen, tokens, hosts }: AdminSettings,
): string | null {
  const sent = context.req.header('host') ?? '';
  const host = sent
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  const notOurs = `The pages are not shown under the name "${host.slice(0, 100)}". If this name is right, add it to admin.hosts.`;
  const isOurs = isLoopback(host) || host === listen.host || hosts.includes(host);
  if (tokens.length === 0) {
    if (proxyHeaders.some((name) => context.req.header(name) !== undefined)) {
      return 'Through a proxy the pages need admin.tokens: otherwise whoever reaches the proxy reads every order.';
    }
    return isOurs ? null : notOurs;
  }
  return isOurs || isIP(host) !== 0 ? null : notOurs;
}

/**
 * Why a form is not accepted, by what the browser says of the page that sent it; null when it is. A
 * client that says nothing is no browser; it still needs the `csrf` of its session.
 */
export function whyNotThisSender(context: Context<PageEnv>): string | null {
  const site = context.req.header('sec-fetch-site');
  if (site === 'same-origin') return null;
  if (site !== undefined) return 'The form was sent by another site.';
  const origin = context.req.header('origin');
  if (origin === undefined) return null;
  const isSame = URL.canParse(origin) && new URL(origin).host === context.req.header('host');
  const hint = 'a proxy must pass on the host name: docs/pages.md';
  return isSame ? null : `The form was sent by another site (${hint}).`;
}

/**
 * Whether the browser reached the pages by https. It says so itself, so no header of a proxy is
 * trusted.
 */
export function isHttps(context: Context<PageEnv>): boolean {
  return context.req.header('origin')?.startsWith('https:') === true;
}
