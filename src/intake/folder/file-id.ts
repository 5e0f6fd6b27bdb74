import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of time, then 80 random ones, so that names sort by time and never meet. */
export function newFileId(clock: Clock): string {
  let bits = (BigInt(Math.max(0, Math.trunc(clock.wallMs()))) & 0xffffffffffffn) << 80n;
  bits |= BigInt(`0x${randomBytes(10).toString('hex')}`);
  let id = '';
  for (let index = 0; index < 26; index += 1) {
    id = (alphabet[Number(bits & 31n)] ?? '0') + id;
    bits >>= 5n;
  }
  return id;
}
