import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrations } from '../../../src/store/sqlite/schema.ts';
import { line } from '../../support/outbox.ts';
import { openStore, type StoreOptions } from '../../../src/store/store.ts';

let folder: string;
let options: StoreOptions;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-store-'));
  options = {
    path: join(folder, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
    upstream: 'https://wholesale.example',
    sinks: [{ name: 'folder', sources: null }],
  };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As a later version would. */
function addMigration(database: SqliteDatabase.Database): void {
  const next = migrations().length + 1;
  const name = `${String(next).padStart(4, '0')}_later.sql`;
  database
    .prepare("INSERT INTO meta (name, value) VALUES ('schema:' || ?, ?)")
    .run(name, '0'.repeat(64));
  database.pragma(`user_version = ${next}`);
}

describe('opening the outbox', () => {
  it('refuses a missing database unless it may be created: an empty one has forgotten every order', () => {
    expect(() => openStore({ ...options, init: 'never' })).toThrow(
      expect.objectContaining({ code: 'DATABASE_MISSING' }),
    );
  });

  it('refuses a database that a newer program made', async () => {
    await openStore(options).close();
    const raw = new SqliteDatabase(options.path);
    addMigration(raw);
    raw.close();
    expect(() => openStore(options)).toThrow(expect.objectContaining({ code: 'DATABASE_NEWER' }));
  });

  it('refuses a second writer until the first one has closed the outbox', async () => {
    const first = openStore(options);
    expect(() => openStore(options)).toThrow(expect.objectContaining({ code: 'DATABASE_LOCKED' }));
    await first.close();
    await openStore(options).close();
  });

  it('refuses another upstream once it has orders, and always another reference secret', async () => {
    await openStore({ ...options, upstream: 'sandbox' }).close();
    const store = openStore(options);
    await store.intake.acceptBatch({ nowMs: 1, fileId: null, lines: [line({})], rejections: [] });
    await store.close();
    for (const upstream of ['sandbox', 'https://wholesale.example:444', 'http://wholesale.example'])
      expect(() => openStore({ ...options, upstream })).toThrow(
        expect.objectContaining({ code: 'UPSTREAM_MISMATCH' }),
      );
    // Nothing was accepted yet, so its path may have been mistyped.
    await openStore({ ...options, upstream: 'https://wholesale.example/v1' }).close();
    await openStore(options).close();
    const database = new SqliteDatabase(options.path);
    database.exec(`INSERT INTO attempts (entry_id, number, purpose, key_name, opened_at_ms, closed_at_ms, sent, outcome)
      VALUES (1, 1, 'submit', 'main', 1, 1, 1, 'accepted')`);
    database.close();
    expect(() => openStore({ ...options, upstream: 'https://wholesale.example/v1' })).toThrow(
      expect.objectContaining({ code: 'UPSTREAM_MISMATCH' }),
    );
    const namespace = { ...options.namespace, secret: Buffer.alloc(32, 8) };
    expect(() => openStore({ ...options, namespace })).toThrow(
      expect.objectContaining({ code: 'REFERENCE_SECRET_CHANGED' }),
    );
  });

  it('notices later that the database file was removed', async () => {
    const store = openStore(options);
    await store.checkHealth();
    rmSync(options.path);
    await expect(store.checkHealth()).rejects.toMatchObject({ code: 'DATABASE_REPLACED' });
    await store.close();
  });

  it('lets only its owner read the file, because it holds delivered codes', async () => {
    await openStore(options).close();
    expect(statSync(options.path).mode & 0o777).toBe(0o600);
  });

  it('creates the views that people read', async () => {
    await openStore(options).close();
    const raw = new SqliteDatabase(options.path, { readonly: true });
    for (const view of ['outbox', 'outbox_attention', 'attempt_log', 'delivery_log', 'audit_log']) {
      expect(raw.prepare(`SELECT count(*) FROM ${view}`).pluck().get()).toBe(0);
    }
    raw.close();
  });
});
