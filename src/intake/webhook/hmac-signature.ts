import { Buffer } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

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

/** Whether two texts are the same, in a time that depends on neither. */
export function isSameSecret(sent: string, expected: string): boolean {
  return timingSafeEqual(digestOf(sent), digestOf(expected));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
