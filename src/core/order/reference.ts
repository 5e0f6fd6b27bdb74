import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/**
 * The purchase that a reference names. Only another generation or part gives a line another
 * reference.
 */
export interface ReferenceSubject {
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /**
   * 0 at first. It rises only when a definite rejection is followed by a changed body, or when an
   * operator re-orders.
   */
  readonly generation: number;
  /** 0 unless a line was split because of the per-order limit (Spec 7, `limit_exceeded`). */
  readonly part: number;
}

export interface ReferenceNamespace {
  /** Keeps the references of two installations apart that share an account. */
  readonly instance: string;
  /**
   * The beginning of every reference, by which an operator recognises it in the supplier's list;
   * `uuid`: it is a UUID.
   */
  readonly prefix: string;
  /** At least 32 bytes, created once. In production it is kept outside the data volume. */
  readonly secret: Buffer;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const digestCharacters = 26; // 130 bits: collisions need no handling

/**
 * `bytes` has one character for each byte: Node returns a digest as text three times as fast as in
 * a Buffer.
 */
function base32(bytes: string, characters: number): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (let index = 0; index < bytes.length && text.length < characters; index += 1) {
    value = ((value << 8) | bytes.charCodeAt(index)) & 0xffff;
    bits += 8;
    while (bits >= 5 && text.length < characters) {
      bits -= 5;
      text += alphabet[(value >>> bits) & 31];
    }
  }
  return text;
}

/** Creating a key costs more than using it, and a file of 50,000 lines uses it 50,000 times. */
const keys = new WeakMap<Buffer, KeyObject>();

function keyOf(secret: Buffer): KeyObject {
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const key = createSecretKey(secret);
  keys.set(secret, key);
  return key;
}

/**
 * The reference of a purchase: at most 36 characters of [A-Za-z0-9_-]. It is deterministic: when a
 * request is delivered again after the disk was lost, it gets the same reference, and the API
 * repeats its answer instead of selling again (Spec 7, retry rule 1).
 */
export function referenceFor(namespace: ReferenceNamespace, subject: ReferenceSubject): string {
  // As JSON, ("a", "bc") and ("ab", "c") are different messages.
  const message = JSON.stringify([
    namespace.instance,
    subject.source,
    subject.orderId,
    subject.lineId,
    subject.generation,
    subject.part,
  ]);
  const hmac = createHmac('sha256', keyOf(namespace.secret)).update(message);
  if (namespace.prefix === 'uuid') return asUuid(hmac.digest('hex'));
  return `${namespace.prefix}-${base32(hmac.digest('binary'), digestCharacters)}`;
}

/** 122 bits, as a UUID of version 4: APIs that check the version ask for this one. */
const asUuid = (hex: string): string =>
  hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-a$4-$5');

/**
 * Identifies the namespace without revealing its secret. Checked at the start: another secret gives
 * other references.
 */
export function namespaceFingerprint(namespace: ReferenceNamespace): string {
  const salted = createHmac('sha256', namespace.secret).update('order-sync namespace fingerprint');
  return createHash('sha256')
    .update(salted.digest())
    .update(`${namespace.instance}\n${namespace.prefix}`)
    .digest('hex')
    .slice(0, 16);
}

/**
 * Identifies the value of an API key in the database without storing it. It can be compared only
 * with the reference secret. 64 bits are enough for a few keys.
 */
export function keyFingerprint(namespace: ReferenceNamespace, value: string): string {
  return createHmac('sha256', keyOf(namespace.secret))
    .update(`order-sync key print\n${value}`)
    .digest('hex')
    .slice(0, 16);
}

/** The keyed hash by which orders of the same customer are found; nobody can read it. */
export function customerMark(namespace: ReferenceNamespace, name: string): string {
  return unitMark(namespace, `of customer\n${name}`);
}

/**
 * The keyed hash of a unit's name: who has the database alone cannot try codes against it. 132 bits.
 */
export function unitMark(namespace: ReferenceNamespace, name: string): string {
  return createHmac('sha256', keyOf(namespace.secret))
    .update(`order-sync unit\n${name}`)
    .digest('base64url')
    .slice(0, 22);
}
