import { createReadStream } from 'node:fs';
import { codeOf, OrderSyncError } from '../core/order-sync-error.ts';

/**
 * All of a file, or of standard input where its name is `-`.
 * @param tooLarge the error for more than so many bytes
 * @throws OrderSyncError NOT_FOUND
 */
export async function readInput(
  file: string,
  mostBytes: number,
  tooLarge: () => Error,
): Promise<readonly Uint8Array[]> {
  const content: AsyncIterable<Uint8Array> = file === '-' ? process.stdin : createReadStream(file);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of content) {
      bytes += part.byteLength;
      if (bytes > mostBytes) throw tooLarge();
      parts.push(part);
    }
    return parts;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new OrderSyncError('NOT_FOUND', `There is no file ${file}`, {
      hint: 'check its name',
      cause: error,
    });
  }
}
