import type { Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { isSurelyUnbought } from '../submission/after-loss.ts';
import { samePurchase } from '../../core/operator/operator-decision.ts';
import type { StorefrontLine, StorefrontOrder } from './storefronts.ts';

/** A line of a shop's order that is in the outbox. */
export interface KnownLine {
  readonly id: number;
  readonly line_id: string;
  readonly extra: string;
  readonly same_as: number | null;
}

/** How many of a line the customer keeps. */
export type Left = Pick<StorefrontLine, 'lineId' | 'remaining'>;

/** A line that is not in the order any more, and its entries. */
export interface Vanished {
  readonly known: KnownLine;
  readonly rows: readonly EntryRow[];
}

/**
 * Lines that vanished from a shop's order, and new ones with the same SKU. Staff who remove a line and add it again mean one
 * purchase, and the shop gives it another id. Every method is called inside a transaction.
 */
export class ChangedLines {
  readonly #database: Sqlite;
  readonly #statements;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#statements = {
      ofShop: database.prepare<[string, string], KnownLine>(
        `SELECT l.id, l.line_id, l.extra, l.same_as FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND json_extract(l.extra, '$.sku') IS NOT NULL`,
      ),
      find: database.prepare<[string, string, string], KnownLine>(
        `SELECT l.id, l.line_id, l.extra, l.same_as FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND l.line_id = ?`,
      ),
      byId: database.prepare<[number], KnownLine>('SELECT id, line_id, extra, same_as FROM lines WHERE id = ?'),
      standIns: database.prepare<[number], string>('SELECT line_id FROM lines WHERE same_as = ?').pluck(),
      markSame: database.prepare('UPDATE lines SET same_as = :oldId WHERE id = :newId'),
      entries: database.prepare<[number], EntryRow>(
        'SELECT * FROM entries WHERE line_id = ? AND replaced = 0 ORDER BY id',
      ),
    };
  }

  /** A line of an order that is in the outbox. */
  find({ source, orderId }: Pick<StorefrontOrder, 'source' | 'orderId'>, lineId: string): KnownLine | undefined {
    return this.#statements.find.get(source, orderId, lineId);
  }

  /** The lines of an order that were taken in for its shop. */
  linesOf({ source, orderId }: Pick<StorefrontOrder, 'source' | 'orderId'>): readonly KnownLine[] {
    return this.#statements.ofShop.all(source, orderId);
  }

  /** The line of the newest state that stands for a known one: its own, or one that came in its place. */
  lineNow<Line extends Left>({ lines }: { lines: readonly Line[] | null }, known: KnownLine): Line | undefined {
    const own = lines?.find(({ lineId }) => lineId === known.line_id);
    if (own !== undefined && own.remaining > 0) return own;
    const ids = this.#statements.standIns.all(known.id);
    return lines?.find(({ lineId, remaining }) => remaining > 0 && ids.includes(lineId)) ?? own;
  }

  /** The line that was bought in the place of this one, as a person said; null: it is a purchase of its own. */
  boughtAs(known: KnownLine): KnownLine | null {
    if (known.same_as === null) return null;
    const isSame = this.#statements.entries.all(known.id).every(({ error_code }) => error_code === samePurchase);
    return isSame ? (this.#statements.byId.get(known.same_as) ?? null) : null;
  }

  /** The lines with the SKU of a new one of which the customer keeps nothing any more, and for which no other line stands. */
  vanishedFor(
    order: Pick<StorefrontOrder, 'source' | 'orderId'> & { readonly lines: readonly Left[] | null },
    sku: string,
  ): readonly Vanished[] {
    return this.linesOf(order)
      .filter((known) => skuOf(known) === sku && (this.lineNow(order, known)?.remaining ?? 0) === 0)
      .map((known) => ({ known, rows: this.#statements.entries.all(known.id).filter((row) => !endedByItself(row)) }))
      .filter(({ rows }) => rows.length > 0);
  }

  /** Whether nothing of a line is bought yet, and nobody held it: then the new line can take its place. */
  canBeReplaced(rows: readonly EntryRow[]): boolean {
    return rows.every(
      (row) => !(row.state === 'held' && row.held_by === null) && isSurelyUnbought(this.#database, row),
    );
  }

  markSame(newLine: KnownLine, old: KnownLine): void {
    this.#statements.markSame.run({ newId: newLine.id, oldId: old.id });
  }
}

function skuOf(known: KnownLine): string {
  const facts: { sku?: string } = JSON.parse(known.extra);
  return facts.sku ?? '';
}

/** Ended without a purchase that still counts, and not because a person wanted that: the new line is bought on its own. */
function endedByItself(row: EntryRow): boolean {
  if (row.state === 'cancelled') return row.error_code !== 'cancelled_by_person';
  return row.state === 'rejected' || row.state === 'expired' || row.state === 'refunded';
}

/** Why a line is held that has the SKU of one that vanished. */
export function whyChanged({ known, rows }: Vanished): string {
  const references = rows.map((row) => row.reference).join(', ');
  return `the line ${known.line_id} with the same SKU vanished from the order, and was ordered under ${references}: is it one purchase? \`orders resolve --same\` buys nothing for this line, \`--another\` buys it, too`;
}
