import type { Buffer } from 'node:buffer';
import { type KnownToken, ownerOfToken } from '../../ops/callers.ts';
import { Refusal } from './problem.ts';
import type { TokenCaller, TokenScope, WebhookCaller, WebhookSettings } from './settings.ts';
import { standardWebhookHeaders, verifyStandardWebhook } from './signatures.ts';

/** Who sends a request: the name for logs, and the orders that it may touch. */
export interface Caller {
  readonly name: string;
  /** The source of orders that name none; null: nothing names it for this caller. */
  readonly source: string | null;
  /** Null: any source. */
  readonly sources: readonly string[] | null;
  readonly scopes: readonly TokenScope[];
}

export type HeaderReader = (name: string) => string | undefined;

type Callers = Pick<WebhookSettings, 'tokens' | 'standardWebhooks'>;

const signerOf = ({ name, source }: WebhookCaller): Caller => ({
  name,
  source,
  sources: source === null ? null : [source],
  scopes: ['post'],
});

/**
 * The caller by its bearer token; null when the request has none. Throws Refusal when the token is unknown, or must wait.
 * @param judge says how long the caller with this token, or with a wrong one, must wait, in ms
 */
export function callerByToken(
  header: HeaderReader,
  tokens: readonly KnownToken<TokenCaller>[],
  judge: (caller: string | null) => number,
): Caller | null {
  const authorization = header('authorization');
  if (authorization === undefined) return null;
  const sent = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization)?.[1];
  const found = sent === undefined ? null : ownerOfToken(tokens, sent);
  const waitMs = judge(found?.name ?? null);
  if (waitMs > 0) {
    const detail = 'Too many wrong tokens came from this address; this one was not checked.';
    throw new Refusal('rate_limited', detail, { headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) } });
  }
  if (found === null) throw unauthorized('The bearer token is not known.');
  const { name, sources, scopes } = found;
  return { name, source: sources[0] ?? null, sources, scopes };
}

/** Whether the request has a signature. The body of a request without a token is only read if it has one. */
export function hasSignature(header: HeaderReader, callers: Callers): boolean {
  return callers.standardWebhooks.length > 0 && standardWebhookHeaders(header) !== null;
}

/** The caller by the signature of the raw body. Throws Refusal when no caller's secret made the signature. */
export function callerBySignature(header: HeaderReader, body: Buffer, callers: Callers, nowMs: number): Caller {
  const headers = standardWebhookHeaders(header);
  if (headers === null) throw unauthorized('The signature is missing.');
  const signed = verifyStandardWebhook(headers, body, callers.standardWebhooks, nowMs);
  if (!signed.ok) throw unauthorized(`The signature is not valid: ${signed.why}.`);
  return signerOf(signed.caller);
}

/** The caller of a request with a token and a signature: both must be valid, and the narrower right counts. */
export function narrower(token: Caller, signed: Caller): Caller {
  const { name, scopes } = token;
  if (signed.source !== null) {
    if (token.sources !== null && !token.sources.includes(signed.source))
      throw new Refusal('source_not_allowed', 'The token and the signature belong to different sources.');
    return { ...signed, name, scopes };
  }
  return token;
}

export function unauthorized(detail: string): Refusal {
  return new Refusal('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="order-sync"' } });
}

/** Throws Refusal when the caller may not touch orders of this source. */
export function requireSource(caller: Caller, source: string): void {
  if (caller.sources === null || caller.sources.includes(source)) return;
  const own = caller.sources.map((one) => `"${one}"`).join(', ');
  throw new Refusal('source_not_allowed', `This caller may only touch orders of the source ${own}.`);
}

/** Throws Refusal when the caller's token was not made for this. */
export function requireScope(caller: Caller, scope: TokenScope): void {
  if (caller.scopes.includes(scope)) return;
  const detail = `This token may not ${scope} orders, only ${caller.scopes.join(' and ')} them.`;
  throw new Refusal('scope_not_allowed', detail);
}
