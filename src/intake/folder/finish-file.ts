import { createHash } from 'node:crypto';
import { mkdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../core/clock.ts';
import { syncFolder, writeFileAtomically } from '../../ops/atomic-file.ts';
import type { FileRow } from '../../store/intake/intake.ts';
import type { Store } from '../../store/store.ts';
import type { DocumentError } from '../orders/document-error.ts';
import { moveDurably, openRegularFile, readPrefix } from './durable-files.ts';
import { documentReport, lineReport } from './error-report.ts';
import { newFileId } from './file-id.ts';
import { errorReportNameOf, markerSuffix, rejectedNameOf, workNameOf } from './file-names.ts';
import { hasErrno } from './filesystem-error.ts';
import type { FolderSettings } from './settings.ts';
import { signatureAt } from './inbox.ts';

/** A file in the work folder, ours alone. Where it stands is told by the outbox. */
export interface FileJob {
  readonly id: string;
  readonly name: string;
  /** Its name in the work folder. */
  readonly workName: string;
}

export type FileOutcome =
  | {
      readonly kind: 'ingested';
      readonly job: FileJob;
      readonly row: FileRow;
      /** The report on lines that were not accepted. */
      readonly report: string | null;
      /** Where the file is now, and what it looked like when it was read. */
      readonly archived: { readonly path: string; readonly signature: string } | null;
    }
  | { readonly kind: 'rejected'; readonly job: FileJob; readonly code: string; readonly message: string }
  /** It was written to after it was taken: the whole of it is a new job. */
  | { readonly kind: 'changed'; readonly job: FileJob; readonly next: FileJob }
  | { readonly kind: 'interrupted'; readonly job: FileJob };

export interface FileJobContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: FolderSettings;
  readonly onAccepted: () => void;
  /** Jobs whose start this process has counted. */
  readonly begun: Set<string>;
  /** Aborts between two batches. */
  readonly signal: AbortSignal;
}

/**
 * Ends a file whose lines are all in the outbox: its report, then the archive. `signature` is what it looked like when
 * it was read; null when that is not known any more, so that its content has to tell.
 */
export async function finishFile(
  context: FileJobContext,
  job: FileJob,
  row: FileRow,
  signature: string | null,
): Promise<FileOutcome> {
  const { store, clock, config } = context;
  const nowMs = clock.wallMs();
  const path = join(config.work, job.workName);
  const present = await signatureAt(path);
  const changed = present !== null && present !== signature && (await isOther(path, row.sha256));
  const rejections = await store.intake.files.rejections(job.id);
  const report = rejections.length === 0 ? null : errorReportNameOf(job.id, job.name);
  if (report !== null) await writeFileAtomically(join(config.rejected, report), lineReport(row, rejections));
  await store.intake.files.archive(job.id);
  if (changed) return { kind: 'changed', job, next: await renewJob(context, job) };
  const day = join(config.archive, isoTime(nowMs).slice(0, 10));
  if ((await mkdir(day, { recursive: true })) !== undefined) await syncFolder(config.archive);
  const to = join(day, job.workName);
  await moveIfThere(path, config.work, to);
  await removeMarker(context, job);
  return { kind: 'ingested', job, row, report, archived: present === null ? null : { path: to, signature: present } };
}

/** Somebody wrote to the file after we read it. Its lines are known by now, so that reading it all again adds the new ones. */
async function renewJob(context: FileJobContext, job: FileJob): Promise<FileJob> {
  const { work } = context.config;
  const id = newFileId(context.clock);
  const next = { id, name: job.name, workName: workNameOf(id, job.name) };
  await removeMarker(context, job);
  await moveDurably(join(work, job.workName), work, join(work, next.workName));
  return next;
}

/** Ends a file of which nothing (more) is accepted: its report, the commit, then the move. */
export async function rejectFile(context: FileJobContext, job: FileJob, error: DocumentError): Promise<FileOutcome> {
  const { store, clock, config } = context;
  if ((await store.intake.files.find(job.id)) === null) {
    await store.intake.files.begin({ id: job.id, name: job.name, sizeBytes: 0, nowMs: clock.wallMs() });
  }
  await writeFileAtomically(join(config.rejected, errorReportNameOf(job.id, job.name)), documentReport(job, error));
  const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  await store.intake.files.reject({
    id: job.id,
    sha256: null,
    code: error.documentCode,
    message,
    nowMs: clock.wallMs(),
  });
  return moveToRejected(context, job, error.documentCode, message);
}

export async function moveToRejected(
  context: FileJobContext,
  job: FileJob,
  code: string,
  message: string,
): Promise<FileOutcome> {
  const { work, rejected } = context.config;
  await moveIfThere(join(work, job.workName), work, join(rejected, rejectedNameOf(job.id, job.name)));
  await removeMarker(context, job);
  return { kind: 'rejected', job, code, message };
}

/** What is said of the file is committed by now; when somebody took it from the work folder, nothing is left to move. */
async function moveIfThere(path: string, folder: string, to: string): Promise<void> {
  if ((await signatureAt(path)) !== null) await moveDurably(path, folder, to);
}

async function removeMarker(context: FileJobContext, job: FileJob): Promise<void> {
  if (context.config.ready !== 'done_file') return;
  await unlink(join(context.config.work, `${job.workName}${markerSuffix}`)).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT')) throw error;
  });
}

/** Whether there is a file, and it has other content than was read. */
async function isOther(path: string, sha256: string | null): Promise<boolean> {
  try {
    return (await sha256Of(path)) !== sha256;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return false;
    throw error;
  }
}

async function sha256Of(path: string): Promise<string> {
  const handle = await openRegularFile(path);
  try {
    const hash = createHash('sha256');
    for await (const piece of readPrefix(handle, Number.MAX_SAFE_INTEGER)) hash.update(piece);
    return hash.digest('hex');
  } finally {
    await handle.close();
  }
}
