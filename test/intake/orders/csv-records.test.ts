import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvRecords } from '../../../src/intake/orders/csv-rows.ts';
import { dialect, inPieces, recordsOf, text } from './csv-pieces.ts';

describe('the records of a CSV document', () => {
  it('are the same in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 30 }), async (document, characters) => {
        const found = await recordsOf(csvRecords(inPieces(document, characters), dialect));
        expect(found).toEqual(await recordsOf(csvRecords(inPieces(document, 1000), dialect)));
      }),
      { numRuns: 300 },
    );
  });

  it('an error has the right line, also when the first quote comes after many lines', async () => {
    const lines = 'a,b\n'.repeat(1000);
    for (const characters of [7, 4000, 5000]) {
      expect(await recordsOf(csvRecords(inPieces(`${lines}"b,c\n`, characters), dialect))).toEqual({
        code: 'unclosed_quote',
        line: 1001,
      });
    }
  });

  it.each(['a', '"'])(
    'a row that never ends is rejected at the limit of a row: %s',
    async (first) => {
      let given = 0;
      async function* endless(): AsyncGenerator<Buffer> {
        yield Buffer.from(`x,y\n${first}`);
        for (given = 0; given < 1000; given += 1) yield Buffer.alloc(50, 'b');
      }
      const found = await recordsOf(csvRecords(endless(), { ...dialect, rowBytes: 100 }));
      expect(found).toEqual({ code: 'line_too_long', line: 2 });
      expect(given).toBeLessThan(100);
    },
  );
});
