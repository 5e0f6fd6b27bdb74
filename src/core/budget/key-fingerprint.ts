import { createHmac } from 'node:crypto';
import type { ReferenceNamespace } from '../order/reference.ts';

/**
 * A name for the value of an API key, from which nobody who reads the database can find it: it needs the reference
 * secret to be compared at all. 64 bits; a few keys are told apart by it.
 */
export function keyFingerprint(namespace: ReferenceNamespace, value: string): string {
  return createHmac('sha256', namespace.secret).update(`order-sync key print\n${value}`).digest('hex').slice(0, 16);
}
