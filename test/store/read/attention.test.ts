import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attentionReasons } from '../../../src/core/operator/attention.ts';
import { attentionCountsSql } from '../../../src/store/read/attention.ts';
import { views } from '../../../src/store/sqlite/schema.ts';
import { close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

/** The view compares with the clock of the machine that reads it. */
const agoMs = (ms: number): number => Date.now() - ms;
const anHour = 3_600_000;

const pause = (scope: string, sinceMs = agoMs(anHour), reason = 'order_absent') =>
  outbox.store.pauses.open({
    scope,
    reason,
    message: '3 entries in a row',
    openedBy: 'worker',
    probeAtMs: null,
    nowMs: sinceMs,
  });

const pausedInAttention = () =>
  outbox.store.read
    .attention(100)
    .flatMap(({ scope }) => scope ?? [])
    .toSorted((a, b) => a.localeCompare(b));

describe('the attention list', () => {
  it('has advice for each reason that the view gives, and for no other', () => {
    const sql = views().find(({ name }) => name === 'views/outbox_attention.sql')?.sql ?? '';
    const expressions = [
      ...sql.matchAll(
        /^(?:SELECT '\w+', |SELECT e\.state, | +)('\w+'|CASE (?:(?!CASE)[\s\S])+? END) AS reason,/gm,
      ),
    ];
    // Each part of the list gives one.
    expect(expressions).toHaveLength(sql.split('\nUNION ALL\n').length);
    const given = expressions.flatMap(([, expression = '']) =>
      expression.startsWith('CASE')
        ? [...expression.matchAll(/(?:THEN|ELSE) '(\w+)'/g)].map(([, reason]) => reason)
        : [expression.slice(1, -1)],
    );
    expect(new Set(given)).toEqual(new Set(Object.keys(attentionReasons)));
    // Sentences belong to the program.
    const texts = sql.replaceAll(/--.*$/gm, '').matchAll(/'([^']*)'/g);
    for (const [, text] of texts) expect(text).not.toMatch(/[a-z] [a-z]/);
  });

  it('shows a pause with its scope, reason and message', async () => {
    await outbox.accept([line({ variant: 'card' })]);
    const sinceMs = agoMs(anHour);
    await pause('variant:card', sinceMs);
    expect(outbox.store.read.attention(100)).toEqual([
      {
        kind: 'pause',
        id: 'pause:variant:card',
        reference: null,
        source: null,
        orderId: null,
        lineId: null,
        reason: 'paused',
        state: 'paused',
        code: 'order_absent',
        message: '3 entries in a row',
        since: new Date(sinceMs).toISOString(),
        scope: 'variant:card',
        holdsUp: 'orders of this product',
        whatToDo:
          'Read the answers of the API with `orders show`, ask the supplier or correct `wholesale.wire`, then `queue resume`.',
        canAcknowledge: false,
      },
    ]);
  });

  it('shows an entry whose outcome has been unknown for more than a quarter of an hour', async () => {
    await outbox.accept(
      [line({ orderId: 'old' }), line({ orderId: 'new', variant: 'b' })],
      null,
      agoMs(anHour),
    );
    for (const nowMs of [agoMs(16 * 60_000), agoMs(14 * 60_000)])
      await stepsOf(outbox.store).closeAttempt(
        close(await outbox.opened({ nowMs }), nothing, { nowMs }),
      );
    expect(outbox.store.read.attention(100)).toMatchObject([
      { kind: 'unknown', orderId: 'old', state: 'unknown', code: 'dropped' },
    ]);
    const listed = outbox.store.read.listOrders({ attention: true, limit: 10 });
    expect(listed.map(({ orderId }) => orderId)).toEqual(['old']);
  });

  it.each([
    // Their second probes end after up to 90 s.
    ['api_unreachable', 94, 96],
    ['api_disabled', 94, 96],
    ['manual', 59, 61],
  ])('shows a pause because of %s later than a short outage', async (reason, early, late) => {
    await outbox.accept([line({})]);
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
    await pause('family:esim', agoMs(early * 1000), reason);
    await pause('family:gift_card', agoMs(late * 1000), reason);
    // A clock that was set back later opened it.
    await pause('balance:USD', agoMs(-anHour), reason);
    expect(pausedInAttention()).toEqual(['balance:USD', 'family:gift_card']);
  });

  it.each([
    ['connector_unproven', 'connector_unproven'],
    ['invalid_key', 'key_denied'],
    ['ip_not_allowed', 'account_denied'],
    ['tls_refused', 'wrong_address'],
    ['redirect', 'wrong_address'],
    ['order_absent', 'paused'],
    // Nothing was bought yet, so nothing was interrupted.
    ['api_unreachable', 'api_unreachable'],
    ['api_disabled', 'api_unreachable'],
    ['insufficient_balance', 'balance_too_low'],
    ['answer_mismatch', 'paused'],
  ])('shows at once a pause that is no outage: %s', async (reason, expected) => {
    await pause('family:esim', Date.now(), reason);
    expect(outbox.store.read.attention(100)).toMatchObject([
      { scope: 'family:esim', reason: expected },
    ]);
  });

  it.each([
    ['ENOTDIR', 0],
    ['http_401', 0],
    ['http_503', 75_000],
    ['ECONNREFUSED', 75_000],
  ])(
    'shows a sink that takes nothing because of %s after %d ms, while something waits',
    async (reason, ms) => {
      const sink = 'folder';
      const pauseSince = async (sinceMs: number) => {
        await outbox.store.results.resumeSink(sink, false);
        const facts = {
          sink,
          reason,
          message: 'the receiver failed',
          probeAtMs: sinceMs,
          probes: 1,
        };
        await outbox.store.results.pauseSink({ ...facts, nowMs: sinceMs });
      };
      await pauseSince(agoMs(ms + 1000));
      expect(pausedInAttention()).toEqual([]);
      await outbox.accept([line({})]);
      await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
      expect(pausedInAttention()).toEqual([sink]);
      await pauseSince(agoMs(ms - 1000));
      expect(pausedInAttention()).toEqual(ms === 0 ? [sink] : []);
    },
  );

  it('shows the pause of a product only while something of it is to be sent', async () => {
    const plan = { operation: 'esim_order', variant: null, plan: 'es|7', days: 7 } as const;
    await outbox.accept([
      line({ orderId: '1', variant: 'unknown' }),
      line({ orderId: '2', variant: 'waits', currency: 'EUR' }),
      line({ orderId: '3', ...plan }),
    ]);
    await settleNext('unknown', { state: 'unknown', nextStep: 'send', dueAtMs: 9_000_000 });
    await settleNext('waits', {
      state: 'waiting',
      nextStep: 'send',
      outcomeUnknown: false,
      dueAtMs: 9_000_000,
    });
    for (const scope of [
      'variant:unknown',
      'variant:waits',
      'plan:es|7',
      'variant:7',
      'variant:gone',
      'plan:7',
    ])
      await pause(scope);
    for (const scope of ['account', 'key:main', 'family:esim', 'balance:JPY']) await pause(scope);
    expect(pausedInAttention()).toEqual([
      'account',
      'balance:JPY',
      'family:esim',
      'key:main',
      'plan:es|7',
      'variant:unknown',
      'variant:waits',
    ]);
  });
});

describe('the attention list, a page at a time', () => {
  it('has each row once and in its order, also while others come and go', async () => {
    const rejections = Array.from({ length: 40 }, (_, index) => ({
      lineNumber: 1,
      source: 'shop1',
      orderId: `order ${index}`,
      lineId: '1',
      code: 'invalid_field',
      field: 'quantity',
      rule: 'must be at least 1',
      value: '0',
    }));
    // Some of the same ms: then the id decides.
    const batches = [
      { nowMs: 1000, rejections: rejections.slice(0, 10) },
      { nowMs: 3000, rejections: rejections.slice(10, 30) },
      { nowMs: 2000, rejections: rejections.slice(30) },
    ];
    for (const batch of batches)
      await outbox.store.intake.acceptBatch({ fileId: null, lines: [], ...batch });
    await outbox.accept([line({ orderId: 'waits', variant: 'late' })], null, 1000);
    await settleNext('late', {
      state: 'waiting',
      nextStep: 'send',
      outcomeUnknown: false,
      dueAtMs: agoMs(-anHour),
    });
    const sinceMs = agoMs(anHour);
    for (const scope of ['account', 'balance:USD', 'key:main']) await pause(scope, sinceMs);
    const { read } = outbox.store;
    const whole = read.attention(1000).map(({ id }) => id);
    expect([whole.length, whole[0], whole.at(-1)?.slice(0, 3)]).toEqual([
      44,
      'pause:account',
      'os-',
    ]);
    for (const limit of [1, 7, 44, 100]) {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const { rows, next }: ReturnType<typeof read.attentionPage> = read.attentionPage(
          {},
          { limit, ...(after === undefined ? {} : { after }) },
        );
        seen.push(...rows.map(({ id }) => id));
        after = next ?? undefined;
      } while (after !== undefined && seen.length < 1000);
      expect(seen).toEqual(whole);
    }
    // The row at which a page ended is acknowledged, and a new one stands before: the next page
    // begins where it would have.
    const { rows, next } = read.attentionPage({}, { limit: 10 });
    const ids = [rows.at(-1)?.id ?? ''];
    await outbox.store.operator.acknowledge({
      which: { ids },
      actor: 'cli:anna',
      reason: 'seen',
      nowMs: Date.now(),
    });
    await pause('family:esim');
    const following = read
      .attentionPage({}, { limit: 5, after: next ?? '' })
      .rows.map(({ id }) => id);
    expect(following).toEqual(whole.slice(10, 15));
    expect(() => read.attentionPage({}, { limit: 5, after: 'nonsense' })).toThrow(
      'is not a position in this list',
    );
  });
});

describe('counting the attention list', () => {
  it('can end early, and then counts what matters most', async () => {
    const refused = {
      lineNumber: 1,
      source: 'shop1',
      code: 'invalid_field',
      field: 'quantity',
    } as const;
    const rule = { rule: 'must be at least 1', value: '0' };
    const rejections = ['1', '2', '3'].map((orderId) => ({
      ...refused,
      ...rule,
      orderId,
      lineId: '1',
    }));
    await outbox.store.intake.acceptBatch({ nowMs: 1000, fileId: null, lines: [], rejections });
    await pause('account');
    expect(outbox.store.read.attentionCounts({}, 2)).toEqual({ pause: 1, invalid_line: 1 });
    expect(outbox.store.read.attentionCounts()).toEqual({ pause: 1, invalid_line: 3 });
  });

  it('reads only what stands in it, each part by its own index, and joins nothing', () => {
    const database = new SqliteDatabase(outbox.path, { readonly: true });
    const plan = database.prepare<unknown[], { detail: string }>(
      `EXPLAIN QUERY PLAN ${attentionCountsSql('')}`,
    );
    const steps = plan.all({ atMost: -1 }).map((step) => step.detail);
    database.close();
    // `p`: of pauses there are a few.
    const tables = steps.flatMap(
      (step) => /^(?:SCAN|SEARCH) ([a-z]) (.*)/.exec(step)?.slice(1, 3).join(' ') ?? [],
    );
    expect(tables).toEqual([
      'e USING INDEX entries_attention',
      'e USING INDEX entries_unknown',
      'a USING INDEX sqlite_autoindex_attempts_1 (entry_id=?)',
      'a USING INDEX audit_by_subject (subject=?)',
      'm USING PRIMARY KEY (name>? AND name<?)',
      'm USING PRIMARY KEY (name>? AND name<?)',
      'b USING COVERING INDEX entries_bought',
      'd USING INDEX deliveries_due (sink=? AND due_steady<?)',
      'o USING COVERING INDEX storefront_orders_awaiting',
      'o USING INDEX storefront_orders_rechecks',
      'f USING INDEX files_attention',
      'd USING INDEX deliveries_given_up (given_up_at_ms>?)',
      'e USING INDEX entries_unbought (state=?)',
      'e USING INDEX entries_to_deliver',
      'e USING INDEX entries_shown_twice',
      'e USING INDEX entries_uncounted',
      'j USING INDEX rejections_attention',
      'n USING INDEX rejections_by_order (source=? AND order_id=? AND rowid>?)',
      'e USING INDEX entries_waiting_age (created_at_ms<?)',
    ]);
    expect(steps.filter((step) => /\b(?:lines|requests|l|r)\b/.test(step))).toEqual([]);
  });
});

async function settleNext(variant: string, settlement: Partial<typeof nothing>): Promise<void> {
  const attempt = await outbox.opened();
  expect(attempt.entry.variant).toBe(variant);
  await stepsOf(outbox.store).closeAttempt(
    close(attempt, { ...nothing, ...settlement }, { nowMs: 2000 }),
  );
}
