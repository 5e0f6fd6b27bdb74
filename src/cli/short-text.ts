import { createReadStream } from 'node:fs';
import { OrderSyncError } from '../core/order-sync-error.ts';

const mostBytes = 512 * 1024;

/**
 * The text of a short file, or of standard input where the name is `-`.
 * @throws OrderSyncError NOT_FOUND; USAGE for more than 512 KiB, and for what is not UTF-8
 */
export async function readShortText(file: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    const content: AsyncIterable<Uint8Array> = file === '-' ? process.stdin : createReadStream(file);
    for await (const piece of content) {
      pieces.push(piece);
      bytes += piece.byteLength;
      if (bytes > mostBytes) throw new OrderSyncError('USAGE', `${file} has more than ${mostBytes} bytes`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch (error) {
    if (error instanceof TypeError) throw new OrderSyncError('USAGE', `${file} is not text in UTF-8`);
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new OrderSyncError('NOT_FOUND', `There is no file ${file}`, { hint: 'check its name', cause: error });
    }
    throw error;
  }
}
