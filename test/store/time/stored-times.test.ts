import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { movedColumns } from '../../../src/store/time/stored-times.ts';
import { close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

const day = 86_400_000;

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

function read(sql: string): readonly Readonly<Record<string, unknown>>[] {
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  try {
    return database.prepare<[], Record<string, unknown>>(sql).all();
  } finally {
    database.close();
  }
}

/** Times that tell what happened, and times of others: they stay as they were written. */
const keptColumns = [
  'kept_answers.kept_at_ms',
  'attempts.closed_at_ms',
  'deliveries.acknowledged_at_ms',
  'entries.acknowledged_at_ms',
  'entries.shredded_at_ms',
  'files.acknowledged_at_ms',
  'rejections.acknowledged_at_ms',
  'audit.at_ms',
  'deliveries.done_at_ms',
  'deliveries.given_up_at_ms',
  // Except those that are looked up first after a loss.
  'entries.created_at_ms',
  'entries.last_sent_at_ms',
  'entries.settled_at_ms',
  'entries.updated_at_ms',
  'files.claimed_at_ms',
  'files.finished_at_ms',
  'incarnations.started_at_ms',
  'incarnations.stopped_at_ms',
  'lines.received_at_ms',
  'rejections.corrected_at_ms',
  'rejections.created_at_ms',
  'requests.received_at_ms',
  'requests.updated_at_ms',
  'storefront_skus.last_seen_at_ms',
  'variant_limits.learned_at_ms',
  'wholesale_keys.rate_limited_at_ms',
  'wholesale_keys.used_elsewhere_since_ms',
  // The deadline that the shop set is a time of the world, not of this machine.
  'entries.not_after_ms',
  'lines.not_after_ms',
  // A webhook tells it by the shop's clock; where it is ahead of the clock of this machine, the
  // order is read again.
  'storefront_orders.current_at_ms',
  // By the shop's clock.
  'storefront_orders.modified_ms',
  'storefront_orders.paid_ms',
  'storefronts.read_until_ms',
  // Lengths.
  'attempts.duration_ms',
  'wholesale_keys.throttle_length_ms',
];

describe('the stored times', () => {
  it('are each either moved with the clock or kept, for a reason that is written down', () => {
    const columns = read(
      `SELECT DISTINCT m.name || '.' || c.name AS name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
       WHERE m.type = 'table' AND c.name LIKE '%\\_ms' ESCAPE '\\'`,
    ).map(({ name }) => String(name));
    const moved = movedColumns.flatMap(({ table, columns: names }) =>
      names.map((name) => `${table}.${name}`),
    );
    expect([...new Set([...moved, ...keptColumns])].toSorted()).toEqual(columns.toSorted());
    expect(keptColumns.filter((name) => moved.includes(name))).toEqual([]);
  });

  it.each([-5 * day, 5 * day])(
    'of open entries, deliveries and pauses move by the step, here %i ms',
    async (stepMs) => {
      const { times } = outbox.store;
      const steps = stepsOf(outbox.store);
      const nowMs = 20 * day;
      await outbox.accept([line(), line({ orderId: '2' })], null, nowMs);
      const dueAtMs = nowMs + 30_000;
      const inFlightWindowEndMs = nowMs + 120_000;
      const unknown = { ...nothing, dueAtMs, inFlightWindowEndMs };
      await steps.closeAttempt(close(await outbox.opened({ nowMs }), unknown, { nowMs }));
      await steps.closeAttempt(close(await outbox.opened({ nowMs }), fulfilled, { nowMs }));
      const [due] = await outbox.store.results.dueDeliveries('folder', nowMs, 10);
      const failed = {
        requestId: due?.requestId ?? 0,
        sink: 'folder',
        version: due?.version ?? 0,
        error: 'disk full',
      };
      await outbox.store.results.failDelivery({ ...failed, retryAtMs: nowMs + 5000 });
      const pause = {
        scope: 'account',
        reason: 'api_disabled',
        message: 'maintenance',
        openedBy: 'worker',
        nowMs,
      };
      await outbox.store.pauses.open({ ...pause, probeAtMs: nowMs + 60_000 });

      await times.follow({ stepMs, nowMs: nowMs + stepMs });
      expect(
        read(
          "SELECT due_at_ms, first_sent_at_ms, in_flight_window_end_ms FROM entries WHERE state = 'unknown'",
        ),
      ).toEqual([
        {
          due_at_ms: dueAtMs + stepMs,
          first_sent_at_ms: nowMs + stepMs,
          in_flight_window_end_ms: inFlightWindowEndMs + stepMs,
        },
      ]);
      expect(await outbox.store.results.nextDeliveryAt('folder')).toBe(nowMs + 5000 + stepMs);
      expect(await outbox.store.pauses.all()).toMatchObject([
        { sinceMs: nowMs + stepMs, probeAtMs: nowMs + 60_000 + stepMs },
      ]);
      expect(await times.lastSeenMs()).toBe(nowMs + stepMs);
    },
  );

  it('of pending entries are never in the future, and keep their order', async () => {
    const nowMs = 20 * day;
    const times = [nowMs - 2 * day, nowMs - 1000, nowMs - 500, nowMs];
    for (const [index, atMs] of times.entries())
      await outbox.accept([line({ orderId: `o${index}` })], null, atMs);
    await outbox.store.times.follow({ stepMs: -day, nowMs: nowMs - day });
    await outbox.accept([line({ orderId: 'new' })], null, nowMs - day + 10);
    const claimed = [];
    for (;;) {
      const attempt = await stepsOf(outbox.store).openAttempt(
        outbox.claim({ nowMs: nowMs - day + 10 }),
      );
      if (attempt === null) break;
      claimed.push(
        read(`SELECT order_id AS id FROM outbox WHERE reference = '${attempt.entry.reference}'`),
      );
    }
    expect(claimed.flat().map(({ id }) => id)).toEqual(['o0', 'o1', 'o2', 'o3', 'new']);
  });

  it.each([-2 * day, 2 * day])(
    'of a loss move together: what is looked up first stays so, here %i ms',
    async (stepMs) => {
      const nowMs = 20 * day;
      const { operator, times, read: reader } = outbox.store;
      const steps = stepsOf(outbox.store);
      const claimAt = (atMs: number) => outbox.claim({ nowMs: atMs });
      await operator.beginAfterLoss({
        actor: 'test',
        reason: 'the disk was lost',
        nowMs,
        untilMs: nowMs + day,
      });
      await outbox.accept([line()], null, nowMs);
      const afterMs = nowMs + stepMs;
      await times.follow({ stepMs, nowMs: afterMs });
      await outbox.accept([line({ orderId: 'again' })], null, afterMs);
      expect(await steps.openAttempt(claimAt(afterMs))).toBeNull();
      expect(await steps.openAttempt(claimAt(afterMs))).toBeNull();
      expect(reader.counts().unknown).toBe(2);
      // The age of what a lost outbox may have sent is counted from here.
      expect(read('SELECT created_at_ms FROM entries ORDER BY id')[0]).toEqual({
        created_at_ms: nowMs + stepMs,
      });
      const other = { operation: 'esim_order', variant: null, plan: 'es-1gb' } as const;
      await outbox.accept([line({ orderId: 'later', ...other })], null, afterMs + day + 1);
      expect(await steps.openAttempt(claimAt(afterMs + day + 1))).not.toBeNull();
    },
  );

  it('are followed by the caller before any other code runs', async () => {
    const seen: string[] = [];
    const following = outbox.store.times.follow({
      stepMs: -day,
      nowMs: 0,
      onMoved: () => seen.push('moved'),
    });
    seen.push('other code');
    await following;
    expect(seen).toEqual(['moved', 'other code']);
  });
});
