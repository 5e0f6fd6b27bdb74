import { stepsOf } from '../../support/steps.ts';
import { readFileSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sealKey } from '../../support/seal-keys.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';

const code = 'PLAIN-CODE-1234';
let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
  await outbox.reopen([sealKey('k1')]);
});
afterEach(() => outbox.close());

const bought = { ...fulfilled, answer: { ...answer, units: [{ code }] } };
const unitsOf = (requestId: number) =>
  outbox.store.read.resultDocument(requestId).document.lines[0]?.entries[0]?.units ?? [];

async function buy(orderId: string, own = code): Promise<string> {
  const [accepted] = await outbox.accept([line({ orderId })]);
  await stepsOf(outbox.store).closeAttempt(
    close(await outbox.opened(), { ...bought, answer: { ...answer, units: [{ code: own }] } }),
  );
  return accepted?.reference ?? '';
}

/** Changes the closed file as somebody with access to it could. */
async function tamper(sql: string): Promise<void> {
  await outbox.store.close();
  const database = new SqliteDatabase(outbox.path);
  database.exec(sql);
  database.close();
  await outbox.reopen();
}

describe('sealed units', () => {
  it('are in no byte of the database, and in the result', async () => {
    await buy('1001');
    expect(unitsOf(1)).toEqual([{ code }]);
    expect(outbox.store.read.showOrder(null, '1001')?.entries[0]?.unitCount).toBe(1);
    for (const file of ['', '-wal']) {
      const bytes = readFileSync(`${outbox.path}${file}`);
      expect(bytes.includes(code)).toBe(false);
      expect(bytes.includes(Buffer.from(code).toString('base64').slice(0, 12))).toBe(false);
    }
  });

  it('are added to those of earlier answers', async () => {
    await outbox.accept([line({ quantity: 2 })]);
    const part = {
      ...bought,
      state: 'placed' as const,
      nextStep: 'lookup' as const,
      dueAtMs: 2500,
    };
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), part));
    const lookup = await outbox.opened({ step: 'lookup', nowMs: 3000 });
    expect(lookup.entry.units).toEqual([{ code }]);
    const rest = { ...bought, answer: { ...answer, units: [{ code: 'SECOND-CODE-5678' }] } };
    await stepsOf(outbox.store).closeAttempt(close(lookup, rest));
    expect(unitsOf(1)).toEqual([{ code: 'SECOND-CODE-5678' }, { code }]);
  });

  it('of a database from before the key stay readable', async () => {
    await outbox.reopen([]);
    await buy('1001');
    await outbox.reopen([sealKey('k1')]);
    await buy('1002', 'SECOND-CODE-2222');
    expect([unitsOf(1), unitsOf(2)]).toEqual([[{ code }], [{ code: 'SECOND-CODE-2222' }]]);
  });

  it('that were moved to another entry are not delivered there: that result is flagged, the others are delivered', async () => {
    const from = await buy('1001');
    const to = await buy('1002', 'SECOND-CODE-2222');
    await buy('1003', 'THIRD-CODE-3333');
    await tamper(
      `UPDATE entries SET units = (SELECT units FROM entries WHERE reference = '${from}') WHERE reference = '${to}'`,
    );
    const due = await outbox.store.results.dueDeliveries('folder', 9000, 10);
    expect(due.map(({ document }) => document.order_id)).toEqual(['1001', '1003']);
    expect(outbox.store.read.attention(10)).toMatchObject([
      { kind: 'delivery', orderId: '1002', message: expect.stringContaining('damaged or moved') },
    ]);
  });

  it('that are damaged while an order is open come again with its next answer', async () => {
    await outbox.accept([line()]);
    const part = {
      ...bought,
      state: 'placed' as const,
      nextStep: 'lookup' as const,
      dueAtMs: 2500,
    };
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), part));
    await tamper(`UPDATE entries SET units = units || 'AAAA'`);
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ step: 'lookup', nowMs: 3000 }), bought),
    );
    expect(unitsOf(1)).toEqual([{ code }]);
  });
});

describe('the keys', () => {
  it('must have the one of every sealed entry', async () => {
    await buy('1001');
    await buy('1002');
    await outbox.store.close();
    const missing = {
      code: 'SEAL_KEY_MISSING',
      message: expect.stringMatching(/2 entries .* "k1"/),
    };
    await expect(outbox.reopen([])).rejects.toThrow(expect.objectContaining(missing));
    await expect(outbox.reopen([sealKey('k2')])).rejects.toThrow(expect.objectContaining(missing));
    await outbox.reopen([sealKey('k2'), sealKey('k1')]);
    await buy('1003', 'THIRD-CODE-3333');
    expect(unitsOf(1)).toEqual([{ code }]);
    expect(unitsOf(3)).toEqual([{ code: 'THIRD-CODE-3333' }]);
  });

  it('with another value under a known id are noticed before anything is sealed', async () => {
    await outbox.store.close();
    await expect(outbox.reopen([{ id: 'k1', value: sealKey('other').value }])).rejects.toThrow(
      expect.objectContaining({ code: 'SEAL_KEY_CHANGED' }),
    );
    await outbox.reopen([sealKey('k1')]);
  });
});

describe('sealing again', () => {
  it('replaces what is in clear and what other keys sealed, and leaves nothing in clear in the files', async () => {
    await outbox.reopen([]);
    await buy('1001');
    await outbox.reopen([sealKey('k1')]);
    await buy('1002', `${code}-2`);
    await outbox.reopen([sealKey('k2'), sealKey('k1')]);
    await buy('1003', `${code}-3`);
    expect(outbox.store.read.sealUsage()).toHaveLength(3);
    expect(await outbox.store.sealing.sealNext(1)).toEqual({
      sealed: 1,
      unreadable: [],
      more: true,
    });
    expect(await outbox.store.sealing.sealNext(10)).toEqual({
      sealed: 1,
      unreadable: [],
      more: false,
    });
    expect(outbox.store.read.sealUsage()).toEqual([{ key: 'k2', entries: 3 }]);
    expect(await outbox.store.sealing.emptyLog()).toBe(true);
    for (const file of ['', '-wal'])
      expect(readFileSync(`${outbox.path}${file}`).includes(code)).toBe(false);
    await outbox.reopen([sealKey('k2')]);
    expect([1, 2, 3].map(unitsOf)).toEqual([
      [{ code }],
      [{ code: `${code}-2` }],
      [{ code: `${code}-3` }],
    ]);
  });

  it('leaves what cannot be opened, names it, and seals the others', async () => {
    const damaged = await buy('1001');
    await buy('1002');
    await tamper(`UPDATE entries SET units = units || 'AAAA' WHERE reference = '${damaged}'`);
    await outbox.reopen([sealKey('k2'), sealKey('k1')]);
    expect(await outbox.store.sealing.sealNext(1)).toEqual({
      sealed: 0,
      unreadable: [damaged],
      more: true,
    });
    expect(await outbox.store.sealing.sealNext(1)).toEqual({
      sealed: 1,
      unreadable: [],
      more: true,
    });
    expect(await outbox.store.sealing.sealNext(1)).toEqual({
      sealed: 0,
      unreadable: [],
      more: false,
    });
    expect(outbox.store.read.sealUsage()).toEqual([
      { key: 'k1', entries: 1 },
      { key: 'k2', entries: 1 },
    ]);
  });

  it('does not wait for somebody who reads', async () => {
    await buy('1001');
    const reader = new SqliteDatabase(outbox.path, { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM entries').get();
    await buy('1002');
    expect(await outbox.store.sealing.emptyLog()).toBe(false);
    reader.close();
    expect(await outbox.store.sealing.emptyLog()).toBe(true);
  });
});
