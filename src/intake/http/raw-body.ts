import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Refusal } from './problem.ts';

/**
 * Reads a request body as the bytes that arrived, because signatures are made over bytes. Throws Refusal when it is too
 * large, if possible before it is read, or when it ends too early.
 */
export async function readRawBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return await new Promise<Buffer>((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let settled = false;
    const onData = (part: Buffer): void => {
      size += part.length;
      if (settled) return;
      if (size > maxBytes) {
        settled = true;
        parts.length = 0;
        reject(tooLarge(maxBytes));
      } else parts.push(part);
    };
    const onEnd = (): void => {
      settled = true;
      const [first] = parts;
      resolve(first !== undefined && parts.length === 1 ? first : Buffer.concat(parts));
    };
    // `close` also follows `end`. An error that nobody reads would then cost more than everything else here.
    const onClose = (): void => {
      if (settled) return;
      settled = true;
      reject(new Refusal('incomplete', 'The body did not arrive completely.'));
    };
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    if (incoming.destroyed && !incoming.readableEnded) onClose();
  });
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('too_large', `A body may have at most ${maxBytes} bytes. Split the batch.`, {
    // The rest of the body would have to be read before the next request on this connection.
    headers: { connection: 'close' },
  });
}
