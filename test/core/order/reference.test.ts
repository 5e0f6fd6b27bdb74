import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  namespaceFingerprint,
  referenceFor,
  type ReferenceSubject,
} from '../../../src/core/order/reference.ts';

const namespace = { instance: 'acme-shop', prefix: 'os', secret: Buffer.alloc(32, 1) };
const subject: ReferenceSubject = {
  source: 'shop1',
  orderId: '1001',
  lineId: '1',
  generation: 0,
  part: 0,
};

describe('a reference', () => {
  it('is the same for the same purchase: after a lost disk nothing is bought twice', () => {
    expect(referenceFor(namespace, subject)).toBe(
      referenceFor({ ...namespace, secret: Buffer.alloc(32, 1) }, { ...subject }),
    );
    // Pinned: another value here would buy every redelivered order of every installation again.
    expect(referenceFor(namespace, subject)).toBe('os-624jhnzqnq635wydlswnzgthra');
  });

  it('has at most 36 characters of [A-Za-z0-9_-]', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        fc.string(),
        fc.nat(),
        fc.nat(),
        (source, orderId, lineId, generation, part) => {
          const reference = referenceFor(
            { ...namespace, prefix: 'abcdefgh' },
            { source, orderId, lineId, generation, part },
          );
          expect(reference).toMatch(/^[A-Za-z0-9_-]{1,36}$/);
        },
      ),
    );
  });

  it('is a UUID of version 4 where the prefix is `uuid`', () => {
    const uuids = { ...namespace, prefix: 'uuid' };
    // Pinned, too.
    expect(referenceFor(uuids, subject)).toBe('f6b893b7-306c-4dbe-ab03-5cacdc9a6788');
    expect(referenceFor(uuids, { ...subject, part: 1 })).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it('differs for every other purchase, also when the joined fields would be the same text', () => {
    const others: Partial<ReferenceSubject>[] = [
      { source: 'shop2' },
      { orderId: '1002' },
      { lineId: '2' },
      { generation: 1 },
      { part: 1 },
      { source: 'shop', orderId: '11001' },
      { orderId: '10011', lineId: '' },
      { orderId: '100', lineId: '11' },
    ];
    const references = [subject, ...others.map((other) => ({ ...subject, ...other }))].map(
      (other) => referenceFor(namespace, other),
    );
    expect(new Set(references).size).toBe(references.length);
  });

  it('depends on the instance and the secret', () => {
    const reference = referenceFor(namespace, subject);
    expect(referenceFor({ ...namespace, instance: 'other-shop' }, subject)).not.toBe(reference);
    expect(referenceFor({ ...namespace, secret: Buffer.alloc(32, 2) }, subject)).not.toBe(
      reference,
    );
  });
});

describe('the fingerprint of a namespace', () => {
  it('changes with the secret, the instance and the prefix, and shows none of the secret', () => {
    const prints = [
      namespace,
      { ...namespace, prefix: 'ox' },
      { ...namespace, instance: 'b' },
      { ...namespace, secret: Buffer.alloc(32, 3) },
    ].map(namespaceFingerprint);
    expect(new Set(prints).size).toBe(4);
    expect(prints[0]).toMatch(/^[0-9a-f]{16}$/);
  });
});
