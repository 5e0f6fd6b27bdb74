import { Buffer } from 'node:buffer';
import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** HMAC-SHA256 over bytes as they arrived: a text that was decoded and encoded again may have other bytes. */
export function hmacSha256(secret: string | Buffer, ...parts: readonly (string | Buffer)[]): Buffer {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Compares a signature with what was sent. The time it takes tells nothing about where they differ. */
export function isSignature(sent: string, expected: Buffer, encoding: 'base64' | 'hex'): boolean {
  const pattern = encoding === 'hex' ? /^[0-9a-fA-F]{64}$/ : /^[A-Za-z0-9+/]{43}=$/;
  if (!pattern.test(sent)) return false;
  return timingSafeEqual(Buffer.from(sent, encoding), expected);
}

/** Secrets are compared by their digests, which all have one length, in a time that depends on neither. */
export function secretDigest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Digests of the few secrets that are configured; a caller's text is never kept. */
const digests = new Map<string, Buffer>();
const digestsLimit = 1000;

/** Whether this configured secret has that digest. */
export function isSecretWithDigest(secret: string, digest: Buffer): boolean {
  let own = digests.get(secret);
  if (own === undefined) {
    own = secretDigest(secret);
    // Secrets change when the configuration is read again; nobody has as many as this at once.
    if (digests.size >= digestsLimit) digests.clear();
    digests.set(secret, own);
  }
  return timingSafeEqual(own, digest);
}
