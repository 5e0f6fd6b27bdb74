import { hash, timingSafeEqual } from 'node:crypto';
import type { Buffer } from 'node:buffer';

/** A configured token: the digest of one of its secrets, and who it is of. */
export interface KnownToken<Owner> {
  readonly owner: Owner;
  readonly digest: Buffer;
}

/** Any of the secrets of an owner is accepted, so that one can be replaced without an interruption. */
export function knownTokens<Owner extends { readonly secrets: readonly string[] }>(
  owners: readonly Owner[],
): readonly KnownToken<Owner>[] {
  return owners.flatMap((owner) => owner.secrets.map((secret) => ({ owner, digest: secretDigest(secret) })));
}

/** Whose token this is; null: nobody's. All are compared, so that the time does not reveal which one was nearly right. */
export function ownerOfToken<Owner>(tokens: readonly KnownToken<Owner>[], sent: string): Owner | null {
  const digest = secretDigest(sent);
  let found: Owner | null = null;
  for (const token of tokens) if (timingSafeEqual(token.digest, digest)) found = token.owner;
  return found;
}

/** Secrets are compared by their digests: these have one length, so the time depends on neither secret. */
export function secretDigest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
