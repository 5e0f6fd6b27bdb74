import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { auditLogSql } from '../../../src/store/read/audit-log.ts';
import { callLogSql } from '../../../src/store/read/call-log.ts';
import { givenUpDeliveriesSql, openDeliveriesSql, openSinksSql } from '../../../src/store/read/delivery-list.ts';
import { hoursSql, minutesSql } from '../../../src/store/read/statistics.ts';
import { timelineSql } from '../../../src/store/read/timeline.ts';
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

function planOf(sql: string): readonly string[] {
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  const names = [...sql.matchAll(/[:](\w+)/g)].map(([, name = '']) => [name, null]);
  const rows = database
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(Object.fromEntries(names));
  database.close();
  return rows.map(({ detail }) => detail);
}

const filters = { actor: 'a', action: 'pause', subject: 's', sinceMs: 1, untilMs: 2 };
const auditFilters = [{}, ...Object.entries(filters).map(([name, value]) => ({ [name]: value })), filters];
const statements: readonly (readonly [string, string])[] = [
  ...auditFilters.flatMap((filter) =>
    [undefined, '1.2'].map((after): [string, string] => [
      `the audit log by ${JSON.stringify(filter)}${after === undefined ? '' : ', a later page'}`,
      auditLogSql(filter, after),
    ]),
  ),
  ['the log of calls', callLogSql({}, undefined)],
  ['the log of calls by time', callLogSql({ untilMs: 1 }, '1')],
  ['the log of calls by outcome and time', callLogSql({ outcome: 'accepted', untilMs: 1 }, '1')],
  ['open deliveries', openDeliveriesSql],
  ['deliveries that were given up', givenUpDeliveriesSql],
  ['the sinks with open deliveries', openSinksSql],
  ['the hours of a chart', hoursSql],
  ['the minutes of a chart', minutesSql],
];

it.each(statements)('for %s only the rows of the page are read, in their order', (name, sql) => {
  const plan = planOf(sql);
  const alias = /\b(?:FROM|JOIN) (\w+) ([a-z])\b/g;
  const aliases = [...sql.matchAll(alias)]
    .filter(([, table]) => bigTables.includes(table ?? ''))
    .map(([, , short]) => short);
  const scanned = plan.filter((step) =>
    [...bigTables, ...aliases].some((table) => step.split(' ')[1] === table && step.startsWith('SCAN')),
  );
  // A list from its head, by the key of the table or by an index, ends with the page.
  const isHead = !sql.includes('WHERE') && sql.includes('LIMIT');
  expect(isHead ? [] : scanned).toEqual([]);
  const sorts = plan.filter((step) => step.includes('TEMP B-TREE'));
  // The minutes are grouped: a few hundred groups.
  expect(name === 'the minutes of a chart' ? [] : sorts).toEqual([]);
});

it('reads only what belongs to the order for its timeline', () => {
  const scanned = planOf(timelineSql).filter((step) =>
    /^SCAN (?:[elauj]|requests|lines|entries|attempts|audit|rejections|deliveries)\b/.test(step),
  );
  expect(scanned).toEqual([]);
});
