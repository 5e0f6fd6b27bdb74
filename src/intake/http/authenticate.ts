import type { Buffer } from 'node:buffer';
import { hmacSha256, isSecretWithDigest, isSignature, secretDigest } from './signatures.ts';
import { Refusal } from './problem.ts';
import { standardWebhookHeaders, verifyStandardWebhook } from './standard-webhook.ts';
import type { HmacCaller, ShopForm, WebhookCaller, WebhookSettings } from './settings.ts';

/** Who is calling, as far as it matters: how it is called in logs, and whose orders it may touch. */
export interface Caller {
  readonly name: string;
  readonly source: string | null;
  /** The form of its orders; null: ours. */
  readonly form: ShopForm | null;
}

export type HeaderReader = (name: string) => string | undefined;

type Doors = Pick<WebhookSettings, 'tokens' | 'standardWebhooks' | 'hmac'>;

/**
 * The caller by its bearer token; null when the request carries none. Every token is compared, so that the time taken
 * does not tell which one was nearly right. Throws the refusal of a token that nobody has.
 */
export function callerByToken(header: HeaderReader, tokens: readonly WebhookCaller[]): Caller | null {
  const authorization = header('authorization');
  if (authorization === undefined) return null;
  const sent = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization)?.[1];
  let found: WebhookCaller | null = null;
  if (sent !== undefined) {
    const digest = secretDigest(sent);
    for (const token of tokens) if (isSecretWithDigest(token.secret, digest)) found = token;
  }
  if (found === null) throw unauthorized('The bearer token is not known.');
  return { name: found.name, source: found.source, form: null };
}

/** Whether the request claims to be signed: only then its body is read before it is known who sent it. */
export function claimsSignature(header: HeaderReader, doors: Doors): boolean {
  if (doors.standardWebhooks.length > 0 && standardWebhookHeaders(header) !== null) return true;
  return doors.hmac.some((caller) => header(caller.header.toLowerCase()) !== undefined);
}

/** The caller by the signature of the raw body. Throws the refusal of a signature that fits nobody. */
export function callerBySignature(header: HeaderReader, body: Buffer, doors: Doors, nowMs: number): Caller {
  const headers = standardWebhookHeaders(header);
  if (headers !== null && doors.standardWebhooks.length > 0) {
    const signed = verifyStandardWebhook(headers, body, doors.standardWebhooks, nowMs);
    if (!signed.ok) throw unauthorized(`The signature is not valid: ${signed.why}.`);
    return { name: signed.caller.name, source: signed.caller.source, form: null };
  }
  const caller = hmacCaller(header, body, doors.hmac);
  if (caller === null) throw unauthorized('The signature does not fit the body.');
  return { name: caller.name, source: caller.source, form: caller.form };
}

function hmacCaller(header: HeaderReader, body: Buffer, callers: readonly HmacCaller[]): HmacCaller | null {
  let found: HmacCaller | null = null;
  for (const caller of callers) {
    const sent = header(caller.header.toLowerCase());
    if (sent === undefined || !sent.startsWith(caller.prefix)) continue;
    const expected = hmacSha256(caller.secret, body);
    if (isSignature(sent.slice(caller.prefix.length), expected, caller.encoding)) found ??= caller;
  }
  return found;
}

/** A request that is both signed and carries a token must be right in both, and gets the narrower of both rights. */
export function narrower(token: Caller, signed: Caller): Caller {
  if (token.source !== null && signed.source !== null && token.source !== signed.source) {
    throw new Refusal('source_not_allowed', 'The token and the signature belong to different sources.');
  }
  return { name: token.name, source: token.source ?? signed.source, form: signed.form };
}

export function unauthorized(detail: string): Refusal {
  return new Refusal('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="order-sync"' } });
}

/** Throws the refusal of an order that is none of this caller's business. */
export function requireSource(caller: Caller, source: string): void {
  if (caller.source === null || caller.source === source) return;
  throw new Refusal('source_not_allowed', `This caller may only touch orders of the source "${caller.source}".`);
}
