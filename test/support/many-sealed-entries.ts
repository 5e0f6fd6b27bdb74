import SqliteDatabase from 'better-sqlite3';
import { SealKeys, type SealKey } from '../../src/core/sealing/seal-keys.ts';
import { SealedUnits } from '../../src/store/sqlite/sealed-units.ts';

export const codeOf = (number: number): string => `CODE-OF-ORDER-${number}`;

/** Adds settled orders of one sealed unit each to the database of a worker that is stopped. */
export function addSealedEntries(path: string, count: number, key: SealKey): void {
  const units = new SealedUnits(new SealKeys([key]));
  const database = new SqliteDatabase(path);
  const insertOrder = database.prepare(
    `INSERT INTO requests (source, order_id, metadata, version, received_at_ms, updated_at_ms) VALUES ('old', ?, '{}', 1, 1, 1)`,
  );
  const insertLine = database.prepare(
    `INSERT INTO lines (request_id, line_id, operation, variant, quantity, currency, extra, fingerprint, received_at_ms)
     VALUES (?, '1', 'gift_card_order', 'steam-usd-5', 1, 'USD', '{}', '', 1)`,
  );
  const insertEntry = database.prepare(
    `INSERT INTO entries (reference, line_id, operation, variant, quantity, currency, state, lane, due_steady, created_at_ms,
       updated_at_ms, settled_at_ms, order_number, outcome_row, units, unit_count, sealed_by)
     VALUES (:reference, :lineId, 'gift_card_order', 'steam-usd-5', 1, 'USD', 'fulfilled', 'old', 1, 1, 1, 1, 'GC-1', 'accepted',
       :units, :unitCount, :sealedBy)`,
  );
  database.transaction(() => {
    for (let number = 0; number < count; number += 1) {
      const { lastInsertRowid: request } = insertOrder.run(String(number));
      const { lastInsertRowid: lineId } = insertLine.run(request);
      const reference = `os-old-order-${number}`;
      insertEntry.run({
        reference,
        lineId,
        ...units.toStore(reference, [{ code: codeOf(number) }]),
      });
    }
  })();
  database.close();
}

/** How many of these entries open with these keys to the code that they were sealed with. */
export function readableEntries(path: string, keys: readonly SealKey[]): number {
  const units = new SealedUnits(new SealKeys(keys));
  const database = new SqliteDatabase(path, { readonly: true });
  const rows = database
    .prepare<[], { reference: string; units: string }>(
      `SELECT reference, units FROM entries WHERE reference LIKE 'os-old-order-%'`,
    )
    .all();
  database.close();
  return rows.filter(
    (row) => units.of(row)[0]?.code === codeOf(Number(row.reference.split('-').at(-1))),
  ).length;
}
