import { Buffer } from 'node:buffer';
import { z } from 'zod';
import type { DocumentSummary } from '../orders/check-document.ts';
import { DocumentError } from '../orders/document-error.ts';
import { readPrefix, useRegularFile } from './filesystem.ts';

const markerBytes = 4096;
const markerSchema = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/)
    .optional(),
  rows: z.int().min(0).optional(),
});

/**
 * Compares a file with its marker: `{"sha256": "…", "rows": 12}`, each optional, or empty. Throws DocumentError when
 * they differ: then the file is not the one that its writer finished.
 */
export async function checkMarker(path: string, summary: DocumentSummary): Promise<void> {
  const text = await useRegularFile(path, async (handle) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of readPrefix(handle, markerBytes + 1)) pieces.push(piece);
    return Buffer.concat(pieces).toString('utf8');
  });
  if (text === null || text.trim() === '') return;
  const { sha256, rows } = parseMarker(text);
  if (sha256 !== undefined && sha256.toLowerCase() !== summary.sha256) {
    const message = `Its marker states SHA-256 ${sha256}, but the file has ${summary.sha256}.`;
    throw new DocumentError('sha256_mismatch', message, {
      hint: 'The file is incomplete or was changed. Write the file first, then its marker, and send both again.',
    });
  }
  if (rows !== undefined && rows !== summary.rows) {
    const message = `Its marker states ${rows} order lines, but the file has ${summary.rows}.`;
    throw new DocumentError('row_count_mismatch', message, {
      hint: 'Count order lines, without the header. Write the file first, then its marker, and send both again.',
    });
  }
}

function parseMarker(text: string): z.infer<typeof markerSchema> {
  try {
    const parsed = markerSchema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // Text that is not JSON gets the same error as JSON of another shape.
  }
  throw new DocumentError('bad_marker', 'Its marker is neither empty nor {"sha256": "…", "rows": n}.', {
    hint: 'Write an empty marker, or JSON with the SHA-256 in hexadecimal and the number of order lines.',
  });
}
