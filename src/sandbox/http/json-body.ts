import type { IncomingMessage } from 'node:http';
import type { Call } from '../orders/call.ts';

/** A body beyond the limit is still read to its end, so that the caller hears why, but only up to here. */
const drainedBytes = 64 * 1024 * 1024;

/** Reads a JSON body. Whatever is wrong with it is said in words for `invalid_request`; it never throws. */
export async function readJsonBody(incoming: IncomingMessage, maxBytes: number): Promise<Call['body']> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      if (size > drainedBytes) break;
    }
  } catch {
    return { problem: 'The body did not arrive completely.' };
  }
  if (size > maxBytes) return { problem: `The body is larger than ${maxBytes} bytes.` };
  if (size === 0) return { json: {} };
  const type = incoming.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return { problem: 'The body must be JSON: send "Content-Type: application/json".' };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { problem: 'The body is not valid JSON in UTF-8.' };
  }
}
