import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Committer } from '../storage/committer.ts';
import { Database } from '../storage/database.ts';
import { temporaryFolder } from './running-sandbox.ts';

function openTable(): {
  committer: Committer;
  add: (value: number) => number;
  seenByOthers: () => unknown[];
} {
  const path = join(temporaryFolder(), 'committer.db');
  // Without the lock of a sandbox, so that another connection can look.
  const database = new Sqlite(path);
  database.pragma('journal_mode = WAL');
  const other = new Sqlite(path, { readonly: true });
  onTestFinished(() => void (other.close(), database.close()));
  database.exec('CREATE TABLE numbers (value INTEGER NOT NULL CHECK (value < 100)) STRICT');
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  const select = other.prepare<[], number>('SELECT value FROM numbers ORDER BY value').pluck();
  return {
    committer: new Committer(new Database(database)),
    add: (value) => insert.run(value).changes,
    seenByOthers: () => select.all(),
  };
}

describe('the committer', () => {
  it('the committer resolves a piece of work only when other connections can see it', async () => {
    const { committer, add, seenByOthers } = openTable();
    const first = committer.run(() => add(1));
    expect(seenByOthers()).toEqual([]);
    await first;
    expect(seenByOthers()).toEqual([1]);
  });

  it('a piece of work that throws is undone completely, and the others in its transaction are not', async () => {
    const { committer, add, seenByOthers } = openTable();
    const settled = await Promise.allSettled([
      committer.run(() => add(1)),
      committer.run(() => add(2) + add(1_000)),
      committer.run(() => add(3)),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(seenByOthers()).toEqual([1, 3]);
  });

  it('pieces of work run in the order of their arrival, and each sees those before it', async () => {
    const { committer, add, seenByOthers } = openTable();
    const order: number[] = [];
    await Promise.all(
      [5, 4, 6].map((value) => committer.run(() => order.push(add(value) * value))),
    );
    expect(order).toEqual([5, 4, 6]);
    expect(seenByOthers()).toEqual([4, 5, 6]);
  });

  it('a flush commits the waiting work', async () => {
    const { committer, add, seenByOthers } = openTable();
    const waiting = committer.run(() => add(7));
    committer.flush();
    expect(seenByOthers()).toEqual([7]);
    await waiting;
  });
});
