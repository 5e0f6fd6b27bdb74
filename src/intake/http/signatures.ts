import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookCaller } from './settings.ts';

/**
 * HMAC-SHA256 of the bytes as they arrived: text that was decoded and encoded again may have other
 * bytes.
 */
export function hmacSha256(
  secret: string | Buffer,
  ...parts: readonly (string | Buffer)[]
): Buffer {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

export const hasFormOfSignature = (sent: unknown): boolean =>
  /^[A-Za-z0-9+/]{43}=$/.test(String(sent));

/**
 * Compares the signature in base64 that was sent in constant time, so that the time does not reveal
 * where they differ.
 */
export function isSignature(sent: string, expected: Buffer): boolean {
  if (!hasFormOfSignature(sent)) return false;
  return timingSafeEqual(Buffer.from(sent, 'base64'), expected);
}

/** How far the clock of the sender may differ, in seconds, as in the published libraries. */
const toleranceS = 300;

export interface StandardWebhookHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/**
 * Null when the request has none of the three headers by either name; a single missing one is
 * empty.
 */
export function standardWebhookHeaders(
  headers: IncomingHttpHeaders,
): StandardWebhookHeaders | null {
  for (const scheme of ['webhook', 'svix']) {
    // One that was sent twice is joined by a comma, and then matches no secret.
    const sent = ['id', 'timestamp', 'signature'].map((name) =>
      headers[`${scheme}-${name}`]?.toString(),
    );
    const [id = '', timestamp = '', signature = ''] = sent;
    if (sent.some((value) => value !== undefined)) return { id, timestamp, signature };
  }
  return null;
}

/**
 * Finds who signed a request by the Standard Webhooks scheme (standardwebhooks.com, symmetric
 * signatures `v1`). Any of the configured secrets and any of the sent signatures may match, so a
 * secret can be replaced without an interruption. The id is signed but not remembered: a replay
 * repeats the order, and a repeated order buys nothing.
 */
export function verifyStandardWebhook(
  headers: StandardWebhookHeaders,
  body: Buffer,
  callers: readonly WebhookCaller[],
  nowMs: number,
):
  | { readonly ok: true; readonly caller: WebhookCaller }
  | { readonly ok: false; readonly why: string } {
  const { id, timestamp, signature } = headers;
  if (id === '' || timestamp === '' || signature === '') {
    return {
      ok: false,
      why: 'webhook-id, webhook-timestamp and webhook-signature must be sent together',
    };
  }
  if (!/^\d{1,12}$/.test(timestamp))
    return { ok: false, why: 'webhook-timestamp must be seconds since 1970' };
  const ageS = Math.floor(nowMs / 1000) - Number(timestamp);
  if (Math.abs(ageS) > toleranceS) {
    const direction = ageS > 0 ? 'old' : 'in the future';
    const why = `webhook-timestamp is more than ${toleranceS} seconds ${direction}: a clock is wrong, or the request was sent again without a new signature`;
    return { ok: false, why };
  }
  const sent = signature
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .slice(0, 10)
    .map((part) => part.slice('v1,'.length));
  let found: WebhookCaller | null = null;
  for (const caller of callers) {
    const key = Buffer.from(caller.secret.replace(/^whsec_/, ''), 'base64');
    const expected = hmacSha256(key, `${id}.${timestamp}.`, body);
    if (sent.some((text) => isSignature(text, expected))) found ??= caller;
  }
  return found === null
    ? { ok: false, why: 'no signature matches the body' }
    : { ok: true, caller: found };
}
