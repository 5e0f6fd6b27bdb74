import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { assert } from '../../core/order-sync-error.ts';
import { purchaseFields, type Purchase } from '../../core/order/purchase.ts';
import { referenceFor, type ReferenceNamespace } from '../../core/order/reference.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { SqliteResults } from '../results/sqlite-results.ts';
import { laneOf } from './lanes.ts';
import type { AcceptedLine, IntakeBatch } from './intake.ts';

interface LineRow extends Purchase {
  readonly id: number;
  readonly fingerprint: string;
  readonly file_id: string | null;
  readonly reference: string;
}

type Line = IntakeBatch['lines'][number];

/** The fields in which two contents of a line differ, by the names that a shop knows. */
export function lineDifferences(was: Purchase, is: Purchase): AcceptedLine['differences'] {
  return purchaseFields
    .filter((field) => was[field] !== is[field])
    .map((field) => ({ field: field === 'operation' ? 'type' : field, was: was[field], is: is[field] }));
}

/** Accepting lines: identity, references and rejections, in the one transaction that an acknowledgement stands for. */
export class LineTable {
  readonly #namespace: ReferenceNamespace;
  readonly #deliveries: SqliteResults;
  readonly #statements;

  constructor(database: Sqlite, namespace: ReferenceNamespace, deliveries: SqliteResults) {
    this.#namespace = namespace;
    this.#deliveries = deliveries;
    this.#statements = {
      findRequest: database
        .prepare<[string, string], number>('SELECT id FROM requests WHERE source = ? AND order_id = ?')
        .pluck(),
      insertRequest: database.prepare(
        `INSERT INTO requests (source, order_id, metadata, received_at_ms, updated_at_ms) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ),
      // What was refused told no metadata; the first lines that are accepted do.
      adoptMetadata: database.prepare(
        `UPDATE requests SET metadata = ? WHERE id = ? AND metadata = '{}'
         AND NOT EXISTS (SELECT 1 FROM lines l WHERE l.request_id = requests.id)`,
      ),
      findLine: database.prepare<[number, string], LineRow>(
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
      insertRejection: database.prepare(
        `INSERT INTO rejections (file_id, line_number, source, order_id, line_id, code, field, rule, value, created_at_ms)
         VALUES (:fileId, :lineNumber, :source, :orderId, :lineId, :code, :field, :rule, :value, :nowMs)
         ON CONFLICT DO NOTHING`,
      ),
      isTold: database.prepare(
        `SELECT 1 FROM rejections WHERE file_id IS NULL AND source = :source AND order_id = :orderId AND line_id IS :lineId
         AND code = :code AND rule = :rule`,
      ),
      countFile: database.prepare(
        `UPDATE files SET accepted_count = accepted_count + ?, known_count = known_count + ?, conflict_count = conflict_count + ?,
                          rejected_count = rejected_count + ? WHERE id = ?`,
      ),
    };
  }

  /**
   * Accepts a line that is not known yet, with its reference. Called inside the transaction of its request, by whoever
   * has made sure of that: the database refuses a line that is known.
   */
  insertNew(line: Line, nowMs: number): { requestId: number; reference: string } {
    const { requestId } = this.#requestFor(line.source, line.orderId, line.metadata, nowMs);
    const { reference } = this.#insert(line, requestId, { nowMs, fileId: null });
    return { requestId, reference };
  }

  /** Accepts all lines of an order that is not known yet; as `insertNew`. */
  insertOrder(lines: readonly [Line, ...Line[]], nowMs: number): { requestId: number; references: readonly string[] } {
    const [{ source, orderId, metadata }] = lines;
    const { requestId } = this.#requestFor(source, orderId, metadata, nowMs);
    return {
      requestId,
      references: lines.map((line) => this.#insert(line, requestId, { nowMs, fileId: null }).reference),
    };
  }

  /** Puts something about an order before a person, unless that stands there already. Called inside a transaction. */
  tellOnce(rejection: IntakeBatch['rejections'][number] & { source: string; orderId: string }, nowMs: number): boolean {
    if (this.#statements.isTold.get(rejection) !== undefined) return false;
    this.#statements.insertRejection.run({ ...rejection, fileId: null, nowMs });
    const { requestId } = this.#requestFor(rejection.source, rejection.orderId, {}, nowMs);
    this.#deliveries.changed(requestId, nowMs);
    return true;
  }

  /** Called inside a transaction. */
  accept(batch: IntakeBatch): readonly AcceptedLine[] {
    const counts = { accepted: 0, known: 0, conflict: 0, rejected: 0 };
    const touched = new Set<number>();
    const results = batch.lines.map((line) => {
      const { requestId, isNew } = this.#requestFor(line.source, line.orderId, line.metadata, batch.nowMs);
      const known = isNew ? undefined : this.#statements.findLine.get(requestId, line.lineId);
      if (known === undefined) {
        counts.accepted += 1;
        return this.#insert(line, requestId, batch);
      }
      const result = this.#compare(line, known, batch);
      // A file that is read again after a crash meets its own lines: that is no redelivery, and counts as before.
      const ownLine = batch.fileId !== null && known.file_id === batch.fileId;
      if (result.status === 'conflict') counts.conflict += 1;
      else if (!ownLine) {
        counts.known += 1;
        touched.add(requestId);
      }
      return result;
    });
    for (const rejection of batch.rejections) {
      const { changes } = this.#statements.insertRejection.run({
        ...rejection,
        fileId: batch.fileId,
        nowMs: batch.nowMs,
      });
      counts.rejected += changes;
      if (rejection.source === null || rejection.orderId === null || changes === 0) continue;
      const { requestId } = this.#requestFor(rejection.source, rejection.orderId, {}, batch.nowMs);
      this.#deliveries.changed(requestId, batch.nowMs);
    }
    // Sent again: the shop gets the first result again, in case it lost it.
    for (const requestId of touched) this.#deliveries.repeat(requestId, batch.nowMs);
    if (batch.fileId !== null) {
      this.#statements.countFile.run(counts.accepted, counts.known, counts.conflict, counts.rejected, batch.fileId);
    }
    return results;
  }

  /** Most orders are new, and a new one has no lines yet: neither is looked for before it is written. */
  #requestFor(
    source: string,
    orderId: string,
    metadata: AcceptableLine['metadata'],
    nowMs: number,
  ): { requestId: number; isNew: boolean } {
    const text = JSON.stringify(metadata);
    const inserted = this.#statements.insertRequest.run(source, orderId, text, nowMs, nowMs);
    if (inserted.changes === 1) return { requestId: Number(inserted.lastInsertRowid), isNew: true };
    const requestId = this.#statements.findRequest.get(source, orderId);
    assert(requestId !== undefined, `an order that cannot be inserted is known: ${source} ${orderId}`);
    if (text !== '{}') this.#statements.adoptMetadata.run(text, requestId);
    return { requestId, isNew: false };
  }

  #insert(line: Line, requestId: number, batch: Pick<IntakeBatch, 'nowMs' | 'fileId'>): AcceptedLine {
    const reference = referenceFor(this.#namespace, {
      source: line.source,
      orderId: line.orderId,
      lineId: line.lineId,
      generation: 0,
      part: 0,
    });
    const { operation, variant, plan, iccid, quantity, days, currency, notAfterMs } = line;
    const inserted = this.#statements.insertLine.run(
      requestId,
      line.lineId,
      operation,
      variant,
      plan,
      iccid,
      quantity,
      days,
      currency,
      notAfterMs,
      JSON.stringify(line.extra),
      fingerprintOf(line),
      batch.fileId,
      batch.nowMs,
    );
    this.#statements.insertEntry.run(
      reference,
      inserted.lastInsertRowid,
      operation,
      variant,
      plan,
      iccid,
      quantity,
      days,
      currency,
      notAfterMs,
      JSON.stringify(line.rules ?? {}),
      laneOf(line.source, currency, line.rules?.fallback_currency),
      batch.nowMs,
      batch.nowMs,
      batch.nowMs,
    );
    return {
      status: 'accepted',
      source: line.source,
      orderId: line.orderId,
      lineId: line.lineId,
      reference,
      differences: [],
    };
  }

  #compare(line: Line, known: LineRow, batch: IntakeBatch): AcceptedLine {
    const base = { source: line.source, orderId: line.orderId, lineId: line.lineId, reference: known.reference };
    if (known.fingerprint === fingerprintOf(line)) return { ...base, status: 'known', differences: [] };
    const differences = lineDifferences(known, line);
    this.#statements.insertRejection.run({
      fileId: batch.fileId,
      lineNumber: line.lineNumber,
      source: line.source,
      orderId: line.orderId,
      lineId: line.lineId,
      code: 'conflict',
      field: differences.map((it) => it.field).join(', '),
      rule: `was ordered before with other content (${differences.map((it) => `${it.field}: ${String(it.was)} then, ${String(it.is)} now`).join('; ')}); nothing was sent for this one, and the first one stands under ${known.reference}`,
      value: null,
      nowMs: batch.nowMs,
    });
    return { ...base, status: 'conflict', differences };
  }
}
