import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../../src/store/sqlite/schema.ts';

/** A database with one order. */
function databaseWithOrder(): SqliteDatabase.Database {
  const database = new SqliteDatabase(':memory:');
  database.pragma('foreign_keys = ON');
  migrate(database);
  database.exec(`
    INSERT INTO requests (id, source, order_id, metadata, received_at_ms, updated_at_ms) VALUES (1, 'shop', 'o', '{}', 1, 1);
    INSERT INTO lines (id, request_id, line_id, operation, variant, quantity, currency, extra, fingerprint, received_at_ms)
      VALUES (1, 1, '1', 'gift_card_order', 'v', 1, 'USD', '{}', 'f', 1);
    INSERT INTO entries (id, reference, line_id, operation, variant, quantity, currency, lane, state, due_steady, created_at_ms, updated_at_ms)
      VALUES (1, 'os-reference', 1, 'gift_card_order', 'v', 1, 'USD', 'shop|USD', 'pending', 1, 1, 1);`);
  return database;
}

const refused = expect.objectContaining({ code: 'SQLITE_CONSTRAINT_CHECK' });

describe('a database', () => {
  it('refuses unknown states and operations', () => {
    const database = databaseWithOrder();
    const spelled = database
      .prepare("SELECT sql FROM sqlite_schema WHERE name IN ('lines', 'entries')")
      .pluck()
      .all();
    expect(spelled.join('\n')).not.toMatch(/CHECK \((?:operation|state) IN/);
    for (const state of ['Pending', 'pending ', 'lost', '']) {
      expect(() => database.prepare('UPDATE entries SET state = ?').run(state)).toThrow(refused);
    }
    const insertLine = database.prepare(
      `INSERT INTO lines (request_id, line_id, operation, extra, fingerprint, received_at_ms) VALUES (1, '2', ?, '{}', 'f', 1)`,
    );
    for (const operation of ['gift_card', 'esim_refund', '']) {
      expect(() => insertLine.run(operation)).toThrow(refused);
    }
    const insertEntry = database.prepare(
      `INSERT INTO entries (reference, line_id, generation, operation, lane, state, due_steady, created_at_ms, updated_at_ms)
         VALUES ('os-another-one', 1, 1, ?, 'shop|USD', 'pending', 1, 1, 1)`,
    );
    expect(() => insertEntry.run('lookup')).toThrow(refused);
    for (const state of [
      'sending',
      'waiting',
      'unknown',
      'placed',
      'fulfilled',
      'refunded',
      'rejected',
      'expired',
    ]) {
      database.prepare('UPDATE entries SET state = ?').run(state);
    }
    for (const state of ['cancelled', 'needs_review', 'held', 'pending']) {
      database.prepare('UPDATE entries SET state = ?').run(state);
    }
    database.close();
  });

  it('does not allow a statement to change the tables of SQLite itself after it was migrated', () => {
    const database = databaseWithOrder();
    expect(() =>
      database.exec("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ''"),
    ).toThrow(/may not be modified/);
    database.close();
  });
});
