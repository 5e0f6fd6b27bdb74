import { randomBytes } from 'node:crypto';
import type { Unit } from '../../core/answers/order-answer.ts';
import {
  isSealed,
  nonceBytes,
  type SealKeys,
  type SealedPlace,
} from '../../core/sealing/seal-keys.ts';
import { hasCode } from '../../core/order-sync-error.ts';

type StoredUnits = Readonly<{ reference: string; units: string | null }>;

const placeOf = (reference: string): SealedPlace => ({ reference, place: 'entries.units' });

/**
 * The column `entries.units`: everything that reads or writes it comes here. Without a sealing key
 * it is JSON; values from before the first key stay readable.
 */
export class SealedUnits {
  readonly #keys: SealKeys;

  constructor(keys: SealKeys) {
    this.#keys = keys;
  }

  /** The id of the key that seals; null: units are stored in clear. */
  get sealsWith(): string | null {
    return this.#keys.sealsWith;
  }

  /** The stored form of the units of an entry; null for no units. */
  toStore(
    reference: string,
    units: readonly Unit[],
  ): { units: string | null; unitCount: number | null; sealedBy: string | null } {
    if (units.length === 0) return { units: null, unitCount: null, sealedBy: null };
    const text = this.#seal(reference, JSON.stringify(units));
    return { units: text, unitCount: units.length, sealedBy: this.sealsWith };
  }

  /** @throws OrderSyncError SEAL_KEY_MISSING, SEALED_UNREADABLE */
  of(row: StoredUnits): readonly Unit[] {
    if (row.units === null) return [];
    return JSON.parse(this.#open(row.reference, row.units));
  }

  /**
   * The units of an entry that can still change: damaged ones come again with the next answer of
   * the API.
   */
  known(row: StoredUnits): readonly Unit[] {
    try {
      return this.of(row);
    } catch (error) {
      if (hasCode(error, 'SEALED_UNREADABLE')) return [];
      throw error;
    }
  }

  sealAgain({ reference, units }: { reference: string; units: string }): string {
    return this.#seal(reference, this.#open(reference, units));
  }

  #seal(reference: string, text: string): string {
    if (this.#keys.sealsWith === null) return text;
    return this.#keys.seal(text, placeOf(reference), randomBytes(nonceBytes));
  }

  #open(reference: string, stored: string): string {
    return isSealed(stored) ? this.#keys.open(stored, placeOf(reference)) : stored;
  }
}
