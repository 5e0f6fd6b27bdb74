import { createHash } from 'node:crypto';
import type { SealKey } from '../../src/core/sealing/seal-keys.ts';

/** A key that follows from its id. */
export function sealKey(id: string): SealKey {
  return { id, value: createHash('sha256').update(`test key ${id}`).digest('base64') };
}
