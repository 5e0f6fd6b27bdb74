import { deliveredOf, type OrderedEntries } from '../../core/result/delivered-lines.ts';
import type { Unit } from '../../core/answers/order-answer.ts';
import { unitFieldNames } from '../../core/answers/unit-fields.ts';
import type { LineState, ResultDocument, ResultLine } from '../../core/result/result-document.ts';
import type { ShopOrder } from './shop-order.ts';

/** What a result says about a shop's order, and the shop shall show. */
export interface OrderStatement {
  readonly source: string;
  readonly orderId: string;
  readonly state: ResultDocument['state'];
  /** Nothing of it is real: it was bought from the sandbox. */
  readonly isSandbox: boolean;
  readonly lines: readonly LineStatement[];
  /** What the shop changed after the purchase, and needs review. */
  readonly flags: readonly ShopFlag[];
}

interface ShopFlag {
  /** Null: the order as a whole. */
  readonly lineId: string | null;
  readonly code: string;
  readonly rule: string;
}

export interface LineStatement {
  readonly lineId: string;
  /**
   * The id that it had when it was bought: another one where an operator said that both are the same
   * line.
   */
  readonly boughtId: string;
  readonly sku: string;
  /** How many pieces of the shop it was ordered for; null: nothing was ordered for it. */
  readonly pieces: number | null;
  /**
   * How many of them an operator gives the customer, whatever the shop's order says; null: nobody
   * decided that.
   */
  readonly decidedPieces: number | null;
  readonly state: LineState;
  /**
   * `done`: all that was ordered is here and may be given to the customer. `review`: an operator has
   * to act. `open`: neither.
   */
  readonly stage: 'done' | 'review' | 'open';
  readonly references: readonly string[];
  /** The units for the customer; empty unless the line is done. */
  readonly units: readonly Unit[];
  /** The ICCIDs of eSIMs that were topped up; empty unless the line is done. */
  readonly toppedUp: readonly string[];
  readonly problem: { readonly code: string; readonly message: string } | null;
}

/** States of a line for which no operator has to act. */
const openStates: readonly LineState[] = [
  'pending',
  'sending',
  'placed',
  'waiting',
  'unknown',
  'cancelled',
];

/**
 * Pure. `earlierIds`: the id under which a line was bought, by the id that it has now, as an operator
 * said.
 */
export function statementOf(
  document: ResultDocument,
  ordered: OrderedEntries,
  earlierIds: ReadonlyMap<string, string>,
  flags: readonly ShopFlag[] = [],
): OrderStatement {
  const lines = new Map(document.lines.map((line) => [line.line_id, line]));
  const stated = document.lines.flatMap((line) => {
    const { line_id: lineId } = line;
    if (lineId === null) return [];
    const bought = lines.get(earlierIds.get(lineId) ?? lineId) ?? line;
    // A replaced entry says nothing about the line any more.
    const entries = bought.entries.filter(
      ({ reference }) => ordered.get(reference)?.replaced !== true,
    );
    const shown = stateLine(lineId, { ...bought, entries }, ordered);
    // The shop's state often holds a line for seconds only, and the attention list has it.
    const isHeldByShop = entries.some(
      ({ reference }) => ordered.get(reference)?.isHeldByShop === true,
    );
    return isHeldByShop ? shown.map((one) => ({ ...one, stage: 'open' as const })) : shown;
  });
  const { source, order_id: orderId, state, sandbox: isSandbox } = document;
  return { source, orderId, state, isSandbox, lines: stated, flags };
}

/** Whether something of it is still being bought. */
export const isMoving = ({ lines }: OrderStatement): boolean =>
  lines.some(({ stage, state }) => stage === 'open' && state !== 'cancelled' && state !== 'held');

function stateLine(
  lineId: string,
  line: ResultLine,
  ordered: OrderedEntries,
): readonly LineStatement[] {
  const { state, entries, error, extra = {} } = line;
  const delivered = deliveredOf(line, ordered);
  // The cancel of an eSIM that succeeded gives the customer nothing.
  if (state === 'fulfilled' && delivered === null) return [];
  const isDone = state === 'fulfilled' && delivered?.isComplete === true;
  const problem = error ?? entries.find((entry) => entry.error !== null)?.error ?? null;
  const stated: LineStatement = {
    lineId,
    boughtId: line.line_id ?? lineId,
    sku: extra['sku'] ?? '',
    pieces: piecesIn(extra['shop_quantity']),
    decidedPieces: piecesIn(extra['given_pieces']),
    state,
    stage: isDone ? 'done' : openStates.includes(state) ? 'open' : 'review',
    references: entries.map(({ reference }) => reference),
    units: isDone ? delivered.units.map(forShop) : [],
    toppedUp: isDone ? delivered.toppedUp : [],
    problem,
  };
  return [stated];
}

const piecesIn = (text = ''): number | null => (/^\d{1,9}$/.test(text) ? Number(text) : null);

/**
 * Without its status, and with its fields in one order, to be compared with the statement that
 * the shop has.
 */
function forShop(unit: Unit): Unit {
  const known = unitFieldNames.filter((name) => unit[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, unit[name]]));
}

/** The result for programs, without codes. */
export function resultJson({ isSandbox, lines }: OrderStatement): string {
  const listed = lines.map((line) => ({
    line_id: line.lineId,
    state: line.state,
    references: line.references,
  }));
  return JSON.stringify({ sandbox: isSandbox, lines: listed });
}

/** The units of these lines, for programs. */
export function codesJson(given: readonly LineStatement[]): string {
  return JSON.stringify(
    given.map(({ lineId, sku, units, toppedUp }) => ({
      line_id: lineId,
      sku,
      units,
      topped_up: toppedUp,
    })),
  );
}

/**
 * Whether the shop says that an order is paid, so that its bought units are given.
 */
export const saysPaid = ({ state, lacksPaidMs = false }: ShopOrder): boolean =>
  state === 'paid' || lacksPaidMs;

/**
 * The lines whose units the customer gets: they are done, and the shop's order as it stands now has
 * no fewer pieces of each than were bought. Where it has fewer, an operator decides how many are
 * given.
 */
export function givenLines({ lines }: OrderStatement, order: ShopOrder): readonly LineStatement[] {
  if (!saysPaid(order)) return [];
  const left = new Map(order.lines.map(({ lineId, remaining }) => [lineId, remaining]));
  return lines.flatMap((line) => {
    const { lineId, stage, pieces, decidedPieces: decided, units } = line;
    if (stage !== 'done' || pieces === null) return [];
    if (decided === null) return (left.get(lineId) ?? 0) < pieces ? [] : [line];
    return { ...line, pieces: decided, units: units.slice(0, (units.length / pieces) * decided) };
  });
}

/**
 * Whether every line of the shop's order is ours and given to the customer, and none of it was
 * refunded as a whole.
 */
export function isWholeOrderGiven(statement: OrderStatement, order: ShopOrder): boolean {
  if (order.lines.length === 0 || order.unreadable.length > 0 || order.refundUnclear) return false;
  const given = new Map(givenLines(statement, order).map((line) => [line.lineId, line]));
  const isGiven = ({ lineId, parentId, remaining }: ShopOrder['lines'][number]): boolean => {
    const own = given.get(lineId);
    if (own !== undefined) return own.pieces === remaining || own.decidedPieces !== null;
    if (parentId !== null && given.has(parentId)) return true;
    // A bundle without a SKU of the map is given with all of its parts.
    const parts = order.lines.filter((line) => line.parentId === lineId);
    return parts.length > 0 && parts.every((part) => given.has(part.lineId));
  };
  return order.lines.every((line) => line.remaining > 0 && isGiven(line));
}
