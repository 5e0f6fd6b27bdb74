import type { FilePlan, IntakePlan, SentLine } from './intake-plan.ts';
import { documentOf, type Pieces } from './order-documents.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimFile, SimFiles } from './sim-files.ts';
import type { VirtualTime } from './virtual-time.ts';

/** One upload of a file. */
export interface Upload {
  readonly plan: FilePlan;
  readonly text: string;
  /**
   * When its bytes and its name were on the disk, and its sender believed that it is done; null:
   * not yet.
   */
  doneAtMs: number | null;
  /**
   * A late writer continued after a restart of the worker, which then does not know that it may.
   */
  unwatched: boolean;
}

const inbox = 'inbox';
/** How long a worker watches a file that it has archived, and some scans. */
const watchedMs = 75_000;

/** The lines of an upload of which all bytes are among the first `length`. */
export function linesIn(upload: Upload, length: number): readonly SentLine[] {
  const { plan } = upload;
  const pieces = documentOf(plan.format, plan.lines);
  // JSON is one piece: all of it, or nothing.
  if (pieces.length === 1) return length >= upload.text.length ? plan.lines : [];
  let end = Buffer.byteLength(pieces[0]);
  return plan.lines.filter((_, index) => {
    end += Buffer.byteLength(pieces[index + 1] ?? '');
    return end <= length;
  });
}

/**
 * Puts order files into the inbox, as the programs of shops do. When the machine loses power during
 * an upload, the sender notices it and uploads all of it again.
 */
export class SimUploader {
  readonly uploads = new Map<SimFile, Upload>();
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #files: SimFiles;
  readonly #plan: IntakePlan;
  readonly #trace: (what: string) => void;
  /** Rises with each power loss: no upload continues after one. */
  #power = 0;
  #drafts = 0;
  /** Uploads that are expected or under way. */
  #open = 0;

  constructor(options: {
    time: VirtualTime;
    random: SeededRandom;
    files: SimFiles;
    plan: IntakePlan;
    trace: (what: string) => void;
  }) {
    this.#time = options.time;
    this.#random = options.random;
    this.#files = options.files;
    this.#plan = options.plan;
    this.#trace = options.trace;
  }

  begin(): void {
    for (const plan of this.#plan.files) {
      for (const atMs of [plan.atMs, ...plan.againAtMs]) {
        this.#open += 1;
        this.#time.after(atMs, () => this.#start(plan));
      }
    }
  }

  /**
   * A worker may have read the first part of a late file, and notices the rest for a while after
   * it.
   */
  get done(): boolean {
    const isFresh = ({ plan, doneAtMs }: Upload): boolean =>
      plan.style === 'late' && doneAtMs !== null && doneAtMs > this.#time.nowMs - watchedMs;
    return this.#open === 0 && ![...this.uploads.values()].some(isFresh);
  }

  losePower(): void {
    this.#power += 1;
  }

  /** A worker that starts does not know which files of the archive are still written to. */
  workerIsGone(): void {
    for (const upload of this.uploads.values())
      if (
        upload.plan.style === 'late' &&
        (upload.doneAtMs ?? this.#time.nowMs) > this.#time.nowMs - watchedMs
      )
        upload.unwatched = true;
  }

  #start(plan: FilePlan): void {
    const power = this.#power;
    const text = documentOf(plan.format, plan.lines).join('');
    const upload: Upload = { plan, text, doneAtMs: null, unwatched: false };
    this.#trace(`upload of ${plan.name} begins`);
    const steps = this.#stepsOf(upload);
    const next = (): void => {
      if (this.#power !== power) {
        this.#time.after(this.#random.int(1000, 100_000), () => this.#start(plan));
        return;
      }
      const { done, value: pauseMs } = steps.next();
      if (done !== true) {
        this.#time.after(pauseMs, next);
        return;
      }
      upload.doneAtMs = this.#time.nowMs;
      this.#open -= 1;
      this.#trace(`upload of ${plan.name} is complete`);
    };
    next();
  }

  /** Yields the pause after each step, in ms. */
  *#stepsOf(upload: Upload): Generator<number, void> {
    const { plan, text } = upload;
    const path = `${inbox}/${plan.name}`;
    if (plan.style === 'renamed') {
      this.#drafts += 1;
      const draft = `${inbox}/.${plan.name}.${this.#drafts}.tmp`;
      const file = this.#files.create(draft, false);
      this.uploads.set(file, upload);
      yield this.#soon();
      this.#files.write(file, Buffer.from(text));
      yield this.#soon();
      this.#files.syncFile(file);
      yield this.#soon();
      this.#files.rename(draft, path);
    } else yield* this.#writePieces(upload, path);
    yield this.#soon();
    this.#files.syncFolder(inbox);
    if (this.#plan.ready === 'done_file') yield* this.#writeMarker(plan);
  }

  *#writePieces(upload: Upload, path: string): Generator<number, void> {
    const pieces: Pieces = documentOf(upload.plan.format, upload.plan.lines);
    // The file that has the name may be an earlier upload that nobody took yet.
    if (this.#files.find(path) !== undefined) this.#files.unlink(path);
    const file = this.#files.create(path, true);
    this.uploads.set(file, upload);
    for (const [index, piece] of pieces.entries()) {
      this.#files.write(file, Buffer.concat([file.bytes, Buffer.from(piece)]));
      const isLate = upload.plan.style === 'late' && index > 0 && index < pieces.length - 1;
      yield isLate ? this.#random.int(3000, 20_000) : this.#soon();
    }
    this.#files.syncFile(file);
  }

  *#writeMarker({ name }: FilePlan): Generator<number, void> {
    yield this.#soon();
    const file = this.#files.create(`${inbox}/${name}.done`, false);
    yield this.#soon();
    this.#files.syncFile(file);
    this.#files.syncFolder(inbox);
  }

  /** Within the time after which a file counts as stable. */
  #soon(): number {
    return this.#random.int(1, 700);
  }
}
