import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { OrderSyncError } from '../order-sync-error.ts';

export interface SealKey {
  /** Stands in each value that it sealed: another key needs another id. */
  readonly id: string;
  /** Base64 of 32 bytes. */
  readonly value: string;
}

/**
 * The place of a sealed value: a value that was moved to another reference or place does not open
 * there.
 */
export interface SealedPlace {
  readonly reference: string;
  readonly place: string;
}

export const sealKeyBytes = 32;
/**
 * A nonce must be random and never used twice with a key. 96 random bits allow 2^32 values for each
 * key.
 */
export const nonceBytes = 12;
const tagBytes = 16;
const cipher = 'aes-256-gcm';
const prefix = 'sealed:1:';

export function isSealKey(value: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(value);
}

/** Whether a stored text is sealed; otherwise it is in clear. */
export function isSealed(stored: string): boolean {
  return stored.startsWith(prefix);
}

function associatedData({ reference, place }: SealedPlace): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(['order-sync', place, reference]));
}

/**
 * The keys of an installation: the first seals, all open. A sealed text is `sealed:1:<key
 * id>:<nonce>:<text>`, the last two in base64url; the end of the text is the tag of AES-256-GCM,
 * which fails to verify if anything was changed or moved.
 */
export class SealKeys {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  /** The id of the key that seals; null: there is none, and nothing is sealed. */
  readonly sealsWith: string | null;

  constructor(keys: readonly SealKey[]) {
    this.#keys = new Map(keys.map(({ id, value }) => [id, createSecretKey(value, 'base64')]));
    this.sealsWith = keys[0]?.id ?? null;
  }

  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /**
   * @param nonce 12 random bytes, used for this text only
   * @param keyId the key that seals; default: the first one
   */
  seal(text: string, at: SealedPlace, nonce: Uint8Array, keyId = this.sealsWith): string {
    const key = keyId === null ? undefined : this.#keys.get(keyId);
    if (key === undefined)
      throw new OrderSyncError('INVARIANT', `There is no sealing key "${keyId}"`);
    const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
    sealing.setAAD(associatedData(at));
    const sealed = Buffer.concat([
      sealing.update(text, 'utf8'),
      sealing.final(),
      sealing.getAuthTag(),
    ]);
    return `${prefix}${keyId}:${Buffer.from(nonce).toString('base64url')}:${sealed.toString('base64url')}`;
  }

  /**
   * The text of a sealed value. No error has a part of it.
   * @throws OrderSyncError SEAL_KEY_MISSING; SEALED_UNREADABLE when it was damaged, moved, or
   * sealed with another key
   */
  open(stored: string, at: SealedPlace): string {
    const [keyId = '', nonce = '', sealed = ''] = stored.slice(prefix.length).split(':');
    const key = this.#keys.get(keyId);
    if (key === undefined) {
      throw new OrderSyncError(
        'SEAL_KEY_MISSING',
        `The codes of ${at.reference} are sealed with the key "${keyId}"`,
        {
          hint: 'put this key back into seal.keys',
        },
      );
    }
    const bytes = Buffer.from(sealed, 'base64url');
    try {
      const opening = createDecipheriv(cipher, key, Buffer.from(nonce, 'base64url'), {
        authTagLength: tagBytes,
      });
      opening.setAAD(associatedData(at));
      opening.setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([
        opening.update(bytes.subarray(0, -tagBytes)),
        opening.final(),
      ]).toString('utf8');
    } catch {
      // The error of the cipher says nothing more.
      throw new OrderSyncError(
        'SEALED_UNREADABLE',
        `The sealed codes of ${at.reference} were damaged or moved`,
        {
          hint: 'restore the database from a backup, or ask the supplier for the codes of this order and enter them with `orders resolve`',
        },
      );
    }
  }
}
