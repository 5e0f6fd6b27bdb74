import { Buffer } from 'node:buffer';
import fc from 'fast-check';

/**
 * The number of inputs: 50 % JSON, 25 % CSV, 25 % raw requests. CI runs 10,000; `FUZZ_RUNS=100000`
 * is the long run of CONTRIBUTING.md.
 */
const total = Number(process.env['FUZZ_RUNS'] ?? 1200);
export const runs = {
  json: Math.ceil(total / 2),
  csv: Math.ceil(total / 4),
  requests: Math.ceil(total / 4),
};

/** Inputs that are sent at the same time. */
export const together = 32;

/** In ms; in proportion to the number of inputs. */
export const fuzzTimeoutMs = 120_000 + total * 60;

/** A document in which some values are replaced, omitted, repeated or nested. */
export function mutated(document: unknown): fc.Arbitrary<string> {
  const strange = fc.oneof(
    fc.jsonValue(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      0,
      -1,
      1e308,
      9_007_199_254_740_992,
      '',
      ' ',
      '__proto__',
      'constructor',
      'esim_topup',
      [],
      {},
      null,
      true,
      '8999901000000000013',
    ),
  );
  return fc
    .array(fc.tuple(fc.nat(), strange, fc.constantFrom('replace', 'remove', 'add')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((changes) => {
      const copy: unknown = structuredClone(document);
      for (const [at, value, how] of changes) {
        const places = placesIn(copy);
        const place = places[at % Math.max(1, places.length)];
        if (place === undefined) continue;
        if (how === 'remove') Reflect.deleteProperty(place.holder, place.key);
        else Reflect.set(place.holder, how === 'add' ? `${place.key}x` : place.key, value);
      }
      return JSON.stringify(copy);
    });
}

function placesIn(value: unknown): { holder: object; key: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    { holder: value, key },
    ...placesIn(child),
  ]);
}

/** Bytes that are cut, or in which a piece is repeated or replaced. */
export const damaged = (whole: fc.Arbitrary<string | Buffer>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(whole, fc.nat(), fc.nat(), fc.uint8Array({ maxLength: 8 }))
    .map(([text, from, length, bytes]) => {
      const buffer = Buffer.from(text);
      const start = from % (buffer.length + 1);
      return Buffer.concat([
        buffer.subarray(0, start),
        bytes,
        buffer.subarray(start + (length % 9)),
      ]);
    });

export const bodyOf = (document: unknown): fc.Arbitrary<Buffer> =>
  fc.oneof(
    { weight: 4, arbitrary: mutated(document).map((text) => Buffer.from(text)) },
    { weight: 2, arbitrary: damaged(mutated(document)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
  );
