import type { EntryState } from '../../core/entry/states.ts';
import { isSameSku } from '../../core/order/sku-map.ts';
import { samePurchase } from '../../core/operator/operator-decision.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { isEnding, selectEntriesOfLine, textsFrom, type EntryRow } from '../sqlite/rows.ts';
import { isSurelyUnbought } from '../entries/after-loss.ts';
import { endedUnbought } from '../entries/entry-changes.ts';
import type { OrderKey, StorefrontLine } from './storefront-order.ts';

// Lines of shops' orders that are in the outbox. One may vanish from its order, and a new one come
// with the same SKU: staff who remove a line and add it again mean one purchase, and the shop gives
// it another id.

/** Final states of which no refund asks for anything more. */
export const needsNoRefund: ReadonlySet<EntryState> = new Set([...endedUnbought, 'refunded']);

export interface KnownLine {
  readonly id: number;
  readonly line_id: string;
  readonly extra: string;
  /**
   * The line that vanished, in whose place this one came, as long as nobody decided whether both
   * are one purchase.
   */
  readonly same_as: number | null;
}

type KeptLine = Pick<StorefrontLine, 'lineId' | 'remaining'>;

/** A line that is not in the order any more, and its entries. */
export interface VanishedLine {
  readonly known: KnownLine;
  readonly rows: readonly EntryRow[];
}

const ofOrder = `SELECT l.id, l.line_id, l.extra, l.same_as FROM lines l JOIN requests r ON r.id = l.request_id
  WHERE r.source = ? AND r.order_id = ?`;
const selectOfShop = statementOf<[string, string], KnownLine>(
  `${ofOrder} AND json_extract(l.extra, '$.sku') IS NOT NULL`,
);
const selectLine = statementOf<[string, string, string], KnownLine>(`${ofOrder} AND l.line_id = ?`);
const selectById = statementOf<[number], KnownLine>(
  'SELECT id, line_id, extra, same_as FROM lines WHERE id = ?',
);
const selectInPlaceOf = columnOf<[number], string>('SELECT line_id FROM lines WHERE same_as = ?');
/** An operator decides whether a new line is the same purchase as one that vanished. */
export const markSame = statementOf<[oldId: number, newId: number], never>(
  'UPDATE lines SET same_as = ? WHERE id = ?',
);

export function findKnownLine(
  database: Sqlite,
  order: OrderKey,
  lineId: string,
): KnownLine | undefined {
  return selectLine(database).get(order.source, order.orderId, lineId);
}

export function knownLinesOf(database: Sqlite, order: OrderKey): readonly KnownLine[] {
  return selectOfShop(database).all(order.source, order.orderId);
}

/** The entries by which a line is judged: none that others took the place of. */
function currentEntriesOf(database: Sqlite, known: KnownLine): readonly EntryRow[] {
  return selectEntriesOfLine(database)
    .all(known.id)
    .filter((row) => row.replaced === 0);
}

export function orderedAs({ extra }: KnownLine): {
  readonly sku: string;
  readonly quantity: number;
} {
  const facts = textsFrom(extra);
  return { sku: facts['sku'] ?? '', quantity: Number(facts['shop_quantity'] ?? 0) };
}

/**
 * A line that has still the product as which it was ordered keeps its SKU: shops show the present
 * SKU of a product, or none.
 */
export function withOrderedSku(
  database: Sqlite,
  order: OrderKey,
  line: StorefrontLine,
): StorefrontLine {
  const known = findKnownLine(database, order, line.lineId);
  const product = known === undefined ? undefined : textsFrom(known.extra)['shop_product'];
  if (known === undefined) return line;
  const { sku } = orderedAs(known);
  if (isSameSku(line.sku, sku)) return { ...line, sku };
  if (product === undefined) return line;
  // A shop may show a product that was deleted as none, without a SKU, and a deleted variation as
  // its product.
  const wasDeleted =
    line.product === null ? line.sku === '' : line.product === product.replace(/\d+$/, '0');
  return line.product === product || wasDeleted ? { ...line, sku } : line;
}

/**
 * The line of the newest state that stands for a known one: its own, or one that came in its place.
 */
export function lineNow<Line extends KeptLine>(
  database: Sqlite,
  { lines }: { readonly lines: readonly Line[] | null },
  known: KnownLine,
): Line | undefined {
  const own = lines?.find(({ lineId }) => lineId === known.line_id);
  if (own !== undefined && own.remaining > 0) return own;
  const ids = selectInPlaceOf(database).all(known.id);
  return lines?.find(({ lineId, remaining }) => remaining > 0 && ids.includes(lineId)) ?? own;
}

/**
 * The line that was bought in the place of this one, as an operator said; null: it is a purchase of
 * its own.
 */
export function boughtInPlaceOf(database: Sqlite, known: KnownLine): KnownLine | null {
  if (known.same_as === null) return null;
  const isSame = currentEntriesOf(database, known).every(
    ({ error_code }) => error_code === samePurchase,
  );
  return isSame ? (selectById(database).get(known.same_as) ?? null) : null;
}

/** Whether nothing of the line was bought because the shop, or its caller, took all of it back. */
export function wasCancelledByShop(database: Sqlite, known: KnownLine): boolean {
  const byPerson = ['cancelled_by_person', samePurchase];
  return currentEntriesOf(database, known).every(
    (row) =>
      (row.state === 'cancelled' || isEnding(row)) && !byPerson.includes(row.error_code ?? ''),
  );
}

/**
 * The lines with the SKU of a new one of which the customer keeps nothing any more, and for which
 * no other line stands.
 */
export function vanishedLines(
  database: Sqlite,
  order: OrderKey & { readonly lines: readonly KeptLine[] | null },
  sku: string,
): readonly VanishedLine[] {
  return knownLinesOf(database, order)
    .filter(
      (known) =>
        isSameSku(orderedAs(known).sku, sku) &&
        (lineNow(database, order, known)?.remaining ?? 0) === 0,
    )
    .map((known) => ({
      known,
      rows: currentEntriesOf(database, known).filter((row) => !endedByItself(row)),
    }))
    .filter(({ rows }) => rows.length > 0);
}

/**
 * Ended without a purchase that still counts, and not because an operator wanted that: the new line is
 * bought on its own.
 */
function endedByItself({ state, error_code: code }: EntryRow): boolean {
  return needsNoRefund.has(state) && !(state === 'cancelled' && code === 'cancelled_by_person');
}

/**
 * Whether nothing of a line is bought yet, and nobody held it: then the new line can take its
 * place.
 */
export function canBeReplaced(database: Sqlite, rows: readonly EntryRow[]): boolean {
  return rows.every(
    (row) => !(row.state === 'held' && row.held_by === null) && isSurelyUnbought(database, row),
  );
}

/** Why a line is held that has the SKU of one that vanished. */
export function whyChanged({ known, rows }: VanishedLine): string {
  const references = rows.map((row) => row.reference).join(', ');
  return `the line ${known.line_id} with the same SKU vanished from the order, and was ordered under ${references}: are that line and this line one purchase? If so, \`orders cancel\` ends this line; if not, \`orders release\` buys it`;
}
