import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SkuMap } from '../../core/order/sku-map.ts';
import type { FileRow } from '../../store/intake/files.ts';
import type { IntakeBatch } from '../../store/intake/accept-batch.ts';
import { checkDocument, tooLarge } from '../orders/check-document.ts';
import type { CheckedRow } from '../orders/check-row.ts';
import { DocumentError } from '../orders/document-error.ts';
import { tooLargeForJson } from '../orders/json-document.ts';
import type { OrderFormat } from '../orders/settings.ts';
import { parseOrders } from '../orders/parse-orders.ts';
import type { ClaimedFile } from './claim-file.ts';
import { withSkuRules } from '../orders/sku-source.ts';
import { formatOf, markerSuffix } from './file-names.ts';
import { hasErrno, openRegularFile, readPrefix, signatureAt, signatureOf } from './filesystem.ts';
import {
  type FileContext,
  type FileOutcome,
  finishFile,
  moveToRejected,
  rejectFile,
} from './finish-file.ts';
import type { FolderSettings } from './settings.ts';

/**
 * A commit of this many lines blocks the process for 40 ms. Smaller batches would wait for the disk
 * more often.
 */
const batchLines = 2000;
const startsAllowed = 2;

/**
 * Ingests one claimed file, from the step that an earlier run has reached:
 * 1. count the start; 2. check the whole document; 3. accept its lines in batches; 4. record the end; 5. write the
 * sender's report; 6. move the file. Each step is durable before the next one begins, and each may
 * be repeated. The commit always comes before the move. Throws errors of the file system and of the
 * store; then call it again later.
 */
export async function ingestFile(context: FileContext, claimed: ClaimedFile): Promise<FileOutcome> {
  const row = await context.store.files.find(claimed.id);
  const file = { inboxPath: join(context.config.inbox, row?.name ?? claimed.name), ...claimed };
  if (row?.state === 'rejected')
    return moveToRejected(context, file, row.errorCode ?? '', row.errorMessage ?? '');
  if (row?.state === 'ingested' || row?.state === 'archived')
    return finishFile(context, file, row, null);
  let read: ReadFile | null;
  try {
    read = await acceptFile(context, file);
  } catch (error) {
    const isGone =
      hasErrno(error, 'ENOENT') &&
      (await signatureAt(join(context.config.work, file.workName))) === null;
    const reason = isGone ? vanished() : error;
    if (reason instanceof DocumentError) return rejectFile(context, file, reason);
    throw error;
  }
  if (read === null) return { kind: 'interrupted', file };
  return finishFile(context, file, read.row, read.signature);
}

/** A file whose lines are all in the outbox, with its signature before it was read. */
interface ReadFile {
  readonly row: FileRow;
  readonly signature: string;
}

/** Steps 1 to 4. Null when it was interrupted. */
async function acceptFile(
  context: FileContext,
  { id, name, workName }: ClaimedFile,
): Promise<ReadFile | null> {
  const { store, clock, config, begun } = context;
  const path = join(config.work, workName);
  const { size } = await lstat(path);
  // Counted once in each process: it shows how often a process died while it read this file.
  if (!begun.has(id)) {
    const { starts } = await store.files.begin({
      id,
      name,
      folder: config.name,
      sizeBytes: size,
      nowMs: clock.wallMs(),
    });
    begun.add(id);
    if (starts > startsAllowed) throw poisoned(starts);
  }
  const handle = await openRegularFile(path);
  try {
    const opened = await handle.stat({ bigint: true });
    if (opened.nlink > 1n) throw hardLinked(Number(opened.nlink));
    const sizeBytes = Number(opened.size);
    const format = formatToRead(name, sizeBytes, config);
    // One version of the SKU map for both readings of the file.
    const skus = (await context.skus?.current()) ?? null;
    const options = { ...config, format: context.format, skus };
    const { sha256, counted, delimiter } = await checkDocument(
      readPrefix(handle, sizeBytes),
      format,
      options,
    );
    const checkedLines = parseOrders(readPrefix(handle, sizeBytes), format, options, counted);
    const file = { fileId: id, delimiter, allowMangledIds: config.allowMangledIds };
    const isComplete = await acceptLines(context, file, checkedLines, skus);
    if (!isComplete) {
      // An orderly stop is not the fault of the file, so this start does not count.
      await store.files.postpone(id);
      begun.delete(id);
      return null;
    }
    const row = await store.files.finish({ id, sha256, nowMs: clock.wallMs() });
    return { row, signature: signatureOf(opened) };
  } finally {
    await handle.close();
  }
}

function formatToRead(name: string, sizeBytes: number, config: FolderSettings): OrderFormat {
  const format = formatOf(name);
  if (format === null) {
    const marker = name.endsWith(markerSuffix)
      ? ' Marker files are only read if the folder has `ready: done_file`.'
      : '';
    throw new DocumentError(
      'unknown_extension',
      `The name ${JSON.stringify(name)} has no known extension.`,
      {
        hint: `Order files end in .json, .ndjson, .jsonl, .csv, .tsv or .txt. Save a workbook as "CSV UTF-8".${marker}`,
      },
    );
  }
  if (sizeBytes > config.limits.documentBytes) throw tooLarge(config.limits);
  if (format === 'json' && sizeBytes > config.limits.jsonBytes)
    throw tooLargeForJson(config.limits);
  return format;
}

/**
 * Accepts the lines in batches, with a turn of the event loop after each. False when it was
 * interrupted.
 */
async function acceptLines(
  context: FileContext,
  file: Pick<IntakeBatch, 'fileId' | 'delimiter' | 'allowMangledIds'>,
  checkedLines: AsyncIterable<readonly CheckedRow[]>,
  skus: SkuMap | null,
): Promise<boolean> {
  let lines: IntakeBatch['lines'][number][] = [];
  let rejections: IntakeBatch['rejections'][number][] = [];
  const commit = async (): Promise<void> => {
    const batch = { ...file, nowMs: context.clock.wallMs(), lines, rejections };
    lines = [];
    rejections = [];
    const results = await context.store.acceptBatch(batch);
    const accepted = new Map<string, number>();
    for (const result of results)
      if (result.status === 'accepted')
        accepted.set(result.source, (accepted.get(result.source) ?? 0) + 1);
    // Also where all lines are known: their results are written again.
    context.onAccepted(accepted);
    await nextTurn();
  };
  for await (const some of checkedLines) {
    for (const checked of some) {
      if (checked.kind === 'line')
        lines.push(withSkuRules(checked.line, skus, context.clock.wallMs()));
      else if (checked.kind === 'rejection') rejections.push(checked.rejection);
      if (lines.length + rejections.length < batchLines) continue;
      await commit();
      if (context.signal.aborted) return false;
    }
  }
  if (lines.length + rejections.length > 0) await commit();
  return true;
}

/**
 * Its other name may be that of a file that its sender must not read, and a report would show
 * values of it.
 */
function hardLinked(names: number): DocumentError {
  return new DocumentError(
    'hard_link',
    `The file has ${names} hard links: the same file is also under another name or in another folder. It was not read.`,
    {
      // Also where a crash came while it was put back into the inbox.
      isUnfinished: true,
      hint: 'Copy the file into the inbox instead of linking it, or delete the other hard link first.',
    },
  );
}

function vanished(): DocumentError {
  return new DocumentError(
    'vanished',
    'The file was removed from the work folder before it was read to its end.',
    {
      hint: 'Lines that are already accepted will be bought. Send the file again: these lines will not be bought twice.',
    },
  );
}

function poisoned(starts: number): DocumentError {
  return new DocumentError(
    'poison_file',
    `The worker crashed ${starts - 1} times while it read this file.`,
    {
      hint: 'Accepted lines will be bought. Split the file to find the cause; lines that are sent again are not bought twice.',
    },
  );
}
