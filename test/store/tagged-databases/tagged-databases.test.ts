import { Buffer } from 'node:buffer';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { entryStates } from '../../../src/core/entry/states.ts';
import { openReader } from '../../../src/store/read/outbox-reader.ts';
import { inspectDatabase } from '../../../src/store/sqlite/inspect.ts';
import { openStore } from '../../../src/store/store.ts';
import { writeNewDatabase } from '../../support/new-database.ts';
import { loadDump } from './dump.ts';

const dumps = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.sql'));

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'order-sync-tagged-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** The names of all tables, indexes, triggers, views and columns. */
function namesIn(path: string): ReadonlySet<unknown> {
  const database = new SqliteDatabase(path, { readonly: true });
  const sql = `SELECT s.type || ' ' || s.name || coalesce('.' || c.name, '')
    FROM sqlite_schema s LEFT JOIN pragma_table_xinfo(s.name) c WHERE s.sql IS NOT NULL`;
  const names = database.prepare(sql).pluck().all();
  database.close();
  return new Set(names);
}

describe('a database of a tagged version', () => {
  it('is there', () => expect(dumps).not.toHaveLength(0));

  // Where the dump of a version that was not tagged yet is refused, make-dump.ts says how it is
  // made anew.
  it.each(dumps)('is opened, brought up to date and read: %s', async (name) => {
    const path = join(folder(), 'order-sync.db');
    loadDump(readFileSync(join(import.meta.dirname, name), 'utf8'), path);
    const store = openStore({
      path,
      init: 'never',
      namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
      upstream: 'sandbox',
      sinks: [{ name: 'folder', sources: null }],
    });
    await store.close();
    const { problems, schemaVersion, newestSchema } = inspectDatabase(path);
    expect({ problems, schemaVersion }).toEqual({ problems: [], schemaVersion: newestSchema });

    const reader = openReader(path);
    const orders = reader.listOrders({ limit: 100 });
    // Each order is named after the state of its line.
    const ofState = Object.fromEntries(entryStates.map((state) => [state, { [state]: 1 }]));
    expect(Object.fromEntries(orders.map(({ orderId, states }) => [orderId, states]))).toEqual(
      ofState,
    );
    for (const { source, orderId } of orders) {
      expect(reader.listOrders({ limit: 2, search: `${orderId}@shop.example` })).toMatchObject([
        { orderId },
      ]);
      expect(reader.showOrder(source, orderId)?.entries).toHaveLength(1);
    }
    reader.close();

    const fresh = join(folder(), 'order-sync.db');
    writeNewDatabase(fresh);
    expect(namesIn(path)).toEqual(namesIn(fresh));
  });
});
