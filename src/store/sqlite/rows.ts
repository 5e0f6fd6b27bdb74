import { isFinal, type EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import type { OrderRules } from '../../core/order/order-request.ts';
import { purchaseFields, purchaseOf, type ReferencedPurchase } from '../../core/order/purchase.ts';
import { columnOf, statementOf, type Sqlite } from './database.ts';
import type { Outbox } from './outbox.ts';

export const purchaseColumns = purchaseFields.join(', ');
export const purchaseColumnsOf = (table: string): string =>
  purchaseFields.map((field) => `${table}.${field}`).join(', ');

/** A time, as it is shown. */
export const isoOf = (columnMs: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%fZ', ${columnMs} / 1000.0, 'unixepoch')`;

export interface EntryRow extends ReferencedPurchase {
  readonly id: number;
  readonly line_id: number;
  readonly generation: number;
  readonly part: number;
  readonly rules: string;
  readonly not_after_ms: number | null;
  /** See `laneOf`. */
  readonly lane: string;
  readonly state: EntryState;
  readonly next_step: 'send' | 'lookup';
  readonly due_steady: number;
  readonly due_before_recheck_steady: number | null;
  readonly outcome_unknown: number;
  readonly in_flight_window_end_steady: number | null;
  readonly asked_after_loss: 0 | 1 | null;
  readonly attempts: number;
  readonly tries: number;
  readonly absences: number;
  readonly first_sent_steady: number | null;
  readonly sent_since_lookup: 0 | 1;
  readonly key_name: string | null;
  readonly request_method: string | null;
  readonly request_path: string | null;
  readonly request_body: string | null;
  readonly request_headers: string | null;
  readonly order_number: string | null;
  readonly status: string | null;
  readonly cost: string | null;
  readonly charged_currency: string | null;
  /** See `SealedUnits`. */
  readonly units: string | null;
  readonly unit_count: number;
  readonly shredded_at_ms: number | null;
  readonly outcome_row: string | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** 2: see `isEnding`. */
  readonly error_buffered: 0 | 1 | 2;
  readonly review_reason: string | null;
  readonly in_question: string | null;
  readonly held_from: EntryState | null;
  readonly held_by: 'shop' | 'limit' | null;
  readonly limit_lifted: 0 | 1;
  /** What counts against limits on spending, in millionths. */
  readonly reserved: number | null;
  readonly replaced: number;
  /** How many units nobody has of what an operator found to be bought. */
  readonly units_missing: number;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

/**
 * Whether the number and the units of an entry may be those of another order. Then they do not count
 * beside an answer to its own reference, or beside what an operator enters.
 */
export const isInQuestion = (row: Pick<EntryRow, 'state' | 'in_question'>): boolean =>
  row.in_question !== null && !isFinal(row.state);

export const selectEntriesOfLine = statementOf<[lineId: number], EntryRow>(
  'SELECT * FROM entries WHERE line_id = ? ORDER BY id',
);
const selectEntry = statementOf<[number], EntryRow>('SELECT * FROM entries WHERE id = ?');

export function findEntry(database: Sqlite, id: number): EntryRow {
  const row = selectEntry(database).get(id);
  assert(row !== undefined, `entry ${id} exists`);
  return row;
}

/** Whether it was cancelled after a call of it had left, and ends once lookups have not found it. */
export const isEnding = (row: Pick<EntryRow, 'error_buffered'>): boolean =>
  row.error_buffered === 2;

const findLimit = columnOf<[string], number>(
  'SELECT known_limit FROM variant_limits WHERE variant = ?',
);

/** An entry as the submission sees it. */
export type Entry = Readonly<ReturnType<typeof entryOf>>;

export function entryOf({ database, units }: Pick<Outbox, 'database' | 'units'>, row: EntryRow) {
  return {
    ...purchaseOf(row),
    id: row.id,
    reference: row.reference,
    generation: row.generation,
    part: row.part,
    rules: rulesFrom(row.rules),
    /**
     * The most of its variant that one order may hold, as far as a rejection has shown. Null: not
     * known.
     */
    knownLimit: row.variant === null ? null : (findLimit(database).get(row.variant) ?? null),
    notAfterMs: row.not_after_ms,
    state: row.state,
    nextStep: row.next_step,
    outcomeUnknown: row.outcome_unknown === 1,
    inFlightWindowEndMs: row.in_flight_window_end_steady,
    askedAfterLoss: row.asked_after_loss,
    attempts: row.attempts,
    tries: row.tries,
    absences: row.absences,
    firstSentAtMs: row.first_sent_steady,
    keyName: row.key_name,
    ...(isInQuestion(row)
      ? { orderNumber: null, units: [] }
      : { orderNumber: row.order_number, units: units.known(row) }),
    outcomeRow: row.outcome_row,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    errorBuffered: row.error_buffered > 0,
    isEnding: isEnding(row),
    createdAtMs: row.created_at_ms,
  };
}

// JSON columns are written by this program alone, so their shape is that of the code which wrote
// them.
export const rulesFrom = (text: string): OrderRules => JSON.parse(text);
export const recordFrom = (text: string): Readonly<Record<string, unknown>> => JSON.parse(text);
export const textsFrom = (text: string): Readonly<Record<string, string>> => JSON.parse(text);

/**
 * Conditions that find the entries of these states and of those that need attention, each by the
 * index of its few rows. SQLite takes such an index only where the text of the condition is that of
 * the index: otherwise it reads all entries.
 */
export function conditionsOfStates(...states: readonly EntryState[]): readonly string[] {
  return [...states.map((state) => `state = '${state}'`), "state IN ('needs_review', 'held')"];
}
