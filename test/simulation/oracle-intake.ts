import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { SimFile, SimFiles } from './sim-files.ts';
import type { SimIntakeOptions } from './sim-intake.ts';
import { lineName, type StoredLine, type StoredLines } from './stored-lines.ts';
import { linesIn, type SimUploader, type Upload } from './sim-uploader.ts';
import type { Invariant } from './invariants.ts';

/** A report to the sender about a file. */
interface ErrorReport {
  readonly file: string;
  readonly code: string;
  readonly lines?: readonly { readonly order_id: string | null; readonly line_id: string | null }[];
}

/**
 * Compares what shops sent with what the outbox has and what they were told: a line is accepted
 * once, or its sender is told that it is not.
 */
export class IntakeOracle {
  readonly #options: SimIntakeOptions & { readonly stored: StoredLines };
  readonly #files: SimFiles;
  readonly #uploader: SimUploader;
  readonly #acknowledged = new Set<string>();
  readonly #takenBack = new Set<string>();

  constructor(
    options: SimIntakeOptions & {
      readonly stored: StoredLines;
      readonly files: SimFiles;
      readonly uploader: SimUploader;
    },
  ) {
    this.#options = options;
    this.#files = options.files;
    this.#uploader = options.uploader;
  }

  /** The worker moves a file: before it leaves the work folder, all of it is committed. */
  moved(file: SimFile, from: string, to: string): void {
    const upload = this.#uploader.uploads.get(file);
    const [folder = ''] = to.split('/');
    if (upload === undefined) return;
    this.#options.coverage.hit(`file to ${folder}`);
    if (folder === 'rejected' && this.#reportsOf(upload.plan.name).length === 0)
      this.#violate('I24', `${upload.plan.name} is rejected, and there is no report about it`);
    // A late writer may have written more since the file was read.
    if (folder !== 'archive' || upload.plan.style === 'late') return;
    for (const sent of linesIn(upload, file.bytes.length)) {
      if (
        this.#options.stored.find(sent.line) === undefined &&
        !this.#options.stored.isFlagged(sent.line)
      )
        this.#violate('I24', `${lineName(sent.line)} is not committed, and ${from} is archived`);
    }
  }

  /** The sender took it back, and was told so: it must never be bought. */
  takenBack(reference: string): void {
    this.#takenBack.add(reference);
  }

  /** Everything that came by file and is in the outbox counts as acknowledged at the end. */
  acknowledgeStored(): void {
    for (const { lines } of this.#options.plan.files) {
      for (const { line } of lines) {
        const stored = this.#options.stored.find(line);
        if (stored !== undefined) this.#acknowledge(line, stored);
      }
    }
  }

  #acknowledge(line: AcceptableLine, { quantity, reference }: StoredLine): void {
    if (quantity !== line.quantity || this.#acknowledged.has(lineName(line))) return;
    this.#acknowledged.add(lineName(line));
    this.#options.onAcknowledged(line, reference);
  }

  checkAtEnd(): void {
    for (const upload of this.#uploader.uploads.values())
      if (upload.doneAtMs !== null) this.#checkUpload(upload);
    this.#checkForeignLines();
    for (const reference of this.#takenBack)
      if (this.#options.isSold(reference))
        this.#violate('I26', `${reference} was taken back, and was bought`);
  }

  #checkUpload(upload: Upload): void {
    const { plan } = upload;
    const reports = this.#reportsOf(plan.name);
    const whole = reports.some(({ code }) => code !== 'lines_not_accepted');
    for (const sent of plan.lines) {
      const { line, mistake } = sent;
      const isReported =
        whole || reports.some(({ lines }) => lines?.some((it) => isAbout(it, line)) === true);
      const stored = this.#options.stored.find(line);
      const isAccepted = mistake === 'none' && stored?.quantity === line.quantity;
      this.#options.coverage.hit(`file line ${isAccepted ? 'accepted' : 'reported'} ${mistake}`);
      if (isAccepted || isReported || upload.unwatched) continue;
      const found =
        stored === undefined ? 'not accepted' : `accepted with the quantity ${stored.quantity}`;
      this.#violate(
        'I24',
        `${lineName(line)} of ${plan.name} is ${found}, and its sender is not told`,
      );
    }
  }

  /** A line that nobody sent. */
  #checkForeignLines(): void {
    const known = new Set(this.#options.sentLines().map(lineName));
    for (const name of this.#options.stored.all())
      if (!known.has(name)) this.#violate('I25', `${name} is in the outbox, and nobody sent it`);
  }

  #reportsOf(name: string): readonly ErrorReport[] {
    const reports = this.#files
      .names('rejected')
      .filter((it) => it.endsWith('.error.json') && !it.startsWith('.'));
    return reports
      .map((it) => this.#read(it))
      .filter((report) => report?.file === name)
      .filter((it) => it !== null);
  }

  #read(name: string): ErrorReport | null {
    const text = this.#files.get(`rejected/${name}`, 'read').bytes.toString('utf8');
    try {
      const report: ErrorReport = JSON.parse(text);
      return report;
    } catch {
      this.#violate('I24', `the report ${name} is damaged: ${JSON.stringify(text.slice(0, 40))}`);
      return null;
    }
  }

  #violate(invariant: Invariant, sentence: string): void {
    this.#options.violate(invariant, sentence);
  }
}

function isAbout(
  reported: { readonly order_id: string | null; readonly line_id: string | null },
  line: AcceptableLine,
): boolean {
  return reported.order_id === line.orderId && reported.line_id === line.lineId;
}
