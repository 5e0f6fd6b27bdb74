import { Buffer } from 'node:buffer';
import { z } from 'zod';
import type { DocumentSummary } from '../orders/check-document.ts';
import { DocumentError } from '../orders/document-error.ts';
import { openRegularFile, readPrefix } from './durable-files.ts';
import { hasErrno } from './filesystem-error.ts';

const markerBytes = 4096;
const markerSchema = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/)
    .optional(),
  rows: z.int().min(0).optional(),
});

/**
 * Holds a file against what its marker says of it: `{"sha256": "…", "rows": 12}`, each optional, or nothing at all.
 * Throws DocumentError when they differ: then the file is not the one that its writer finished.
 */
export async function checkMarker(path: string, inspection: DocumentSummary): Promise<void> {
  const text = await readMarker(path);
  if (text.trim() === '') return;
  const marker = parseMarker(text);
  if (marker.sha256 !== undefined && marker.sha256.toLowerCase() !== inspection.sha256) {
    throw new DocumentError(
      'sha256_mismatch',
      `Its marker promises SHA-256 ${marker.sha256}, it has ${inspection.sha256}.`,
      {
        hint: 'The file is not whole or was changed. Write the file first, then its marker, and send both again.',
      },
    );
  }
  if (marker.rows !== undefined && marker.rows !== inspection.rows) {
    throw new DocumentError(
      'row_count_mismatch',
      `Its marker promises ${marker.rows} order lines, it has ${inspection.rows}.`,
      {
        hint: 'Count order lines, without the header. Write the file first, then its marker, and send both again.',
      },
    );
  }
}

async function readMarker(path: string): Promise<string> {
  try {
    const handle = await openRegularFile(path);
    try {
      const pieces: Uint8Array[] = [];
      for await (const piece of readPrefix(handle, markerBytes + 1)) pieces.push(piece);
      return Buffer.concat(pieces).toString('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return '';
    throw error;
  }
}

function parseMarker(text: string): z.infer<typeof markerSchema> {
  try {
    const parsed = markerSchema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // Not JSON: the same answer as for JSON of another shape.
  }
  throw new DocumentError('bad_marker', 'Its marker is neither empty nor {"sha256": "…", "rows": n}.', {
    hint: 'Write an empty marker, or JSON with the SHA-256 in hexadecimal and the number of order lines.',
  });
}
