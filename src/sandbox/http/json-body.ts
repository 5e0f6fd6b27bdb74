import type { IncomingMessage } from 'node:http';

/**
 * The body of a request as text, and parsed, or why it cannot be read: a sentence for the message of `invalid_request`.
 * The text of a body that is too large ends somewhere after the allowed size.
 */
export type JsonBody = { text: string } & ({ json: unknown } | { problem: string });

/** A body that is too large is read up to here, because a client reads the answer only after it sent its body. */
const maxReadBytes = 64 * 1024 * 1024;

/** Reads a JSON body; no body at all reads as `{}`. Never throws. */
export async function readJsonBody(incoming: IncomingMessage, maxBytes: number): Promise<JsonBody> {
  const pieces: Buffer[] = [];
  let size = 0;
  let isComplete = true;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      if (size <= maxBytes) pieces.push(piece);
      size += piece.length;
      if (size > maxReadBytes) break;
    }
  } catch {
    isComplete = false;
  }
  const bytes = Buffer.concat(pieces);
  const problem = isComplete ? problemOf(incoming, size, maxBytes) : 'The body did not arrive completely.';
  if (problem !== null) return { text: bytes.toString(), problem };
  if (size === 0) return { text: '', json: {} };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, json: JSON.parse(text) as unknown };
  } catch {
    return { text: bytes.toString(), problem: 'The body is not valid JSON in UTF-8.' };
  }
}

function problemOf({ headers }: IncomingMessage, size: number, maxBytes: number): string | null {
  if (size > maxBytes) return `The body is larger than ${maxBytes} bytes.`;
  if (size === 0) return null;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    return 'The body must be JSON: send "Content-Type: application/json".';
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    return 'A compressed body is not read: send it without "Content-Encoding".';
  }
  return null;
}
