import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { auditLogSql } from '../../../src/store/read/audit-log.ts';
import {
  selectGivenUp,
  selectOpen,
  selectOpenSinks,
} from '../../../src/store/read/delivery-list.ts';
import { selectNumbers } from '../../../src/store/read/numbers.ts';
import { selectHours } from '../../../src/store/read/statistics.ts';
import { selectEvents } from '../../../src/store/read/timeline.ts';
import { Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const bigTables = [
  'requests',
  'lines',
  'entries',
  'attempts',
  'deliveries',
  'audit',
  'rejections',
  'hourly_statistics',
];

type Statement = string | ((database: SqliteDatabase.Database) => { readonly source: string });

function textAndPlanOf(statement: Statement): {
  readonly sql: string;
  readonly plan: readonly string[];
} {
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  const sql = typeof statement === 'string' ? statement : statement(database).source;
  const names = [...sql.matchAll(/[:](\w+)/g)].map(([, name = '']) => [name, null]);
  const rows = database
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(Object.fromEntries(names));
  database.close();
  return { sql, plan: rows.map(({ detail }) => detail) };
}

const filters = { actor: 'a', action: 'pause', subject: 's', sinceMs: 1, untilMs: 2 };
const auditFilters = [
  {},
  ...Object.entries(filters).map(([name, value]) => ({ [name]: value })),
  filters,
];
const statements: readonly (readonly [string, Statement])[] = [
  ...auditFilters.flatMap((filter) =>
    [undefined, '1.2'].map((after): [string, string] => [
      `the audit log by ${JSON.stringify(filter)}${after === undefined ? '' : ', a later page'}`,
      auditLogSql(filter, after),
    ]),
  ),
  ['numbers', selectNumbers],
  ['open deliveries', selectOpen],
  ['deliveries that were given up', selectGivenUp],
  ['the sinks with open deliveries', selectOpenSinks],
  ['the hours of a chart', selectHours],
];

it.each(statements)('for %s only the rows of the page are read, in their order', (_, statement) => {
  const { sql, plan } = textAndPlanOf(statement);
  const alias = /\b(?:FROM|JOIN) (\w+) ([a-z])\b/g;
  const aliases = [...sql.matchAll(alias)]
    .filter(([, table]) => bigTables.includes(table ?? ''))
    .map(([, , short]) => short);
  const scanned = plan.filter((step) =>
    [...bigTables, ...aliases].some(
      (table) => step.split(' ')[1] === table && step.startsWith('SCAN'),
    ),
  );
  // A list from its head, by the key of the table or by an index, ends with the page.
  const isHead = !sql.includes('WHERE') && sql.includes('LIMIT');
  expect(isHead ? [] : scanned).toEqual([]);
  const sorts = plan.filter((step) => step.includes('TEMP B-TREE'));
  expect(sorts).toEqual([]);
});

it('reads only what belongs to the order for its timeline', () => {
  const scanned = textAndPlanOf(selectEvents).plan.filter((step) =>
    /^SCAN (?:[elauj]|requests|lines|entries|attempts|audit|rejections|deliveries)\b/.test(step),
  );
  expect(scanned).toEqual([]);
});
