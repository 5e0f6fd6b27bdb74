import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { OriginalCsv, OriginalRecord } from '../../core/result/csv-result.ts';
import { csvRecords, isBlankRecord } from '../orders/csv-rows.ts';
import { DocumentError } from '../orders/document-error.ts';
import { utf8Pieces } from '../orders/utf8-text.ts';
import { workNameOf } from './file-names.ts';
import { hasErrno, openRegularFile, readPrefix, signatureAt } from './filesystem.ts';

interface ArchivedCsvName {
  readonly fileId: string;
  readonly name: string;
  readonly folder: string;
  readonly sha256: string;
  readonly delimiter: string;
}

/**
 * Throws NOT_FOUND when it is not in the archive any more; NOT_ALLOWED when it is another file than was
 * taken in.
 */
export async function readArchivedCsv(
  archive: string | null,
  file: ArchivedCsvName,
  use: (csv: OriginalCsv) => Promise<void>,
): Promise<void> {
  const path = archive && (await findArchived(archive, workNameOf(file.fileId, file.name)));
  if (path === null) {
    const message = `the order file ${file.name} (${file.fileId}) is not in the archive of the folder "${file.folder}" any more`;
    throw new OrderSyncError('NOT_FOUND', message, {
      hint: 'each order of this file has its result in a file of its own',
    });
  }
  try {
    const handle = await openRegularFile(path);
    try {
      const size = Number((await handle.stat({ bigint: true })).size);
      const first = await handle.read(new Uint8Array(65_536), 0, 65_536, 0);
      const begin = Buffer.from(first.buffer.subarray(0, first.bytesRead)).toString('utf8');
      const lineEnd = /\r\n|\n|\r/.exec(begin)?.[0] ?? '\n';
      const records = recordsOf(readPrefix(handle, size), file, path);
      await use({ hasMark: begin.startsWith('\uFEFF'), lineEnd, records });
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw error instanceof DocumentError ? notTheFile(path, error) : error;
  }
}

async function* recordsOf(
  pieces: AsyncIterable<Uint8Array>,
  { sha256, delimiter }: ArchivedCsvName,
  path: string,
): AsyncGenerator<readonly OriginalRecord[]> {
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  }
  // The rows were checked against the limits when they came in.
  const dialect = { delimiter, firstLine: 0, rowBytes: Number.MAX_SAFE_INTEGER };
  for await (const records of csvRecords(utf8Pieces(hashed()), dialect)) {
    yield records.map((record) => ({ ...record, isBlank: isBlankRecord(record.cells) }));
  }
  if (hash.digest('hex') !== sha256) throw notTheFile(path);
}

function notTheFile(path: string, cause?: unknown): OrderSyncError {
  return new OrderSyncError(
    'NOT_ALLOWED',
    `${path} is not the file that was taken in: its SHA-256 differs`,
    {
      cause,
      hint: 'files in the archive must not be changed; each order of this file has its result in a file of its own',
    },
  );
}

/**
 * The archive has a folder for each day. A file is in that of the day on which it was archived, the
 * newest most likely.
 */
async function findArchived(archive: string, name: string): Promise<string | null> {
  const days = (await readdir(archive)).filter((day) => /^\d{4}-\d{2}-\d{2}$/.test(day)).toSorted();
  for (const day of days.toReversed()) {
    try {
      const path = join(archive, day, name);
      if ((await signatureAt(path)) !== null) return path;
    } catch (error) {
      if (!hasErrno(error, 'ENOTDIR')) throw error;
    }
  }
  return null;
}
