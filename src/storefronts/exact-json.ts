import { type Buffer, isUtf8 } from 'node:buffer';
import { readExactJson } from '../core/exact-json.ts';

/** Reads a body with every number as the text that was sent. Null when it is not JSON in UTF-8. */
export function parseExactJson(body: Buffer): { readonly value: unknown } | null {
  return isUtf8(body) ? readExactJson(body.toString('utf8')) : null;
}
