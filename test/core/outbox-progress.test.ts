import { expect, it } from 'vitest';
import { reasonForOlderCopy, type OutboxProgress } from '../../src/core/outbox-progress.ts';

const known: OutboxProgress = { databaseId: 'a', attempt: 10, entry: 20, decision: 3 };
const same = { ...known, replaced: null };

it('a database that has come as far as its progress file, or further, is no older copy', () => {
  expect(reasonForOlderCopy(known, same)).toBeNull();
  expect(reasonForOlderCopy(known, { ...same, attempt: 11, entry: 30, decision: 4 })).toBeNull();
});

it('a database that lacks a call, an entry or a decision is an older copy', () => {
  for (const older of [{ attempt: 9 }, { entry: 19 }, { decision: 2 }]) {
    // Whatever else it did since: it went another way.
    const found = { ...same, attempt: 50, entry: 50, decision: 50, ...older };
    expect(reasonForOlderCopy(known, found)).toContain('an older copy of the outbox');
  }
});

it('another database is noticed, however far it has come, unless it has taken the place of that one already', () => {
  const other = { databaseId: 'b', attempt: 99, entry: 99, decision: 99 };
  expect(reasonForOlderCopy(known, { ...other, replaced: null })).toContain('not the outbox that');
  expect(reasonForOlderCopy(known, { ...other, replaced: known })).toBeNull();
  // It took the place of an earlier state: since then that outbox was used again.
  expect(reasonForOlderCopy(known, { ...other, replaced: { ...known, attempt: 9 } })).toContain(
    'not the outbox that',
  );
});
