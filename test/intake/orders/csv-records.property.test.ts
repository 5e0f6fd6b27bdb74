import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvRecords } from '../../../src/intake/orders/csv-rows.ts';
import { dialect, inPieces, recordsOf, text } from './csv-pieces.ts';

it('the records of a CSV document are the same in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 30 }), async (document, characters) => {
      const found = await recordsOf(csvRecords(inPieces(document, characters), dialect));
      expect(found).toEqual(await recordsOf(csvRecords(inPieces(document, 1000), dialect)));
    }),
    { numRuns: 5000 },
  );
});
