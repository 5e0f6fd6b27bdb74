import { samePurchase } from '../../core/operator/operator-decision.ts';
import { isoTime } from '../../core/clock.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { Operation } from '../../core/order/operation.ts';
import { assert } from '../../core/order-sync-error.ts';
import {
  lineStateOf,
  orderStateOf,
  type ResultDocument,
  type ResultEntry,
  type ResultLine,
} from '../../core/result/result-document.ts';
import type { OrderedEntries, OrderedEntry } from '../../core/result/delivered-lines.ts';
import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { readRejectedLines } from './rejected-lines.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';
import { recordFrom, textsFrom } from '../sqlite/rows.ts';

/** What a result depends on besides the rows of its order. */
export interface ResultParts {
  readonly units: SealedUnits;
  /** Whether the upstream is a sandbox. */
  readonly sandbox: boolean;
}

interface RequestRow {
  readonly source: string;
  readonly order_id: string;
  readonly metadata: string;
  readonly version: number;
  readonly updated_at_ms: number;
}

export interface LineEntryRow {
  readonly line_id: string;
  readonly extra: string;
  readonly same_line_id: string | null;
  readonly reference: string;
  readonly operation: Operation;
  readonly state: EntryState;
  readonly replaced: number;
  readonly variant: string | null;
  readonly plan: string | null;
  readonly iccid: string | null;
  readonly quantity: number | null;
  readonly units_missing: number;
  readonly resolved_by: string | null;
  readonly order_number: string | null;
  readonly currency: string | null;
  readonly charged_currency: string | null;
  readonly cost: string | null;
  readonly units: string | null;
  readonly unit_count: number;
  readonly shredded_at_ms: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly review_reason: string | null;
}

const selectRequest = statementOf<[number], RequestRow>(
  'SELECT source, order_id, metadata, version, updated_at_ms FROM requests WHERE id = ?',
);
/** What a result shows of a line `l` and an entry `e`. */
export const lineEntryColumns = `l.line_id, l.extra, (SELECT line_id FROM lines WHERE id = l.same_as) AS same_line_id, e.reference, e.operation, e.state, e.replaced, e.units_missing, e.variant, e.plan, e.iccid, e.quantity, e.resolved_by, e.order_number, e.currency, e.charged_currency, e.cost, e.units, e.unit_count, e.shredded_at_ms,
         e.error_code, e.error_message, e.review_reason`;
const selectEntries = statementOf<[number], LineEntryRow>(`
  SELECT ${lineEntryColumns}
  FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = +? ORDER BY l.id, e.generation, e.part`);
const inReview: readonly EntryState[] = ['needs_review', 'held'];

function errorOf(row: LineEntryRow): ResultEntry['error'] {
  if (row.error_code === null && row.review_reason === null) return null;
  // What a call for it ended with before is not why it is held.
  const code = row.state === 'held' ? 'held' : (row.error_code ?? 'needs_review');
  return {
    code,
    message: row.review_reason ?? row.error_message ?? '',
    action: inReview.includes(row.state)
      ? 'Do not order it again: a person is looking at it.'
      : row.state === 'unknown'
        ? 'Do not order it again: it may have been bought.'
        : clientActionFor(code),
  };
}

export function resultEntryOf(row: LineEntryRow, units: SealedUnits): ResultEntry {
  return {
    reference: row.reference,
    operation: row.operation,
    // What a person found to be bought is delivered only as far as its units are known.
    state: row.units_missing > 0 ? 'needs_manual_delivery' : row.state,
    resolved_by: row.resolved_by,
    order_number: row.order_number,
    currency: row.charged_currency ?? row.currency,
    cost: row.cost,
    units: units.of(row),
    ...(row.shredded_at_ms === null ? {} : { shredded: { units: row.unit_count, at: isoTime(row.shredded_at_ms) } }),
    error: errorOf(row),
  };
}

function orderedOf({ variant, plan, iccid, quantity, replaced }: LineEntryRow): OrderedEntry {
  return { variant, plan, iccid, quantity, replaced: replaced === 1 };
}

/** The lines of which nothing was bought, because another one was: the id of that by their own. */
function boughtAsOf(rows: readonly LineEntryRow[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const others = new Set<string>();
  for (const row of rows) {
    if (row.replaced === 1) continue;
    if (row.same_line_id !== null && row.error_code === samePurchase) found.set(row.line_id, row.same_line_id);
    else others.add(row.line_id);
  }
  return new Map([...found].filter(([lineId]) => !others.has(lineId)));
}

/** Builds the result of an order from the database alone: neither the time nor anything else changes it. */
export function readResultDocument(
  database: Sqlite,
  requestId: number,
  parts: ResultParts,
): { version: number; document: ResultDocument; ordered: OrderedEntries; boughtAs: ReadonlyMap<string, string> } {
  const request = selectRequest(database).get(requestId);
  assert(request !== undefined, `request ${requestId} exists`);
  const rows = selectEntries(database).all(requestId);
  const lines = new Map<string, { extra: string; entries: ResultEntry[]; states: ResultEntry['state'][] }>();
  for (const row of rows) {
    const line = lines.get(row.line_id) ?? { extra: row.extra, entries: [], states: [] };
    const entry = resultEntryOf(row, parts.units);
    line.entries.push(entry);
    // A replaced entry says nothing about the line any more.
    if (row.replaced === 0) line.states.push(entry.state);
    lines.set(row.line_id, line);
  }
  const accepted = [...lines].map(([lineId, line]): ResultLine => {
    const extra = textsFrom(line.extra);
    return {
      line_id: lineId,
      state: lineStateOf(line.states),
      entries: line.entries,
      error: null,
      ...(Object.keys(extra).length > 0 ? { extra } : {}),
    };
  });
  const all = [...accepted, ...readRejectedLines(database, request, new Set(lines.keys()))];
  return {
    version: request.version,
    document: {
      source: request.source,
      order_id: request.order_id,
      state: orderStateOf(all.map((line) => line.state)),
      sandbox: parts.sandbox,
      metadata: recordFrom(request.metadata),
      lines: all,
      updated_at: isoTime(request.updated_at_ms),
    },
    ordered: new Map(rows.map((row) => [row.reference, orderedOf(row)])),
    boughtAs: boughtAsOf(rows),
  };
}
