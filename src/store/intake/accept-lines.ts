import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { assert } from '../../core/order-sync-error.ts';
import { productOf, purchaseFields, type Purchase } from '../../core/order/purchase.ts';
import { referenceFor } from '../../core/order/reference.ts';
import { repeatResult, resultChanged } from '../results/due-results.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { NewEntryCounter } from '../sqlite/entry-counts.ts';
import type { AcceptedLine, IntakeBatch } from './intake.ts';
import { CsvRows } from './csv-rows.ts';
import { laneOf } from '../submission/lanes.ts';
import { indexLine, indexOrder } from '../search/record-words.ts';
import { type Arrival, RejectionTable } from './rejections.ts';

interface KnownLine extends Purchase {
  readonly id: number;
  readonly fingerprint: string;
  readonly file_id: string | null;
  readonly reference: string;
}

/** At most this many flags are kept for one order of a shop. */
const flagsPerOrder = 100;

type Line = IntakeBatch['lines'][number];
type NewRejection = IntakeBatch['rejections'][number];
interface Request {
  readonly requestId: number;
  readonly isNew: boolean;
  /** Metadata that the order did not have before. */
  readonly newMetadata: AcceptableLine['metadata'] | null;
}

/** The fields in which two contents of a line differ, by the names that a shop knows. */
export function lineDifferences(was: Purchase, is: Purchase): AcceptedLine['differences'] {
  return purchaseFields
    .filter((field) => was[field] !== is[field])
    .map((field) => ({ field: field === 'operation' ? 'type' : field, was: was[field], is: is[field] }));
}

/** Stands for the flags of an order that are not listed any more. */
export const tooManyFlags = {
  lineNumber: null,
  lineId: null,
  code: 'too_many_flags',
  field: null,
  rule: `has more than ${flagsPerOrder} flags, so further ones are not listed: compare the whole order with the shop`,
  value: null,
} as const;

/** Accepts lines with their references, and records rejections. Every method is called inside a transaction. */
export class LineTable {
  readonly #database: Sqlite;
  readonly #outbox: Outbox;
  readonly #rejections: RejectionTable;
  readonly #counter: NewEntryCounter;
  readonly #statements;

  constructor(outbox: Outbox) {
    const { database } = outbox;
    this.#database = database;
    this.#outbox = outbox;
    this.#rejections = new RejectionTable(database);
    this.#counter = new NewEntryCounter(database);
    this.#statements = {
      findRequest: database
        .prepare<[string, string], number>('SELECT id FROM requests WHERE source = ? AND order_id = ?')
        .pluck(),
      // The three statements that run for each new line take their values by position: by name, they cost a fifth of all
      // that accepting a line costs.
      insertRequest: database.prepare(
        `INSERT INTO requests (source, order_id, metadata, received_at_ms, updated_at_ms) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ),
      // An order that so far has rejections only has no metadata yet: its first accepted lines bring it.
      adoptMetadata: database.prepare(
        `UPDATE requests SET metadata = ? WHERE id = ? AND metadata = '{}'
         AND NOT EXISTS (SELECT 1 FROM lines l WHERE l.request_id = requests.id)`,
      ),
      findLine: database.prepare<[number, string], KnownLine>(
        `SELECT l.id, l.operation, l.variant, l.plan, l.iccid, l.quantity, l.days, l.currency, l.fingerprint, l.file_id, e.reference
         FROM lines l JOIN entries e ON e.line_id = l.id
         WHERE l.request_id = +? AND l.line_id = +? ORDER BY e.id DESC LIMIT 1`,
      ),
      insertLine: database.prepare(
        `INSERT INTO lines (request_id, line_id, operation, variant, plan, iccid, quantity, days, currency, not_after_ms, extra,
                            fingerprint, file_id, received_at_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      insertEntry: database.prepare(
        `INSERT INTO entries (reference, line_id, operation, variant, plan, iccid, quantity, days, currency, not_after_ms,
                              state, rules, lane, due_at_ms, created_at_ms, updated_at_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)`,
      ),
      countReceived: database.prepare<[number, number]>(
        `INSERT INTO hourly_statistics (name, hour, key, n) VALUES ('received', CAST(? / 3600000 AS INTEGER), '', ?)
         ON CONFLICT (name, hour, key) DO UPDATE SET n = n + excluded.n`,
      ),
      countFile: database.prepare(
        `UPDATE files SET accepted_count = accepted_count + :accepted, known_count = known_count + :known,
           conflict_count = conflict_count + :conflict, rejected_count = rejected_count + :rejected WHERE id = :fileId`,
      ),
    };
  }

  /** Accepts a line that is not known yet. The database refuses a line that is known. */
  insertNew(line: Line, nowMs: number): AcceptedLine {
    const request = this.#requestOf(line, nowMs, line.metadata);
    this.#countReceived(request, nowMs);
    return this.#insert(line, request, { nowMs, fileId: null });
  }

  /** Accepts all lines of an order that is not known yet; as `insertNew`. */
  insertOrder(lines: readonly [Line, ...Line[]], nowMs: number): { requestId: number; references: readonly string[] } {
    const request = this.#requestOf(lines[0], nowMs, lines[0].metadata);
    this.#countReceived(request, nowMs);
    const arrival = { nowMs, fileId: null };
    const references = lines.map((line, index) => {
      const newMetadata = index === 0 ? request.newMetadata : null;
      return this.#insert(line, { ...request, newMetadata }, arrival).reference;
    });
    return { requestId: request.requestId, references };
  }

  /**
   * Flags something about an order for review, unless it is flagged already. An order that was not known gets the metadata,
   * by which people find it. Returns whether it was not flagged.
   */
  flagOnce(
    flagged: NewRejection & { source: string; orderId: string },
    nowMs: number,
    metadata: AcceptableLine['metadata'] = {},
  ): boolean {
    const flag = this.#rejections.reopenFlag(flagged);
    if (flag !== 'unknown') return flag === 'reopened';
    const { source, orderId, code } = flagged;
    if (code !== tooManyFlags.code && this.#rejections.countFlags(source, orderId) >= flagsPerOrder) {
      return this.flagOnce({ ...tooManyFlags, source, orderId }, nowMs);
    }
    this.#reject(flagged, { nowMs, fileId: null }, metadata);
    return true;
  }

  /** As `RejectionTable.takeBack`. */
  takeBackFlags(subject: { source: string; orderId: string; lineId: string | null }): void {
    this.#rejections.takeBack(subject);
  }

  /** Removes flags of an order that is correct now. */
  withdrawFlags(order: { source: string; orderId: string; nowMs: number }, ids: readonly number[]): void {
    for (const id of ids) this.#rejections.remove(id);
    if (ids.length > 0) resultChanged(this.#outbox, this.#requestOf(order, order.nowMs).requestId, order.nowMs);
  }

  accept(batch: IntakeBatch): readonly AcceptedLine[] {
    const counts = { accepted: 0, known: 0, conflict: 0, rejected: 0 };
    const repeated = new Set<number>();
    let received = 0;
    const { fileId, delimiter = null } = batch;
    const rows =
      fileId === null || delimiter === null
        ? null
        : new CsvRows(this.#database, { fileId, delimiter, nowMs: batch.nowMs });
    const results = batch.lines.map((line) => {
      const request = this.#requestOf(line, batch.nowMs, line.metadata);
      const { requestId, isNew } = request;
      received += Number(isNew);
      const known = isNew ? undefined : this.#statements.findLine.get(requestId, line.lineId);
      if (known === undefined) {
        counts.accepted += 1;
        const { lineRowId, ...accepted } = this.#insert(line, request, batch);
        rows?.add(line.lineNumber, lineRowId);
        return accepted;
      }
      const result = this.#compare(line, known, batch);
      // A file that is read again after a crash meets its own lines, which count already.
      const isOfThisFile = fileId !== null && known.file_id === fileId;
      if (result.status === 'conflict') counts.conflict += 1;
      else {
        rows?.add(line.lineNumber, known.id);
        if (!isOfThisFile) {
          counts.known += 1;
          repeated.add(requestId);
          rows?.addRepeat(known.id);
        }
      }
      return result;
    });
    rows?.write();
    for (const rejection of batch.rejections) counts.rejected += this.#reject(rejection, batch);
    // One statement for all: for each of them, it was a third of what taking in an order costs.
    if (received > 0) this.#statements.countReceived.run(batch.nowMs, received);
    // Sent again: the shop gets its result again, in case it lost it.
    for (const requestId of repeated) repeatResult(this.#outbox, requestId, batch.nowMs);
    if (fileId !== null) this.#statements.countFile.run({ ...counts, fileId });
    return results;
  }

  #countReceived({ isNew }: Request, nowMs: number): void {
    if (isNew) this.#statements.countReceived.run(nowMs, 1);
  }

  /** The id of a request, which is inserted where it is new. Most are new, so they are not looked for before. */
  #requestOf(
    { source, orderId }: { source: string; orderId: string },
    nowMs: number,
    metadata: AcceptableLine['metadata'] = {},
  ): Request {
    const text = JSON.stringify(metadata);
    const inserted = this.#statements.insertRequest.run(source, orderId, text, nowMs, nowMs);
    if (inserted.changes === 1) {
      this.#outbox.reserve.require();
      return { requestId: Number(inserted.lastInsertRowid), isNew: true, newMetadata: text === '{}' ? null : metadata };
    }
    const requestId = this.#statements.findRequest.get(source, orderId);
    assert(requestId !== undefined, `an order that cannot be inserted is known: ${source} ${orderId}`);
    const isAdopted = text !== '{}' && this.#statements.adoptMetadata.run(text, requestId).changes === 1;
    return { requestId, isNew: false, newMetadata: isAdopted ? metadata : null };
  }

  #insert(
    line: Line,
    { requestId, isNew, newMetadata }: Request,
    { nowMs, fileId }: Arrival,
  ): AcceptedLine & { readonly lineRowId: number } {
    // For a new order this was asked already.
    if (!isNew) this.#outbox.reserve.require();
    const { source, orderId, lineId, notAfterMs, rules = {} } = line;
    const { operation, variant, plan, iccid, quantity, days, currency } = line;
    const subject = { source, orderId, lineId, generation: 0, part: 0 };
    const reference = referenceFor(this.#outbox.namespace, subject);
    const purchase = [operation, variant, plan, iccid, quantity, days, currency, notAfterMs] as const;
    const extra = JSON.stringify(line.extra);
    const inserted = this.#statements.insertLine.run(
      requestId,
      lineId,
      ...purchase,
      extra,
      fingerprintOf(line),
      fileId,
      nowMs,
    );
    const lineRowId = Number(inserted.lastInsertRowid);
    const lane = laneOf(source, { variant, plan, currency }, rules.fallback_currency);
    this.#statements.insertEntry.run(
      reference,
      lineRowId,
      ...purchase,
      JSON.stringify(rules),
      lane,
      nowMs,
      nowMs,
      nowMs,
    );
    this.#counter.added();
    indexLine(this.#database, lineRowId, productOf(line), line.extra, newMetadata);
    // An order that is new has no rejections yet.
    if (!isNew) this.#rejections.correct(line, { nowMs, fileId });
    return { status: 'accepted', source, orderId, lineId, reference, differences: [], lineRowId };
  }

  /** Records a rejection, and reports it to the shop. Returns 0 when a file that is read again brings it again. */
  #reject(rejection: NewRejection, arrival: Arrival, metadata: AcceptableLine['metadata'] = {}): 0 | 1 {
    if (!this.#rejections.record(rejection, arrival)) return 0;
    const { source, orderId } = rejection;
    if (source !== null && orderId !== null) {
      const request = this.#requestOf({ source, orderId }, arrival.nowMs, metadata);
      this.#countReceived(request, arrival.nowMs);
      const { requestId, newMetadata } = request;
      if (newMetadata !== null) indexOrder(this.#database, requestId, newMetadata);
      resultChanged(this.#outbox, requestId, arrival.nowMs);
    }
    return 1;
  }

  #compare(line: Line, known: KnownLine, arrival: Arrival): AcceptedLine {
    const { source, orderId, lineId, lineNumber } = line;
    const { reference } = known;
    const base = { source, orderId, lineId, reference };
    if (known.fingerprint === fingerprintOf(line)) return { ...base, status: 'known', differences: [] };
    const differences = lineDifferences(known, line);
    const changes = differences.map(({ field, was, is }) => `${field}: ${String(was)} then, ${String(is)} now`);
    const conflict = {
      lineNumber,
      source,
      orderId,
      lineId,
      product: productOf(line),
      code: 'conflict',
      field: differences.map(({ field }) => field).join(', '),
      rule: `was ordered before with other content (${changes.join('; ')}); nothing was sent for this one, and the first one keeps the reference ${reference}`,
      value: null,
    };
    this.#rejections.record(conflict, arrival);
    return { ...base, status: 'conflict', differences };
  }
}
