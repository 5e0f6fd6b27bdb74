import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Refusal } from './problem.ts';

/**
 * The bytes of a request body as they arrived, for signatures are made over bytes. Throws the refusal of a body that is
 * too large, before it was read, or that ends too early.
 */
export async function readRawBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (act: () => void) => {
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) end(() => reject(tooLarge(maxBytes)));
    };
    const onEnd = (): void => end(() => resolve(Buffer.concat(chunks)));
    const onClose = (): void => end(() => reject(new Refusal('incomplete', 'The body did not arrive completely.')));
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    if (incoming.destroyed && !incoming.readableEnded) onClose();
  });
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('too_large', `A body may have at most ${maxBytes} bytes. Divide the batch.`, {
    // What is still to come would have to be read before the next request on this connection.
    headers: { connection: 'close' },
  });
}
