import { lstat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FileRow, IntakeBatch } from '../../store/intake/intake.ts';
import { DocumentError } from '../orders/document-error.ts';
import { checkDocument, tooLarge } from '../orders/check-document.ts';
import { tooLargeForJson } from '../orders/json-document.ts';
import { type OrderFormat, type ParseOptions, parseOrders } from '../orders/parse-orders.ts';
import { checkMarker } from './done-marker.ts';
import { openRegularFile, readPrefix } from './durable-files.ts';
import { formatOf, markerSuffix } from './file-names.ts';
import { hasErrno } from './filesystem-error.ts';
import type { FolderSettings } from './settings.ts';
import { signatureOf } from './inbox.ts';
import {
  type FileJob,
  type FileJobContext,
  type FileOutcome,
  finishFile,
  moveToRejected,
  rejectFile,
} from './finish-file.ts';

/** One commit costs a wait for the disk, and its lines the time in which nobody else has a turn: 40 ms for these. */
const batchLines = 2000;
const startsAllowed = 2;

/**
 * Brings one file from wherever it stands to its end. Each step is durable before the next begins, and each may be
 * repeated: 1 the start is counted, 2 the file is looked at as a whole, 3 its lines are accepted in batches, 4 its end
 * is recorded, 5 the sender's report is written, 6 the file is moved away. The commit always comes before the move.
 * Throws what the file system or the store throws; then the job stands where it stood and may be taken up again.
 */
export async function runFileJob(context: FileJobContext, job: FileJob): Promise<FileOutcome> {
  const row = await context.store.intake.files.find(job.id);
  if (row?.state === 'rejected') return moveToRejected(context, job, row.errorCode ?? '', row.errorMessage ?? '');
  if (row?.state === 'ingested' || row?.state === 'archived') return finishFile(context, job, row, null);
  let read: Read | null;
  try {
    read = await ingest(context, job);
  } catch (error) {
    const refusal = hasErrno(error, 'ENOENT') && !(await isThere(context, job)) ? vanished() : error;
    if (refusal instanceof DocumentError) return rejectFile(context, job, refusal);
    throw error;
  }
  if (read === null) return { kind: 'interrupted', job };
  return finishFile(context, job, read.row, read.signature);
}

/** A file whose lines are all in the outbox, and what it looked like before it was read. */
interface Read {
  readonly row: FileRow;
  readonly signature: string;
}

async function ingest(context: FileJobContext, job: FileJob): Promise<Read | null> {
  const { store, clock, config } = context;
  const path = join(config.work, job.workName);
  const { size } = await lstat(path);
  // Once in the life of a process: what is counted is how often a process ended over this file.
  if (!context.begun.has(job.id)) {
    const { starts } = await store.intake.files.begin({
      id: job.id,
      name: job.name,
      sizeBytes: size,
      nowMs: clock.wallMs(),
    });
    context.begun.add(job.id);
    if (starts > startsAllowed) throw poisoned(starts);
  }
  const handle = await openRegularFile(path);
  try {
    const opened = await handle.stat({ bigint: true });
    const source = { handle, sizeBytes: Number(opened.size), format: formatToRead(job, Number(opened.size), config) };
    const options = { source: config.source, limits: config.limits, columns: config.columns };
    const inspection = await checkDocument(readPrefix(handle, source.sizeBytes), source.format, options);
    if (config.ready === 'done_file') await checkMarker(`${path}${markerSuffix}`, inspection);
    const whole = await acceptLines(context, job, source, { ...options, oversized: inspection.oversized });
    if (!whole) {
      // An orderly stop says nothing against the file: only starts that ended the process count.
      await store.intake.files.postpone(job.id);
      context.begun.delete(job.id);
      return null;
    }
    const row = await store.intake.files.finish({ id: job.id, sha256: inspection.sha256, nowMs: clock.wallMs() });
    return { row, signature: signatureOf(opened) };
  } finally {
    await handle.close();
  }
}

function formatToRead(job: FileJob, sizeBytes: number, config: FolderSettings): OrderFormat {
  const format = formatOf(job.name);
  if (format === null) {
    const marker = job.name.endsWith(markerSuffix) ? ' Markers are only read with intake.folder.ready: done_file.' : '';
    throw new DocumentError('unknown_extension', `Nothing is known of files named like ${JSON.stringify(job.name)}.`, {
      hint: `Order files end in .json, .ndjson, .jsonl or .csv.${marker}`,
    });
  }
  if (sizeBytes > config.limits.documentBytes) throw tooLarge(config.limits);
  if (format === 'json' && sizeBytes > config.limits.jsonBytes) throw tooLargeForJson(config.limits);
  return format;
}

/** Accepts the lines in batches, and lets others have their turn between them. False when it was interrupted. */
async function acceptLines(
  context: FileJobContext,
  job: FileJob,
  source: { handle: FileHandle; sizeBytes: number; format: OrderFormat },
  options: ParseOptions,
): Promise<boolean> {
  let lines: IntakeBatch['lines'][number][] = [];
  let rejections: IntakeBatch['rejections'][number][] = [];
  const flush = async (): Promise<void> => {
    const batch = { nowMs: context.clock.wallMs(), fileId: job.id, lines, rejections };
    lines = [];
    rejections = [];
    await context.store.intake.acceptBatch(batch);
    // Also known lines give something to do: their results are written again.
    context.onAccepted();
    await nextTurn();
  };
  for await (const items of parseOrders(readPrefix(source.handle, source.sizeBytes), source.format, options)) {
    for (const item of items) {
      if (item.kind === 'line') lines.push(item.line);
      else rejections.push(item.rejection);
      if (lines.length + rejections.length < batchLines) continue;
      await flush();
      if (context.signal.aborted) return false;
    }
  }
  if (lines.length + rejections.length > 0) await flush();
  return true;
}

async function isThere(context: FileJobContext, job: FileJob): Promise<boolean> {
  try {
    await lstat(join(context.config.work, job.workName));
    return true;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return false;
    throw error;
  }
}

function vanished(): DocumentError {
  return new DocumentError('vanished', 'Somebody removed it from the work folder before it was read to its end.', {
    hint: 'Lines that were accepted before that go on. Send the file again: they will be recognised.',
  });
}

function poisoned(starts: number): DocumentError {
  return new DocumentError('poison_file', `The worker ended ${starts - 1} times while it read this file.`, {
    hint: 'Lines that were accepted go on. Divide the file to find what is wrong with it; lines sent again are recognised.',
  });
}
