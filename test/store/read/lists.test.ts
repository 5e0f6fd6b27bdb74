import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditFilter } from '../../../src/store/read/audit-log.ts';
import type { DeliveryFilter } from '../../../src/store/read/delivery-list.ts';
import type { Page, PageRequest } from '../../../src/store/read/page.ts';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';

const sinks = ['callback:a.example', 'folder'];
let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open(sinks.map((name) => ({ name, sources: null })));
});
afterEach(() => outbox.close());

/** Every row of a list, read in pages of two. */
function inPages<Row>(read: (page: PageRequest) => Page<Row>): readonly Row[] {
  const rows: Row[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page: Page<Row> = read({ limit: 2, after: after ?? undefined });
    expect(page.rows.length).toBeLessThanOrEqual(2);
    rows.push(...page.rows);
    // A list that repeats itself would never end.
    expect(rows.length).toBeLessThan(100);
    after = page.next;
  }
  return rows;
}

async function settle(orderId: string, settlement: typeof fulfilled, nowMs: number): Promise<void> {
  await outbox.accept([line({ orderId })], null, nowMs);
  await stepsOf(outbox.store).closeAttempt(
    close(await outbox.opened({ nowMs }), settlement, { nowMs }),
  );
}

describe('the audit log', () => {
  const read = (filter: AuditFilter): readonly string[] =>
    inPages((page) => outbox.store.read.auditLog(filter, page)).map(
      ({ subject, reason }) => `${subject} ${reason}`,
    );

  beforeEach(async () => {
    const acts = ['cli:anna', 'cli:bo', 'cli:anna', 'cli:anna'].map((actor, index) => ({
      actor,
      reason: `why ${index}`,
    }));
    for (const [index, act] of acts.entries()) {
      const scope = index < 2 ? 'account' : 'balance:USD';
      const nowMs = 1000 * (index + 1);
      if (index % 2 === 0) await outbox.store.operator.pauseScope({ ...act, scope, nowMs });
      else await outbox.store.operator.resumeScope({ ...act, scope, nowMs });
    }
  });

  it.each<[string, AuditFilter, readonly string[]]>([
    [
      'everything',
      {},
      ['balance:USD why 3', 'balance:USD why 2', 'account why 1', 'account why 0'],
    ],
    ['an actor', { actor: 'cli:bo' }, ['account why 1']],
    ['an action', { action: 'pause' }, ['balance:USD why 2', 'account why 0']],
    ['a subject', { subject: 'account' }, ['account why 1', 'account why 0']],
    ['a time', { sinceMs: 2000, untilMs: 4000 }, ['balance:USD why 2', 'account why 1']],
    [
      'all of them',
      { actor: 'cli:anna', action: 'resume', subject: 'balance:USD', sinceMs: 1 },
      ['balance:USD why 3'],
    ],
    ['an actor who did nothing', { actor: 'cli:cy' }, []],
  ])('is read by %s, the newest first', (_, filter, expected) => {
    expect(read(filter)).toEqual(expected);
  });

  it('keeps its order where two things have the same time', async () => {
    for (const scope of ['variant:a', 'variant:b', 'variant:c']) {
      await outbox.store.operator.pauseScope({
        scope,
        actor: 'cli:anna',
        reason: 'same',
        nowMs: 9000,
      });
    }
    expect(read({ sinceMs: 9000 })).toEqual(['variant:c same', 'variant:b same', 'variant:a same']);
  });
});

describe('the list of deliveries', () => {
  const read = (filter: DeliveryFilter): readonly string[] =>
    inPages((page) => outbox.store.read.deliveries(filter, page)).map(
      ({ orderId, sink }) => `${orderId} ${sink}`,
    );

  it('has the open ones, the one that is due first at the head, of all sinks or of one', async () => {
    for (const orderId of ['1', '2', '3']) await settle(orderId, fulfilled, 1000 * Number(orderId));
    const [due] = await outbox.store.results.dueDeliveries('folder', 9000, 1);
    const { requestId = 0, version = 0 } = due ?? {};
    const failed = { requestId, sink: 'folder', version };
    await outbox.store.results.failDelivery({ ...failed, error: 'disk full', retryAtMs: 8000 });
    const open = [
      '1 callback:a.example',
      '2 callback:a.example',
      '2 folder',
      '3 callback:a.example',
      '3 folder',
      '1 folder',
    ];
    expect(read({ status: 'open' })).toEqual(open);
    expect(read({ status: 'open', sink: 'folder' })).toEqual(['2 folder', '3 folder', '1 folder']);
    expect(outbox.store.read.deliveries({ status: 'open' }, { limit: 9 }).rows.at(-1)).toEqual({
      requestId,
      source: 'shop1',
      orderId: '1',
      file: null,
      sink: 'folder',
      tries: 1,
      lastError: 'disk full',
      dueAt: '1970-01-01T00:00:08.000Z',
      givenUpAt: null,
    });
    await outbox.store.results.closeDelivery({ ...failed, nowMs: 9000 });
    expect(read({ status: 'open' })).toEqual(open.slice(0, -1));
  });

  it('has those that were given up, until somebody acknowledged them', async () => {
    for (const orderId of ['1', '2', '3']) await settle(orderId, fulfilled, 1000 * Number(orderId));
    for (const sink of sinks)
      for (const { requestId, version } of await outbox.store.results.dueDeliveries(sink, 9000, 10))
        await outbox.store.results.giveUpDelivery({
          requestId,
          sink,
          version,
          reason: 'http_503',
          error: 'gone',
          nowMs: 10_000,
        });
    const all = [
      '3 folder',
      '3 callback:a.example',
      '2 folder',
      '2 callback:a.example',
      '1 folder',
      '1 callback:a.example',
    ];
    expect(read({ status: 'given_up' })).toEqual(all);
    expect(read({ status: 'given_up', sink: 'folder' })).toEqual([
      '3 folder',
      '2 folder',
      '1 folder',
    ]);
    expect(read({ status: 'open' })).toEqual([]);
    expect(outbox.store.read.deliveries({ status: 'given_up' }, { limit: 1 }).rows).toMatchObject([
      { lastError: 'gone', dueAt: null, givenUpAt: '1970-01-01T00:00:10.000Z' },
    ]);
    const ids = ['delivery:3:folder'];
    await outbox.store.operator.acknowledge({
      which: { ids },
      actor: 'cli:anna',
      reason: 'seen',
      nowMs: 11_000,
    });
    expect(read({ status: 'given_up' })).toEqual(all.slice(1));
  });
});
