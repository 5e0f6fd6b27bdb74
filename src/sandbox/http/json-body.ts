import type { IncomingMessage } from 'node:http';

/** The parsed JSON body of a request, or why it cannot be read: a sentence for the message of `invalid_request`. */
export type JsonBody = { json: unknown } | { problem: string };

/** A body that is too large is read up to here, because a client reads the answer only after it sent its body. */
const maxReadBytes = 64 * 1024 * 1024;

/** Reads a JSON body; no body at all reads as `{}`. Never throws. */
export async function readJsonBody(incoming: IncomingMessage, maxBytes: number): Promise<JsonBody> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size <= maxBytes) pieces.push(piece);
      if (size > maxReadBytes) break;
    }
  } catch {
    return { problem: 'The body did not arrive completely.' };
  }
  if (size > maxBytes) return { problem: `The body is larger than ${maxBytes} bytes.` };
  if (size === 0) return { json: {} };
  if (!/^application\/json\s*(;|$)/i.test(incoming.headers['content-type'] ?? '')) {
    return { problem: 'The body must be JSON: send "Content-Type: application/json".' };
  }
  if ((incoming.headers['content-encoding'] ?? 'identity') !== 'identity') {
    return { problem: 'A compressed body is not read: send it without "Content-Encoding".' };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { problem: 'The body is not valid JSON in UTF-8.' };
  }
}
