import { contentHash, hasErrno, moveDurably, signatureAt } from './filesystem.ts';
import { mkdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../core/clock.ts';
import { rejectedNameOf } from '../../core/order/order-file-names.ts';
import { requireRealFolder, syncFolder, writeFileAtomically } from '../../ops/files.ts';
import { repeatWhileBlocked } from '../../ops/disk-guard.ts';
import type { AcceptedLines, Intake } from '../../store/intake/intake.ts';
import type { FileRow } from '../../store/intake/files.ts';
import type { DocumentError } from '../orders/document-error.ts';
import type { CsvFormat } from '../orders/settings.ts';
import type { SkuSource } from '../orders/sku-source.ts';
import { type ClaimedFile, reclaimFile, returnFile } from './claim-file.ts';
import { errorReportNameOf, markerSuffix, newFileId } from './file-names.ts';
import type { FolderSettings } from './settings.ts';
import type { Rejection } from '../../store/intake/rejections.ts';

export interface ArchivedFile {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly signature: string;
}

const watchedMs = 60_000;
/** How many of the newest files each scan looks at. */
const watchedFiles = 500;
const keptFiles = 20_000;

/**
 * Watches files after they were archived: a writer that paused and seemed to be done may add orders
 * to them there. Each is looked at once more after its time, because one scan of many files may
 * take longer; of more than 20,000 files the oldest are not.
 */
export class ArchivedFiles {
  #watched: (ArchivedFile & { untilMs: number })[] = [];

  watch(file: ArchivedFile, steadyMs: number): void {
    this.#watched.push({ ...file, untilMs: steadyMs + watchedMs });
    if (this.#watched.length > keptFiles) this.#watched.shift();
  }

  async takeChanged(steadyMs: number): Promise<readonly ArchivedFile[]> {
    const isOver = (file: { untilMs: number }): boolean => file.untilMs <= steadyMs;
    const changed: ArchivedFile[] = [];
    const older = this.#watched.slice(0, -watchedFiles).filter(isOver);
    for (const file of [...older, ...this.#watched.slice(-watchedFiles)]) {
      const signature = await signatureAt(file.path);
      if (signature !== null && signature !== file.signature) changed.push(file);
    }
    this.#watched = this.#watched.filter((file) => !isOver(file) && !changed.includes(file));
    return changed;
  }
}

export type FileOutcome =
  | {
      readonly kind: 'ingested';
      readonly file: ClaimedFile;
      readonly lines: {
        readonly [kind in 'accepted' | 'known' | 'conflicts' | 'rejected']: number;
      };
      /** The name of the report about rejected lines; null: there are none. */
      readonly report: string | null;
    }
  /** `unfinished`: its writer may not have finished it, so it is in the inbox again. */
  | {
      readonly kind: 'rejected' | 'unfinished';
      readonly file: ClaimedFile;
      readonly code: string;
      readonly message: string;
    }
  /** The file was written to after it was claimed; all of it must be read again, as `next`. */
  | { readonly kind: 'changed'; readonly file: ClaimedFile; readonly next: ClaimedFile }
  | { readonly kind: 'interrupted'; readonly file: ClaimedFile };

export interface FileContext {
  readonly store: Intake;
  readonly clock: Clock;
  readonly config: FolderSettings;
  readonly skus: SkuSource | null;
  readonly format: CsvFormat;
  readonly onAccepted: (lines: AcceptedLines) => void;
  /** Called before a file is moved into the archive: its writer may continue there. */
  readonly onArchiving: (file: ArchivedFile) => void;
  /** Ids of the files whose start this process has counted. */
  readonly begun: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Finishes a file whose lines are all in the outbox: writes its report, records the end, archives
 * the file.
 * @param signature of the file when it was read; null when it is not known any more, then the
 * contents are compared
 */
export async function finishFile(
  context: FileContext,
  file: ClaimedFile,
  row: FileRow,
  signature: string | null,
): Promise<FileOutcome> {
  const { store, clock, config } = context;
  const nowMs = clock.wallMs();
  const path = join(config.work, file.workName);
  const present = await signatureAt(path);
  const content = present === null || present === signature ? null : await contentHash(path);
  const changed = content !== null && content !== row.sha256;
  const rejections = await store.files.rejections(file.id);
  const report = rejections.length === 0 ? null : errorReportNameOf(file.id, file.name);
  if (report !== null) await writeReport(config, report, lineReport(row, rejections));
  await store.files.archive(file.id);
  if (changed) {
    // Its lines are known by now, so reading all of it again only adds the new ones.
    await removeMarker(context, file);
    const next = await reclaimFile(config, { name: file.name, path }, newFileId(clock));
    await repeatWhileBlocked(() => store.files.replaced(file.id), context);
    return { kind: 'changed', file, next };
  }
  const day = join(config.archive, isoTime(nowMs).slice(0, 10));
  if ((await mkdir(day, { recursive: true, mode: 0o700 })) !== undefined)
    await syncFolder(config.archive);
  await requireRealFolder(day);
  const to = join(day, file.workName);
  // Before the move, which may be done although it fails: the next try does not find the file any
  // more.
  if (present !== null)
    context.onArchiving({ id: file.id, name: file.name, path: to, signature: present });
  await moveIfPresent(path, config.work, to);
  await removeMarker(context, file);
  const {
    acceptedCount: accepted,
    knownCount: known,
    conflictCount: conflicts,
    rejectedCount: rejected,
  } = row;
  return { kind: 'ingested', file, lines: { accepted, known, conflicts, rejected }, report };
}

/**
 * Finishes a file of which nothing more is accepted, or puts it back: writes its report, records
 * the rejection, moves it.
 */
export async function rejectFile(
  context: FileContext,
  file: ClaimedFile,
  error: DocumentError,
): Promise<FileOutcome> {
  const { store, clock, config } = context;
  if (error.isUnfinished && (await returnFile(config, file))) {
    await store.files.giveBack({ id: file.id, nowMs: clock.wallMs() });
    return { kind: 'unfinished', file, code: error.documentCode, message: error.message };
  }
  if ((await store.files.find(file.id)) === null) {
    const begun = { id: file.id, name: file.name, folder: config.name, sizeBytes: 0 };
    await store.files.begin({ ...begun, nowMs: clock.wallMs() });
  }
  await writeReport(config, errorReportNameOf(file.id, file.name), documentReport(file, error));
  const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  const code = error.documentCode;
  await store.files.reject({ id: file.id, sha256: null, code, message, nowMs: clock.wallMs() });
  return moveToRejected(context, file, code, message);
}

export async function moveToRejected(
  context: FileContext,
  file: ClaimedFile,
  code: string,
  message: string,
): Promise<FileOutcome> {
  const { work, rejected } = context.config;
  await moveIfPresent(
    join(work, file.workName),
    work,
    join(rejected, rejectedNameOf(file.id, file.name)),
  );
  await removeMarker(context, file);
  return { kind: 'rejected', file, code, message };
}

async function writeReport(
  { rejected, gid }: FolderSettings,
  name: string,
  text: string,
): Promise<void> {
  await requireRealFolder(rejected);
  await writeFileAtomically(join(rejected, name), text, {
    mode: gid === null ? 0o600 : 0o640,
    gid,
  });
}

/**
 * Everything is committed before a move, so nothing is lost when somebody has removed the file from
 * the work folder.
 */
async function moveIfPresent(path: string, folder: string, to: string): Promise<void> {
  if ((await signatureAt(path)) !== null) await moveDurably(path, folder, to);
}

async function removeMarker({ config }: FileContext, file: ClaimedFile): Promise<void> {
  if (config.ready !== 'done_file') return;
  await unlink(join(config.work, `${file.workName}${markerSuffix}`)).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT')) throw error;
  });
}

/** A report lists at most this many lines; the outbox has all of them. */
const reportedLines = 10_000;

const nextSteps: Readonly<Record<string, string>> = {
  conflict:
    'If you want to buy the new content, send it under a new line_id. Otherwise do nothing.',
  unknown_field: 'Correct or remove the field and send the line again.',
  missing_field: 'Add the field and send the line again.',
  id_mangled: 'Format the column as text before the export, and send the line again.',
  iccid_mangled: 'Format the column as text before the export, and send the line again.',
  unsafe_number: 'Write the number as a string, in quotes, and send the line again.',
  duplicate_key: 'Remove one of the two and send the line again.',
  unknown_sku: 'Add the SKU to the SKU map, or correct it, and send the line again.',
  too_many_lines: 'Split the order and send each part under an order id of its own.',
  wrong_cell_count:
    'Look for a missing or extra separator or quote in the line, and send the line again.',
  totals_row: 'If the row has the totals of the table, do nothing. Otherwise add the product.',
  invalid_json: 'Correct the line and send it again.',
};

/**
 * The report to the sender about a file of which some lines were rejected. The same file gets the
 * same report.
 */
function lineReport(file: FileRow, rejections: readonly Rejection[]): string {
  const shown = rejections.slice(0, reportedLines);
  const { length } = rejections;
  const others =
    file.acceptedCount + file.knownCount === 0
      ? 'Nothing of this file will be bought.'
      : 'The other lines were accepted.';
  return render({
    file: file.name,
    file_id: file.id,
    code: 'lines_not_accepted',
    message: `${length} ${length === 1 ? 'line of the file was' : 'lines of the file were'} rejected. ${others}`,
    lines_not_shown: length - shown.length,
    next_step:
      'Correct these lines and send them in a new file. Accepted lines may be sent again unchanged.',
    lines: shown.map((line) => ({
      line: line.lineNumber,
      source: line.source,
      order_id: line.orderId,
      line_id: line.lineId,
      code: line.code,
      field: line.field,
      rule: line.rule,
      value: line.value,
      next_step: nextSteps[line.code] ?? 'Correct the value and send the line again.',
    })),
  });
}

function documentReport(file: { id: string; name: string }, error: DocumentError): string {
  return render({
    file: file.name,
    file_id: file.id,
    code: error.documentCode,
    message: error.message,
    line: error.line,
    byte: error.byte,
    ...(error.mistakes.length < 2 ? {} : { mistakes: error.mistakes }),
    next_step: error.hint,
  });
}

function render(report: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}
