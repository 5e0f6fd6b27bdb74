import { Buffer } from 'node:buffer';
import type { FoundOrder } from './check-order.ts';
import { DocumentError, rejectHtml } from './document-error.ts';
import type { ParseLimits } from './settings.ts';
import { JsonSyntaxError, parseStrictJson } from './strict-json.ts';
import { utf8Pieces } from './utf8-text.ts';

/**
 * Reads a whole JSON document, one order or an array of them, into memory. Throws DocumentError.
 */
export async function readJsonDocument(
  parts: AsyncIterable<Uint8Array>,
  limits: ParseLimits,
): Promise<readonly FoundOrder[]> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of utf8Pieces(parts)) {
    size += piece.length;
    if (size > limits.jsonBytes) throw tooLargeForJson(limits);
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString('utf8');
  if (text.trim() === '') throw emptyDocument();
  return ordersOf(text, limits);
}

export function emptyDocument(): DocumentError {
  return new DocumentError('empty', 'The file is empty.', {
    isUnfinished: true,
    hint: 'Perhaps the file was moved before it was complete. Write it under a temporary name, then rename it.',
  });
}

export function noOrders(): DocumentError {
  return new DocumentError('no_orders', 'The file is well-formed but has no order line.', {
    isUnfinished: true,
    hint: 'If the file was complete, do nothing. If it was still being written, send it again.',
  });
}

export function tooLargeForJson(limits: ParseLimits): DocumentError {
  return new DocumentError(
    'too_large',
    `A JSON document may have at most ${limits.jsonBytes} bytes.`,
    {
      hint: 'Send the orders as NDJSON (one order on each line, .ndjson) or CSV: these files can be larger.',
    },
  );
}

function ordersOf(text: string, limits: ParseLimits): readonly FoundOrder[] {
  try {
    const { value: document, findings, lineOf } = parseStrictJson(text, limits.depth);
    if (!Array.isArray(document)) {
      return [{ value: document, path: [], findings, lineNumberOf: (value) => lineOf(value) ?? 1 }];
    }
    if (document.length === 0) throw noOrders();
    let line = 1;
    return document.map((order: unknown, index) => {
      // A value that is no object has no line of its own: it gets that of the order before it.
      const orderLine = (line = lineOf(order) ?? line);
      return {
        value: order,
        path: [index],
        findings,
        lineNumberOf: (value) => lineOf(value) ?? orderLine,
      };
    });
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    rejectHtml(text);
    // The text may end within a word or a number.
    const isUnfinished = /^[-+.a-z]{0,4}\s*$/i.test(text.slice(error.offset));
    throw new DocumentError(error.code, syntaxMessage(text, error), {
      line: lineAt(text, error.offset),
      byte: Buffer.byteLength(text.slice(0, error.offset)),
      isUnfinished,
      hint: isUnfinished
        ? 'The text ends too early. The file is perhaps cut off: send the whole file again.'
        : 'Correct the file there and send it again.',
    });
  }
}

export interface TextLine {
  readonly text: string;
  readonly number: number;
  /** False for a last line without a newline: the file may have been cut off there. */
  readonly ended: boolean;
}

/**
 * Yields the lines of an NDJSON document that are not blank. Throws DocumentError on a line that is
 * too long.
 */
export async function* ndjsonLines(
  pieces: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<TextLine> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 1;
  const checked = (bytes: Buffer): string => {
    if (bytes.length <= maxBytes) return bytes.toString('utf8').replace(/\r$/, '');
    throw new DocumentError('line_too_long', `Line ${number} is longer than ${maxBytes} bytes.`, {
      line: number,
      hint: 'Split the order, or send one order on each line.',
    });
  };
  for await (const piece of pieces) {
    rest = Buffer.concat([rest, piece]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const text = checked(rest.subarray(0, end));
      if (text.trim() !== '') yield { text, number, ended: true };
      rest = rest.subarray(end + 1);
      number += 1;
    }
    if (rest.length > maxBytes) checked(rest);
  }
  const text = checked(rest);
  if (text.trim() !== '') yield { text, number, ended: false };
}

/** The message of a syntax error with its line and column, which count from 1. */
export function syntaxMessage(text: string, error: JsonSyntaxError): string {
  const column = error.offset - text.lastIndexOf('\n', error.offset - 1);
  return `Line ${lineAt(text, error.offset)}, column ${column}: ${error.message}.`;
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
