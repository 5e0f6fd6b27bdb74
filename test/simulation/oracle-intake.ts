import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { SimFile, SimFiles } from './sim-files.ts';
import type { SimIntakeOptions } from './sim-intake.ts';
import { linesIn, type SimUploader, type Upload } from './sim-uploader.ts';

/** What the outbox has of a line. */
interface StoredLine {
  readonly quantity: number | null;
  readonly reference: string;
}

const nameOf = ({ source, orderId, lineId }: AcceptableLine): string => `${source}/${orderId}/${lineId}`;

/** A report to the sender about a file. */
interface ErrorReport {
  readonly file: string;
  readonly code: string;
  readonly lines?: readonly { readonly order_id: string | null; readonly line_id: string | null }[];
}

/**
 * Compares what shops sent with what the outbox has and what they were told: a line is accepted once, or its sender is
 * told that it is not.
 */
export class IntakeOracle {
  readonly #options: SimIntakeOptions;
  readonly #files: SimFiles;
  readonly #uploader: SimUploader;
  readonly #acknowledged = new Set<string>();

  constructor(options: SimIntakeOptions & { readonly files: SimFiles; readonly uploader: SimUploader }) {
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
      if (this.#stored(sent.line) === undefined && !this.#isRecorded(sent.line))
        this.#violate('I24', `${nameOf(sent.line)} is not committed, and ${from} is archived`);
    }
  }

  /** Everything that is in the outbox counts as acknowledged at the end. */
  acknowledgeStored(): void {
    for (const { lines } of this.#options.plan.files) {
      for (const { line } of lines) {
        const stored = this.#stored(line);
        if (stored !== undefined) this.#acknowledge(line, stored);
      }
    }
  }

  #acknowledge(line: AcceptableLine, { quantity, reference }: StoredLine): void {
    if (quantity !== line.quantity || this.#acknowledged.has(nameOf(line))) return;
    this.#acknowledged.add(nameOf(line));
    this.#options.onAcknowledged(line, reference);
  }

  checkAtEnd(): void {
    for (const upload of this.#uploader.uploads.values()) if (upload.doneAtMs !== null) this.#checkUpload(upload);
    this.#checkForeignLines();
  }

  #checkUpload(upload: Upload): void {
    const { plan } = upload;
    const reports = this.#reportsOf(plan.name);
    const whole = reports.some(({ code }) => code !== 'lines_not_accepted');
    for (const sent of plan.lines) {
      const { line, mistake } = sent;
      const isReported = whole || reports.some(({ lines }) => lines?.some((it) => isAbout(it, line)) === true);
      const stored = this.#stored(line);
      const isAccepted = mistake === 'none' && stored?.quantity === line.quantity;
      this.#options.coverage.hit(`file line ${isAccepted ? 'accepted' : 'reported'} ${mistake}`);
      if (isAccepted || isReported || upload.unwatched) continue;
      const found = stored === undefined ? 'not accepted' : `accepted with the quantity ${stored.quantity}`;
      this.#violate('I24', `${nameOf(line)} of ${plan.name} is ${found}, and its sender is not told`);
    }
  }

  /** A line that nobody sent. */
  #checkForeignLines(): void {
    const known = new Set(this.#options.sentLines().map(nameOf));
    const rows = this.#options.disk.connection
      .prepare<[], string>(
        "SELECT r.source || '/' || r.order_id || '/' || l.line_id FROM lines l JOIN requests r ON r.id = l.request_id",
      )
      .pluck()
      .all();
    for (const name of rows) if (!known.has(name)) this.#violate('I24', `${name} is in the outbox, and nobody sent it`);
  }

  #reportsOf(name: string): readonly ErrorReport[] {
    const reports = this.#files.names('rejected').filter((it) => it.endsWith('.error.json') && !it.startsWith('.'));
    return reports
      .map((it): ErrorReport => JSON.parse(this.#files.get(`rejected/${it}`, 'read').bytes.toString('utf8')))
      .filter(({ file }) => file === name);
  }

  #stored({ source, orderId, lineId }: AcceptableLine): StoredLine | undefined {
    const { connection } = this.#options.disk;
    return connection
      .prepare<[string, string, string], StoredLine>(
        `SELECT l.quantity, (SELECT e.reference FROM entries e WHERE e.line_id = l.id ORDER BY e.id LIMIT 1) AS reference
         FROM lines l JOIN requests r ON r.id = l.request_id WHERE r.source = ? AND r.order_id = ? AND l.line_id = ?`,
      )
      .get(source, orderId, lineId);
  }

  /** Whether the outbox knows that the line was not accepted. */
  #isRecorded({ orderId, lineId }: AcceptableLine): boolean {
    const { connection } = this.#options.disk;
    const sql = 'SELECT 1 FROM rejections WHERE order_id = ? AND line_id = ?';
    return connection.prepare<[string, string]>(sql).get(orderId, lineId) !== undefined;
  }

  #violate(invariant: string, sentence: string): void {
    this.#options.violate(invariant, sentence);
  }
}

function isAbout(
  reported: { readonly order_id: string | null; readonly line_id: string | null },
  line: AcceptableLine,
): boolean {
  return reported.order_id === line.orderId && reported.line_id === line.lineId;
}
