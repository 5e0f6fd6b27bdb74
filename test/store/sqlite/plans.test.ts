import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SteadyClock } from '../../../src/ops/system-clock.ts';
import { statementTexts } from '../../../src/store/sqlite/database.ts';
import { MachineClock } from '../../support/machine-clock.ts';
import { Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
const prepare: (this: SqliteDatabase.Database, sql: string) => SqliteDatabase.Statement =
  Reflect.get(SqliteDatabase.prototype, 'prepare');
const prototype: { prepare: unknown } = SqliteDatabase.prototype;
const prepared = new Set<string>();

beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(async () => {
  prototype.prepare = prepare;
  await outbox.close();
});

/** The statements that this work prepares. */
async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  prepared.clear();
  prototype.prepare = function collecting(this: SqliteDatabase.Database, sql: string) {
    prepared.add(sql);
    return prepare.call(this, sql);
  };
  await work();
  prototype.prepare = prepare;
  return [...prepared];
}

/** Tables of which there may be a million rows. */
const large = /^SCAN (?:entries|attempts|lines|requests|deliveries|audit|e|a|l|r|d)\b/;
/** Indexes of the few rows that are open, due, or looked at by an operator. */
const ofFewRows =
  /INDEX (?:entries_(?:waiting|waiting_age|unknown|placed|sending|attention|to_deliver|shown_twice|uncounted|reserved)|attempts_open|deliveries_due)\b/;

/** Statements that may read a whole table, because none is part of a step that a worker repeats. */
const rareOnes = [
  // Once after a loss, before anything is sent.
  /^\s*UPDATE entries SET (asked_after_loss = CASE|created_at_ms = created_at_ms \+|state = CASE state WHEN 'unknown' THEN)/,
  // An operator asks: `db check`, redelivery of many results.
  /sum\(kept\) AS kept, sum\(found\) AS found/,
  /^SELECT count\(\*\) FROM requests r/,
  // The timeline of one order: `d` are its deliveries only.
  /own AS \(SELECT/,
  // The newest lines only.
  /FROM \(SELECT \* FROM lines ORDER BY id DESC LIMIT 20000\)/,
  // An index with a row for each entry that has units.
  /FROM entries WHERE units IS NOT NULL GROUP BY sealed_by/,
];

/**
 * A plan depends on a value only where it lets SQLite take an index of some rows, such as those of
 * one state.
 */
function parametersOf(sql: string): readonly unknown[] {
  const unnamed = [...sql.matchAll(/\?/g)].map(() => 1);
  const named = Object.fromEntries(
    [...sql.matchAll(/:([a-zA-Z]\w*)/g)].map(([, name = '']) => [
      name,
      name === 'state' ? 'pending' : 1,
    ]),
  );
  return Object.keys(named).length === 0 ? unnamed : [...unnamed, named];
}

function scansOf(statements: readonly string[]): readonly string[] {
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  try {
    return (
      statements
        // A question whether there is one ends at the first.
        .filter((sql) => /^\s*(?:SELECT|UPDATE|WITH|DELETE)/.test(sql) && !/LIMIT 1\s*$/.test(sql))
        .flatMap((sql) =>
          database
            .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
            .all(...parametersOf(sql))
            .filter(({ detail }) => large.test(detail) && !ofFewRows.test(detail))
            .map(({ detail }) => `${detail}: ${sql.replaceAll(/\s+/g, ' ').slice(0, 100)}`),
        )
    );
  } finally {
    database.close();
  }
}

it('a start after a stop of the machine reads no whole table, however many entries there are', async () => {
  const clock = new SteadyClock(new MachineClock());
  const statements = await statementsOf(() => outbox.store.continueTime(clock));
  expect(statements.length).toBeGreaterThan(6);
  expect(scansOf(statements)).toEqual([]);
});

it('no statement of the store that a worker repeats reads a whole table', async () => {
  const atOpening = await statementsOf(() => outbox.reopen());
  const statements = [...new Set([...atOpening, ...statementTexts])];
  expect(statements.length).toBeGreaterThan(200);
  expect(
    scansOf(statements.filter((sql) => !rareOnes.some((rare) => rare.test(sql.trim())))),
  ).toEqual([]);
});
