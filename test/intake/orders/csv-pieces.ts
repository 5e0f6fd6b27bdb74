import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { DocumentError } from '../../../src/intake/orders/document-error.ts';
import { parseLimits } from '../../support/intake-settings.ts';

export const dialect = { delimiter: ',', firstLine: 0, rowBytes: parseLimits.rowBytes };

/** Pieces end between two characters, as `utf8Pieces` makes them. */
export async function* inPieces(text: string, characters: number): AsyncGenerator<Buffer> {
  const all = Array.from(text);
  for (let at = 0; at < all.length; at += characters)
    yield Buffer.from(all.slice(at, at + characters).join(''));
}

export async function recordsOf(found: AsyncIterable<readonly unknown[]>): Promise<unknown> {
  const records: unknown[] = [];
  try {
    for await (const some of found) records.push(...some);
    return records;
  } catch (error) {
    if (error instanceof DocumentError) return { code: error.documentCode, line: error.line };
    throw error;
  }
}

const sign = fc.constantFrom(
  'a',
  'é',
  '😀',
  ' ',
  ',',
  ';',
  '\n',
  '\r',
  '\r\n',
  '\t',
  '\u2028',
  '\u00a0',
  '#',
  '"',
);
/** A random document. */
export const text = fc
  .array(
    fc.oneof(
      { weight: 20, arbitrary: sign.filter((one) => one !== '"') },
      { weight: 1, arbitrary: sign },
    ),
  )
  .map((signs) => signs.join(''));
