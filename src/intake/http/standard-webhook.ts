import { Buffer } from 'node:buffer';
import { hmacSha256, isSignature } from './signatures.ts';
import type { WebhookCaller } from './settings.ts';

/** How far the clock of the sender may be off, either way, in seconds: the tolerance of the published libraries. */
export const toleranceS = 300;

export type SignedBy<T> = { readonly ok: true; readonly caller: T } | { readonly ok: false; readonly why: string };

/** The three headers of the scheme; null when none of them is there. */
export function standardWebhookHeaders(header: (name: string) => string | undefined): StandardWebhookHeaders | null {
  const id = header('webhook-id');
  const timestamp = header('webhook-timestamp');
  const signature = header('webhook-signature');
  if (id === undefined && timestamp === undefined && signature === undefined) return null;
  return { id: id ?? '', timestamp: timestamp ?? '', signature: signature ?? '' };
}

export interface StandardWebhookHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/**
 * Who signed a request after the Standard Webhooks scheme (standardwebhooks.com, symmetric signatures `v1`). Any of the
 * configured secrets and any of the signatures sent may match: that is how secrets are changed without a gap. The id
 * is signed but not remembered: what is bought is told apart by the content of the order, which a replay repeats.
 */
export function verifyStandardWebhook<T extends WebhookCaller>(
  headers: StandardWebhookHeaders,
  body: Buffer,
  callers: readonly T[],
  nowMs: number,
): SignedBy<T> {
  const { id, timestamp, signature } = headers;
  if (id === '' || timestamp === '' || signature === '') {
    return { ok: false, why: 'webhook-id, webhook-timestamp and webhook-signature belong together' };
  }
  if (!/^\d{1,12}$/.test(timestamp)) return { ok: false, why: 'webhook-timestamp must be seconds since 1970' };
  const ageS = Math.floor(nowMs / 1000) - Number(timestamp);
  if (Math.abs(ageS) > toleranceS) {
    const direction = ageS > 0 ? 'old' : 'in the future';
    return {
      ok: false,
      why: `webhook-timestamp is more than ${toleranceS} seconds ${direction}: is a clock wrong, or was it sent again without being signed again?`,
    };
  }
  const sent = signature
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .slice(0, 10)
    .map((part) => part.slice('v1,'.length));
  let found: T | null = null;
  for (const caller of callers) {
    const expected = hmacSha256(keyOf(caller.secret), `${id}.${timestamp}.`, body);
    if (sent.some((text) => isSignature(text, expected, 'base64'))) found ??= caller;
  }
  return found === null ? { ok: false, why: 'no signature fits the body' } : { ok: true, caller: found };
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}
