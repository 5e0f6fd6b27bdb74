import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../../src/core/order-sync-error.ts';
import { isSealed, SealKeys } from '../../../src/core/sealing/seal-keys.ts';
import { sealKey } from '../../support/seal-keys.ts';

const at = { reference: 'os-reference-1', place: 'entries.units' };
const keys = new SealKeys([sealKey('k2'), sealKey('k1')]);
const sealed = (text: string): string => keys.seal(text, at, randomBytes(12));
const unreadable = expect.objectContaining({ code: 'SEALED_UNREADABLE' });

describe('a set of keys', () => {
  // oxlint-disable-next-line vitest/expect-expect -- fast-check throws where the property fails
  it('opens what it sealed, whatever the text is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (text) => keys.open(sealed(text), at) === text.toWellFormed(),
      ),
    );
  });

  it('seals with its first key, and opens with any', () => {
    expect(sealed('A')).toMatch(/^sealed:1:k2:[\w-]{16}:[\w-]+$/);
    const byOld = new SealKeys([sealKey('k1')]).seal('A', at, randomBytes(12));
    expect(isSealed(byOld)).toBe(true);
    expect(keys.open(byOld, at)).toBe('A');
  });

  it('opens nothing at another reference, in another place, or of another key with the same id', () => {
    const text = sealed('A');
    expect(() => keys.open(text, { ...at, reference: 'os-reference-2' })).toThrow(unreadable);
    expect(() => keys.open(text, { ...at, place: 'other.column' })).toThrow(unreadable);
    expect(() =>
      new SealKeys([{ ...sealKey('k2'), value: sealKey('x').value }]).open(text, at),
    ).toThrow(unreadable);
    expect(() => new SealKeys([sealKey('k1')]).open(text, at)).toThrow(
      expect.objectContaining({ code: 'SEAL_KEY_MISSING' }),
    );
  });

  it('opens nothing of which a single character was changed, or that was cut', () => {
    const text = sealed('CODE-1234');
    const start = 'sealed:1:k2:'.length;
    const opens = (changed: string): boolean => {
      try {
        return keys.open(changed, at) !== '';
      } catch (error) {
        return !hasCode(error, 'SEALED_UNREADABLE');
      }
    };
    const places = Array.from({ length: text.length - start }, (_, index) => start + index);
    const cut = places.map((index) => text.slice(0, index));
    const changed = places.map(
      (index) =>
        `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`,
    );
    expect(cut.filter(opens)).toEqual([]);
    // The last character of base64 has bits that stand for nothing.
    expect(changed.filter(opens).every((opened) => opened.slice(0, -1) === text.slice(0, -1))).toBe(
      true,
    );
  });

  it('says nothing of the text or the key in an error', () => {
    const text = sealed('CODE-1234');
    let thrown: unknown = null;
    try {
      keys.open(`${text}AAAA`, at);
    } catch (error) {
      thrown = error;
    }
    const said = JSON.stringify(thrown, Object.getOwnPropertyNames(thrown));
    expect(said).toContain('damaged or moved');
    expect(said).not.toContain('CODE');
    expect(said).not.toContain(sealKey('k2').value);
  });
});
