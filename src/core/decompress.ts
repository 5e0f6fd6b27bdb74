import {
  brotliDecompressSync,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';

type Decompressor = (body: Uint8Array, options: { readonly maxOutputLength: number }) => Buffer;

/** `deflate` has a zlib header (RFC 9110, 8.4.1.2), but some servers send it without one. */
const inflate: Decompressor = (body, options) =>
  ((body[0] ?? 0) & 0x0f) === 8 ? inflateSync(body, options) : inflateRawSync(body, options);

const decompressors: Readonly<Record<string, Decompressor>> = {
  gzip: (body, options) => gunzipSync(body, options),
  'x-gzip': (body, options) => gunzipSync(body, options),
  deflate: inflate,
  br: (body, options) => brotliDecompressSync(body, options),
  zstd: (body, options) => zstdDecompressSync(body, options),
};

/** A body, or why it cannot be read. */
type Decompressed = { readonly body: Uint8Array } | { readonly problem: string };

/**
 * Decompresses the body of an answer. The worker asks for none (`accept-encoding: identity`), but
 * some servers compress all the same, also without saying so. Never makes more than `capBytes` of
 * it.
 * @param encoding the header `content-encoding`
 */
export function decompress(
  body: Uint8Array,
  encoding: string | undefined,
  capBytes: number,
): Decompressed {
  const named = (encoding ?? '').trim().toLowerCase();
  // No JSON text begins with the two bytes of gzip.
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  const name = named === '' || named === 'identity' ? (isGzip ? 'gzip' : null) : named;
  if (name === null || body.byteLength === 0) return { body };
  const decompressor = Object.hasOwn(decompressors, name) ? decompressors[name] : undefined;
  if (decompressor === undefined)
    return { problem: 'the answer is compressed in a way that the worker does not know' };
  try {
    return { body: decompressor(body, { maxOutputLength: capBytes }) };
  } catch (error) {
    const isTooLong = error instanceof RangeError;
    return {
      problem: isTooLong
        ? `the decompressed answer is longer than ${capBytes} bytes`
        : `the answer is not complete ${name}`,
    };
  }
}
