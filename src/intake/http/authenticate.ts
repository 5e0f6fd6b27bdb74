import type { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { Refusal } from './problem.ts';
import type { ShopForm, WebhookCaller, WebhookSettings } from './settings.ts';
import { hmacSha256, isSignature, secretDigest, standardWebhookHeaders, verifyStandardWebhook } from './signatures.ts';

/** Who sends a request: the name for logs, and the orders that it may touch. */
export interface Caller {
  readonly name: string;
  /** Null: any source. */
  readonly source: string | null;
  /** How to read its orders; null: they are in the worker's format. */
  readonly form: ShopForm | null;
}

export type HeaderReader = (name: string) => string | undefined;

type Callers = Pick<WebhookSettings, 'tokens' | 'standardWebhooks' | 'hmac'>;

/** A configured token with the digest of its secret. */
export interface Token {
  readonly caller: WebhookCaller;
  readonly digest: Buffer;
}

const callerOf = ({ name, source }: WebhookCaller, form: ShopForm | null = null): Caller => ({ name, source, form });

/**
 * The caller by its bearer token; null when the request has none. Every configured token is compared, so that the time
 * does not reveal which one was nearly right. Throws Refusal when the token is unknown.
 */
export function callerByToken(header: HeaderReader, tokens: readonly Token[]): Caller | null {
  const authorization = header('authorization');
  if (authorization === undefined) return null;
  const sent = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization)?.[1];
  let found: WebhookCaller | null = null;
  if (sent !== undefined) {
    const digest = secretDigest(sent);
    for (const token of tokens) if (timingSafeEqual(token.digest, digest)) found = token.caller;
  }
  if (found === null) throw unauthorized('The bearer token is not known.');
  return callerOf(found);
}

/** Whether the request has a signature. The body of a request without a token is only read if it has one. */
export function hasSignature(header: HeaderReader, callers: Callers): boolean {
  if (callers.standardWebhooks.length > 0 && standardWebhookHeaders(header) !== null) return true;
  return callers.hmac.some((caller) => header(caller.header.toLowerCase()) !== undefined);
}

/** The caller by the signature of the raw body. Throws Refusal when no caller's secret made the signature. */
export function callerBySignature(header: HeaderReader, body: Buffer, callers: Callers, nowMs: number): Caller {
  const headers = standardWebhookHeaders(header);
  if (headers !== null && callers.standardWebhooks.length > 0) {
    const signed = verifyStandardWebhook(headers, body, callers.standardWebhooks, nowMs);
    if (!signed.ok) throw unauthorized(`The signature is not valid: ${signed.why}.`);
    return callerOf(signed.caller);
  }
  let found: Caller | null = null;
  for (const caller of callers.hmac) {
    const sent = header(caller.header.toLowerCase());
    if (sent === undefined || !sent.startsWith(caller.prefix)) continue;
    const expected = hmacSha256(caller.secret, body);
    if (isSignature(sent.slice(caller.prefix.length), expected, caller.encoding))
      found ??= callerOf(caller, caller.form);
  }
  if (found === null) throw unauthorized('The signature does not match the body.');
  return found;
}

/** The caller of a request with a token and a signature: both must be valid, and the narrower right counts. */
export function narrower(token: Caller, signed: Caller): Caller {
  if (token.source !== null && signed.source !== null && token.source !== signed.source) {
    throw new Refusal('source_not_allowed', 'The token and the signature belong to different sources.');
  }
  return { name: token.name, source: token.source ?? signed.source, form: signed.form };
}

export function unauthorized(detail: string): Refusal {
  return new Refusal('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="order-sync"' } });
}

/** Throws Refusal when the caller may not touch orders of this source. */
export function requireSource(caller: Caller, source: string): void {
  if (caller.source === null || caller.source === source) return;
  throw new Refusal('source_not_allowed', `This caller may only touch orders of the source "${caller.source}".`);
}
