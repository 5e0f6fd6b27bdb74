import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { bulkActions } from '../../../src/core/operator/operator-command.ts';
import { entryStates } from '../../../src/core/entry/states.ts';
import { line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

/**
 * Tables with a row for each order, line, entry or call, and the names that they have in
 * statements.
 */
const large = /^SCAN (?:entries|lines|requests|attempts|deliveries|[elradnu]|nl)\b/;
/** Indexes of what is open or in attention: the worker has at most some thousand such rows. */
const short =
  /USING (?:COVERING )?INDEX (?:entries_(?:unknown|sending|placed|attention|waiting|waiting_age|unbought|to_deliver|shown_twice|uncounted)|attempts_open|deliveries_given_up)\b/;
/** The newest orders: it ends with the page, or after 5,000. */
const newestOrders =
  /FROM requests (?:r )?WHERE (?:r\.)?id < :beforeId ORDER BY (?:r\.)?id DESC LIMIT/;
/** A result that waits for its sink is counted: as many as are waiting. */
/**
 * What is sent next, up to 10,000: each entry of the scan fits, unless it changed in this very
 * moment.
 */
const pendingUpToACount =
  /^SELECT (?:count\(\*\) FROM \(SELECT 1|e\.reference) FROM entries e WHERE e\.state = 'pending' AND e\.updated_at_ms <= :untilMs LIMIT/;
const waitingResults = /FROM deliveries WHERE done_version < due_version/;

it('no list, search or count for people reads all orders, lines or entries', async () => {
  await outbox.accept([line({ orderId: '1' }), line({ orderId: '2', source: 'shop2' })]);
  const writer = new SqliteDatabase(outbox.path);
  const enter = (state: string) => writer.exec(`UPDATE entries SET state = '${state}'`);
  const prepare = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  const { read } = outbox.store;
  await outbox.store.operator.pauseScope({
    scope: 'account',
    actor: 'cli:anna',
    reason: 'to see what it holds up',
    nowMs: 1000,
  });
  const [{ reference } = { reference: '' }] = read.showOrder(null, '1')?.entries ?? [];
  read.showOrder('shop1', '1');
  read.counts();
  read.backlog();
  read.attention(10);
  read.attention(10, {
    source: 'shop1',
    code: 'held',
    beforeMs: 1,
    ids: ['a'],
    canAcknowledge: true,
  });
  read.attentionCounts();
  for (const pause of read.pauses()) pause.affects();
  read.attentionGroups({}, { limit: 10, atMost: 10 });
  read.sinkPauses();
  read.queueFacts();
  for (const source of [{}, { source: 'shop1' }])
    for (const state of [{}, ...entryStates.map((name) => ({ state: name }))])
      for (const search of [{}, { search: 'steam' }])
        for (const attention of [{}, { attention: true }])
          for (const product of [{}, { product: 'steam-10' }])
            for (const time of [{}, { sinceMs: 500 }, { untilMs: 1500 }])
              read.listOrders({
                limit: 10,
                ...source,
                ...state,
                ...search,
                ...attention,
                ...product,
                ...time,
              });
  read.listOrders({ limit: 10, sort: 'amount' });
  read.listOrders({ limit: 10, sort: 'oldest', state: 'pending' });
  for (const action of bulkActions)
    for (const filter of [{}, { source: 'shop1' }, { code: 'x' }, { source: 'shop1', code: 'x' }])
      read.findForBulk(action, { untilMs: 1, ...filter }, 10);
  for (const state of entryStates) {
    enter(state);
    expect(read.queuedEntry(reference)).toMatchObject({ state, before: 0 });
  }
  const statements = [...new Set(prepare.mock.calls.map(([sql]) => sql))];
  prepare.mockRestore();
  writer.close();
  expect(statements.length).toBeGreaterThan(40);

  const database = new SqliteDatabase(outbox.path, { readonly: true });
  const plansOf = (sql: string): string[] =>
    database
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...parametersOf(sql))
      .map(({ detail }) => detail);
  const scans = statements.flatMap((sql) =>
    newestOrders.test(sql) || waitingResults.test(sql) || pendingUpToACount.test(sql)
      ? []
      : plansOf(sql)
          .filter((step) => large.test(step) && !short.test(step))
          .map((step) => `${step}: ${sql}`),
  );
  database.close();
  expect(scans).toEqual([]);
});

/** A value for each parameter. */
function parametersOf(sql: string): unknown[] {
  const names = [...sql.matchAll(/[^:]:([a-zA-Z]\w*)/g)].map(([, name]) => name);
  if (names.length > 0) return [Object.fromEntries(names.map((name) => [name, null]))];
  return Array.from(sql.matchAll(/\?/g), () => null);
}
