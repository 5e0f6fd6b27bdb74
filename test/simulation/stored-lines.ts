import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { SimDisk } from './sim-disk.ts';

/** What the outbox has of a line. */
export interface StoredLine {
  readonly quantity: number | null;
  /** Of its first entry. */
  readonly reference: string;
}

export interface StoredEntry {
  readonly reference: string;
  /** `ending`: cancelled, and looked up before that counts, or in review because of it. */
  readonly state: string;
  /** How many calls that spend were begun for it. */
  readonly attempts: number;
}

type Identity = Pick<AcceptableLine, 'source' | 'orderId' | 'lineId'>;

export const lineName = ({ source, orderId, lineId }: Identity): string =>
  `${source}/${orderId}/${lineId}`;

const ofLine = `FROM lines l JOIN requests r ON r.id = l.request_id WHERE r.source = ? AND r.order_id = ? AND l.line_id = ?`;

/** Reads the outbox as it is on the disk, past the worker. */
export class StoredLines {
  readonly #disk: SimDisk;

  constructor(disk: SimDisk) {
    this.#disk = disk;
  }

  /** Whether a worker has it open: one that has stopped closed it. */
  get isOpen(): boolean {
    return this.#disk.isOpen;
  }

  get inTransaction(): boolean {
    return this.#disk.connection.inTransaction;
  }

  find({ source, orderId, lineId }: Identity): StoredLine | undefined {
    const first =
      '(SELECT e.reference FROM entries e WHERE e.line_id = l.id ORDER BY e.id LIMIT 1) AS reference';
    return this.#disk.connection
      .prepare<[string, string, string], StoredLine>(`SELECT l.quantity, ${first} ${ofLine}`)
      .get(source, orderId, lineId);
  }

  entries({ source, orderId, lineId }: Identity): readonly StoredEntry[] {
    return this.#disk.connection
      .prepare<[string, string, string], StoredEntry>(
        `SELECT e.reference, iif(e.state IN ('unknown', 'needs_review') AND e.error_buffered = 2, 'ending', e.state) AS state,
                (SELECT count(*) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit') AS attempts
         FROM entries e WHERE e.line_id IN (SELECT l.id ${ofLine}) ORDER BY e.id`,
      )
      .all(source, orderId, lineId);
  }

  /**
   * Whether the outbox shows people that something is wrong with the line, or that it was not
   * accepted.
   */
  isFlagged({ source, orderId, lineId }: Identity): boolean {
    return (
      this.#disk.connection
        .prepare<[string, string, string]>(
          'SELECT 1 FROM rejections WHERE (source = ? OR source IS NULL) AND order_id = ? AND (line_id = ? OR line_id IS NULL)',
        )
        .get(source, orderId, lineId) !== undefined
    );
  }

  /** The codes of what is open about a line, or about its order as a whole. */
  openFlags({ source, orderId, lineId }: Identity): readonly string[] {
    return this.#disk.connection
      .prepare<[string, string, string], string>(
        `SELECT code FROM rejections WHERE source = ? AND order_id = ? AND (line_id = ? OR line_id IS NULL)
         AND corrected_at_ms IS NULL AND taken_back = 0`,
      )
      .pluck()
      .all(source, orderId, lineId);
  }

  /** How many rows say this about a shop as a whole. */
  flagsOfShop(source: string, code: string): number {
    return Number(
      this.#disk.connection
        .prepare<[string, string], number>(
          'SELECT count(*) FROM rejections WHERE source = ? AND code = ? AND order_id IS NULL',
        )
        .pluck()
        .get(source, code),
    );
  }

  /** When the outbox first knew the shop; null: it does not yet. */
  connectedMs(source: string): number | null {
    const sql = 'SELECT connected_at_ms FROM storefronts WHERE source = ?';
    return this.#disk.connection.prepare<[string], number>(sql).pluck().get(source) ?? null;
  }

  /** Whether a map of the shop ever had it, as the outbox remembers. */
  wasMapped(source: string, sku: string): boolean {
    const sql =
      'SELECT 1 FROM storefront_skus WHERE source = ? AND sku = ? AND is_mapped IS NOT NULL';
    return (
      this.#disk.connection.prepare<[string, string]>(sql).get(source, sku.toLowerCase()) !==
      undefined
    );
  }

  /** The ids of the lines of an order. */
  linesOf(source: string, orderId: string): readonly string[] {
    return this.#disk.connection
      .prepare<[string, string], string>(
        'SELECT l.line_id FROM lines l JOIN requests r ON r.id = l.request_id WHERE r.source = ? AND r.order_id = ? ORDER BY l.id',
      )
      .pluck()
      .all(source, orderId);
  }

  /** The names of all lines. */
  all(): readonly string[] {
    return this.#disk.connection
      .prepare<[], string>(
        "SELECT r.source || '/' || r.order_id || '/' || l.line_id FROM lines l JOIN requests r ON r.id = l.request_id",
      )
      .pluck()
      .all();
  }
}
