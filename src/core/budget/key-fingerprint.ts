import { createHmac } from 'node:crypto';
import type { ReferenceNamespace } from '../order/reference.ts';

/**
 * Identifies the value of an API key in the database without storing it. It can be compared only with the reference secret.
 * 64 bits are enough for a few keys.
 */
export function keyFingerprint(namespace: ReferenceNamespace, value: string): string {
  return createHmac('sha256', namespace.secret).update(`order-sync key print\n${value}`).digest('hex').slice(0, 16);
}
