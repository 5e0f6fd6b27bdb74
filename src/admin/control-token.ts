import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A secret of one run of the worker: whoever can read its run file may command it. Never logged. */
export function newControlToken(): string {
  return randomBytes(32).toString('base64url');
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Compares in a time that tells nothing about the token, not even its length. */
export function isControlToken(token: string, given: string): boolean {
  return timingSafeEqual(digest(token), digest(given));
}
