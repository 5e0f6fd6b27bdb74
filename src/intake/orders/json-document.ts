import { Buffer } from 'node:buffer';
import { checkedBytes } from './utf8-text.ts';
import { DocumentError } from './document-error.ts';
import type { FoundOrder } from './check-order.ts';
import type { ParseLimits } from './settings.ts';
import { JsonSyntaxError, parseStrictJson } from './strict-json.ts';

/**
 * Reads a whole JSON document: one order, or an array of orders. It is held in memory, so its size is limited.
 * Throws DocumentError when it is not JSON.
 */
export async function readJsonDocument(
  chunks: AsyncIterable<Uint8Array>,
  limits: ParseLimits,
): Promise<readonly FoundOrder[]> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of checkedBytes(chunks)) {
    size += piece.length;
    if (size > limits.jsonBytes) throw tooLargeForJson(limits);
    pieces.push(Buffer.from(piece));
  }
  const text = Buffer.concat(pieces).toString('utf8');
  if (text.trim() === '') throw emptyDocument();
  return ordersOf(text, limits);
}

export function emptyDocument(): DocumentError {
  return new DocumentError('empty', 'There is nothing in it.', {
    hint: 'Was it moved before it was written? Write under a temporary name, then rename.',
  });
}

export function noOrders(): DocumentError {
  return new DocumentError('no_orders', 'It is well-formed but holds no order line.', {
    hint: 'If it was complete there is nothing to do. If it was still being written, send it again.',
  });
}

export function tooLargeForJson(limits: ParseLimits): DocumentError {
  return new DocumentError('too_large', `A JSON document may have at most ${limits.jsonBytes} bytes.`, {
    hint: 'Send it as NDJSON (one order on each line, .ndjson) or CSV: those are read as a stream.',
  });
}

function ordersOf(text: string, limits: ParseLimits): readonly FoundOrder[] {
  try {
    const document = parseStrictJson(text, limits.depth);
    const lineNumberOf = linesOf(text, (value) => document.offsetOf(value));
    const shared = { findings: document.findings, lineNumberOf };
    if (!Array.isArray(document.value)) return [{ ...shared, value: document.value, path: [] }];
    if (document.value.length === 0) throw noOrders();
    return document.value.map((value: unknown, index) => ({ ...shared, value, path: [index] }));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new DocumentError(error.code, syntaxMessage(text, error), {
      line: lineAt(text, error.offset),
      byte: Buffer.byteLength(text.slice(0, error.offset)),
      hint:
        error.offset >= text.trimEnd().length
          ? 'The text ends too early: is it cut off? Send it again, whole.'
          : 'Correct it at that place and send it again.',
    });
  }
}

/** What is wrong and where, for a person: line and column count from 1. */
export function syntaxMessage(text: string, error: JsonSyntaxError): string {
  const column = error.offset - text.lastIndexOf('\n', error.offset - 1);
  return `Line ${lineAt(text, error.offset)}, column ${column}: ${error.message}.`;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Line numbers of objects that are asked for in the order of the text: each newline is counted once. */
function linesOf(text: string, offsetOf: (value: object) => number): (value: unknown) => number {
  let line = 1;
  let next = text.indexOf('\n');
  let before = 0;
  return (value) => {
    if (typeof value !== 'object' || value === null) return line;
    const offset = offsetOf(value);
    if (offset < before) return lineAt(text, offset);
    before = offset;
    while (next >= 0 && next < offset) {
      line += 1;
      next = text.indexOf('\n', next + 1);
    }
    return line;
  };
}
