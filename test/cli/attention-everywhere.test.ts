import { stepsOf } from '../support/steps.ts';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { healthChecks } from '../../src/admin/health-checks.ts';
import { healthRoutes } from '../../src/admin/health-server.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import { spendSection } from '../../src/buying/spending/settings.ts';
import type { EntryAction } from '../../src/core/operator/operator-decision.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { AttentionKind } from '../../src/store/read/attention.ts';
import type { Store } from '../../src/store/store.ts';
import type { StorefrontLine } from '../../src/store/storefronts/storefront-order.ts';
import type { AttemptClaim, OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import { outOfStock, review } from '../support/operator.ts';
import {
  answer,
  close,
  emptyBalance,
  fulfilled,
  line as storedLine,
  nothing,
  rechecking,
  usualClaim,
} from '../support/outbox.ts';
import { knownInstallation, type Installation } from './installation.ts';
import { openOutbox } from './sample-outbox.ts';

/** The list compares with the clock of the machine that reads it. */
const agoMs = (ms: number): number => Date.now() - ms;
const anHour = 3_600_000;

const order = { source: 'shop1', orderId: '1001' } as const;
const line = (changes: Partial<AcceptableLine> = {}) => storedLine({ ...order, ...changes });

async function accept(
  store: Store,
  changes: Partial<AcceptableLine> = {},
  nowMs = agoMs(2 * anHour),
): Promise<string> {
  const [accepted] = await store.intake.acceptBatch({
    nowMs,
    fileId: null,
    lines: [line(changes)],
    rejections: [],
  });
  return accepted?.reference ?? '';
}

/** Claims what came in last, an hour ago. */
async function claimed(
  store: Store,
  changes: Partial<AttemptClaim> = {},
): Promise<OpenAttempt | null> {
  return await stepsOf(store).openAttempt({
    ...usualClaim,
    nowMs: agoMs(anHour),
    latestMs: agoMs(anHour),
    steadyMs: 500,
    ...changes,
  });
}

/** Buys what came in last, and the answer is this. */
async function settled(
  store: Store,
  settlement: Partial<Settlement> & Pick<Settlement, 'state'>,
): Promise<string> {
  const reference = await accept(store);
  const attempt = await claimed(store);
  if (attempt === null) throw new Error('nothing was due');
  await stepsOf(store).closeAttempt(
    close(attempt, { ...nothing, ...settlement }, { nowMs: agoMs(anHour) }),
  );
  return reference;
}

const decide = (store: Store, reference: string, action: EntryAction) =>
  store.operator.actOnEntry({
    reference,
    order: action,
    actor: 'cli:anna',
    reason: 'the shop asked to wait',
    nowMs: agoMs(anHour),
    steadyMs: 0,
    referenceExpiryMs: 24 * anHour,
    lookupFamilies: ['gift_card', 'esim'],
  });

const invalid = { code: 'invalid_variant', message: 'No such product', buffered: false };

/** A line that a file brought and that was not accepted. */
async function refusedLine(store: Store): Promise<void> {
  await store.intake.files.begin({
    id: 'F1',
    name: 'orders.csv',
    folder: 'folder',
    sizeBytes: 10,
    nowMs: 1,
  });
  const rejection = {
    ...order,
    lineNumber: 2,
    lineId: '1',
    code: 'invalid_field',
    field: 'quantity',
  };
  const rejections = [{ ...rejection, rule: 'must be at least 1', value: '0' }];
  await store.intake.acceptBatch({ nowMs: agoMs(anHour), fileId: 'F1', lines: [], rejections });
}

async function refusedFile(store: Store): Promise<void> {
  const file = { id: 'F1', nowMs: agoMs(anHour) };
  await store.intake.files.begin({ ...file, name: 'orders.csv', folder: 'folder', sizeBytes: 10 });
  await store.intake.files.reject({
    ...file,
    sha256: null,
    code: 'not_utf8',
    message: 'is not UTF-8',
  });
}

const takeShopOrder = (
  store: Store,
  modifiedMs: number,
  lines: readonly StorefrontLine[] | null,
  state: 'paid' | 'on_hold' = 'paid',
) =>
  store.storefronts.takeOrder({
    ...order,
    modifiedMs,
    state,
    status: 'processing',
    refundCount: 0,
    refundUnclear: lines === null,
    onRefund: 'review',
    actor: 'woocommerce:main',
    nowMs: agoMs(2 * anHour),
    lines,
    unreadable: [],
  });
const shopLine = { lineId: '1', sku: 'CARD', isMapped: true, remaining: 1, buy: null, hold: null };
const unknownSku = {
  code: 'unknown_sku',
  field: null,
  rule: 'has the SKU "CARD", which is not in the map',
  value: null,
};

const paidLine = { ...shopLine, buy: line({ extra: { sku: 'CARD', shop_quantity: '1' } }) };

async function putOnHold(store: Store): Promise<void> {
  await takeShopOrder(store, 1000, [paidLine]);
  await takeShopOrder(store, 2000, [shopLine], 'on_hold');
}

/** Its balance did not suffice before. */
async function putOnHoldWaiting(store: Store): Promise<void> {
  await takeShopOrder(store, 1000, [paidLine]);
  await settled(store, emptyBalance);
  await takeShopOrder(store, 2000, [shopLine], 'on_hold');
}

async function waitForRecheck(store: Store): Promise<void> {
  await takeShopOrder(store, 1000, [paidLine]);
  const rechecks = { maxAgeMs: () => 60_000, onDelayed: () => undefined };
  expect(await claimed(store, rechecking(rechecks))).toBeNull();
}

async function refundedAfterPurchase(store: Store): Promise<void> {
  await takeShopOrder(store, 1000, [paidLine]);
  const bought = await settled(store, { ...fulfilled });
  expect(bought).not.toBe('');
  await takeShopOrder(store, 2000, [{ ...shopLine, remaining: 0 }]);
}

async function givenUp(store: Store): Promise<void> {
  await settled(store, { ...fulfilled });
  const [due] = await store.results.dueDeliveries('folder', Date.now(), 1);
  if (due === undefined) throw new Error('a result is due');
  const { requestId, version } = due;
  const error = 'the receiver answered 503';
  await store.results.giveUpDelivery({
    requestId,
    sink: 'folder',
    version,
    reason: 'http_503',
    error,
    nowMs: agoMs(anHour),
  });
}

const paused = (scope: string) => async (store: Store) => {
  await accept(store);
  const pause = {
    scope,
    reason: 'order_absent',
    message: '3 in a row',
    openedBy: 'worker',
    probeAtMs: null,
  };
  await store.pauses.open({ ...pause, nowMs: agoMs(anHour) });
};

interface Way {
  readonly name: string;
  readonly fail: (store: Store) => Promise<unknown>;
  readonly kind: AttentionKind;
  readonly code: string;
  /** A part of what the row says; absent: anything. */
  readonly message?: string;
  /** The state and the code of the line in its result; null: the result does not change by it. */
  readonly result: readonly [state: string, code: string | null] | null;
  /**
   * What is said to who acknowledges it although it needs a decision; null: it can be acknowledged.
   */
  readonly refusal: string | null;
}

const ways: readonly Way[] = [
  {
    name: 'rejected by the API',
    fail: (store) => settled(store, { ...outOfStock, state: 'rejected', error: invalid }),
    kind: 'rejected',
    code: 'invalid_variant',
    result: ['rejected', 'invalid_variant'],
    refusal: null,
  },
  {
    name: 'expired before it was bought',
    fail: async (store) => {
      await accept(store, { notAfterMs: 1500 });
      await stepsOf(store).expireOverdue(agoMs(anHour), 5);
    },
    kind: 'expired',
    code: 'not_after_passed',
    result: ['expired', 'not_after_passed'],
    refusal: null,
  },
  {
    name: 'delivered, and shown for another order, too',
    fail: async (store) => {
      await settled(store, { ...fulfilled, answer: { ...answer, orderNumber: 'GC-9' } });
      await accept(store, { orderId: '1002' });
      const attempt = await claimed(store);
      if (attempt === null) throw new Error('nothing was due');
      await stepsOf(store).closeAttempt(
        close(attempt, { ...fulfilled, answer: { ...answer, orderNumber: 'GC-9' } }),
      );
      await decide(store, attempt.entry.reference, {
        action: 'resolve',
        as: 'refunded',
        orderNumber: null,
        note: 'as the supplier says',
      });
    },
    kind: 'shown_twice',
    code: 'shown_twice',
    message: 'one of the two orders shows what the other bought, and this one was delivered',
    result: null,
    refusal: null,
  },
  {
    name: 'delivered, and its cost cannot be read',
    fail: async (store) => {
      const shown = { ...answer, cost: null, uncountedCost: '10,10' };
      await settled(store, { ...fulfilled, answer: shown });
    },
    kind: 'uncounted_cost',
    code: 'uncounted_cost',
    message: 'the cost of the order is not a plain amount: 10,10',
    result: null,
    refusal: null,
  },
  {
    name: 'bought as an operator found, and nobody has its units',
    fail: async (store) => {
      const reference = await settled(store, review({ outcomeUnknown: true, row: 'dropped' }));
      await decide(store, reference, {
        action: 'resolve',
        as: 'fulfilled',
        orderNumber: 'GC-77',
        note: null,
        units: [],
      });
    },
    kind: 'needs_manual_delivery',
    code: 'needs_manual_delivery',
    message:
      'cli:anna found that the line was bought, as order GC-77, but 1 of 1 unit is not in the outbox',
    result: ['needs_manual_delivery', null],
    refusal: null,
  },
  {
    name: 'an answer that made no sense',
    fail: (store) => settled(store, review({ row: 'answer_mismatch' })),
    kind: 'needs_review',
    code: 'dropped',
    result: ['needs_review', 'dropped'],
    refusal: 'what can be done: retry, resolve',
  },
  {
    name: 'held by an operator',
    fail: async (store) => decide(store, await accept(store), { action: 'hold' }),
    kind: 'held',
    code: 'held',
    result: ['held', 'held'],
    refusal: 'what can be done: release, cancel',
  },
  {
    name: 'an order that its shop put on hold before it was bought',
    fail: putOnHold,
    kind: 'held',
    code: 'held',
    result: ['held', 'held'],
    refusal: 'what can be done: release, cancel',
  },
  {
    name: 'an order that its shop put on hold while it waited for balance',
    fail: putOnHoldWaiting,
    kind: 'held',
    code: 'held',
    message: 'the storefront\'s order is "processing", not paid',
    result: ['held', 'held'],
    refusal: 'what can be done: release, cancel',
  },
  {
    name: 'an outcome that stays unknown',
    fail: (store) => settled(store, nothing),
    kind: 'unknown',
    code: 'dropped',
    result: ['unknown', 'dropped'],
    refusal: 'what can be done: retry, hold',
  },
  {
    name: 'out of stock for an hour',
    fail: (store) => settled(store, outOfStock),
    kind: 'waiting',
    code: 'out_of_stock',
    result: ['waiting', 'out_of_stock'],
    refusal: 'what can be done: retry, hold, cancel',
  },
  {
    name: 'a refused line of a file',
    fail: refusedLine,
    kind: 'invalid_line',
    code: 'invalid_field',
    result: ['rejected', 'invalid_field'],
    refusal: null,
  },
  {
    name: 'a known line with other content',
    fail: async (store) => {
      await accept(store);
      await accept(store, { quantity: 5 }, agoMs(anHour));
    },
    kind: 'invalid_line',
    code: 'conflict',
    result: null,
    refusal: null,
  },
  {
    name: 'a refused file',
    fail: refusedFile,
    kind: 'invalid_file',
    code: 'not_utf8',
    result: null,
    refusal: null,
  },
  {
    name: 'a SKU of a shop that the map does not know',
    fail: (store) => takeShopOrder(store, 1000, [{ ...shopLine, hold: unknownSku }]),
    kind: 'storefront',
    code: 'unknown_sku',
    result: ['rejected', 'unknown_sku'],
    refusal: null,
  },
  {
    name: 'a refund of what was bought',
    fail: refundedAfterPurchase,
    kind: 'storefront',
    code: 'refunded_in_storefront',
    result: null,
    refusal: null,
  },
  {
    name: "a shop's order that waits to be read back",
    fail: (store) => takeShopOrder(store, 1000, null),
    kind: 'storefront',
    code: 'awaits_read_back',
    result: null,
    refusal: '`reconcile`',
  },
  {
    name: "a shop's order that could not be read again before it is bought",
    fail: waitForRecheck,
    kind: 'storefront',
    code: 'awaits_recheck',
    result: null,
    refusal: '`orders cancel`',
  },
  {
    name: 'deliveries of a shop about orders that have none',
    fail: async (store) => {
      const rule =
        'recreate the webhook as a user with permission to view orders: the delivery order.updated has an error';
      const flag = { source: 'shop1', code: 'unusable_rest_error', rule, nowMs: agoMs(anHour) };
      await store.storefronts.flagShop(flag);
      await store.storefronts.flagShop(flag);
    },
    kind: 'storefront',
    code: 'unusable_rest_error',
    message:
      'as a user with permission to view orders: the delivery order.updated has an error (2 times)',
    result: null,
    refusal: null,
  },
  {
    name: 'a result that was given up',
    fail: givenUp,
    kind: 'delivery',
    code: 'given_up',
    result: null,
    refusal: null,
  },
  {
    name: 'a lookup that does not find what was bought',
    fail: async (store) => {
      const missed = { kind: 'gift_card', path: '/orders/{key}', reference: 'os-1' } as const;
      const at = new Date(agoMs(anHour)).toISOString();
      await stepsOf(store).lookups.miss({ ...missed, at });
    },
    kind: 'lookup',
    code: 'lookup_unproven',
    message: 'at /orders/{key} does not find the order os-1, which was bought',
    result: null,
    refusal: 'wholesale.wire.lookup',
  },
  {
    name: 'a balance that is running low',
    fail: async (store) => {
      const who = { actor: 'cli:ann', reason: 'the supplier shows it' };
      const balance = { currency: 'USD', millionths: 90_000_000 };
      await store.operator.setBalance({ ...who, ...balance, nowMs: agoMs(anHour) });
      const spending = spendSection.parse({ balance_alerts: ['100.00 USD'] });
      await stepsOf(store).watchMoney(spending, agoMs(anHour));
    },
    kind: 'money',
    code: 'nearly_spent',
    message: 'about 90 USD are left',
    result: null,
    refusal: '`balance set`',
  },
  {
    name: 'an older copy of the database',
    fail: (store) =>
      store.operator.beginAfterLoss({
        actor: 'worker',
        reason: 'this is an older copy of the outbox',
        nowMs: agoMs(anHour),
        untilMs: agoMs(-24 * anHour),
      }),
    kind: 'older_copy',
    code: 'older_copy',
    result: null,
    refusal: 'send them again',
  },
  {
    name: 'a key that somebody else uses, too',
    fail: async (store) => {
      const keys = [{ name: 'main', value: 'sandbox-key-main' }];
      await store.adoptKeys({ keys, nowMs: agoMs(anHour), whileRunning: false });
      const times = {
        keyName: 'main',
        blockedUntilMs: 1,
        throttledUntilMs: 1,
        throttleLengthMs: 1,
      };
      const surprise = { forMs: anHour / 2, isUnexplained: true };
      await stepsOf(store).budget.recordBackOff({ ...times, surprise }, agoMs(anHour));
    },
    kind: 'key_used_elsewhere',
    code: 'key_used_elsewhere',
    message: 'answers 429 to key:main although',
    result: null,
    refusal: 'Stop the other worker',
  },
  ...['account', 'key:main', 'balance:USD', 'family:gift_card', 'variant:steam-10'].map(
    (scope): Way => ({
      name: `a pause of ${scope}`,
      fail: paused(scope),
      kind: 'pause',
      code: 'order_absent',
      result: null,
      refusal: '`queue resume`',
    }),
  ),
];

interface Row extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly order_id: string | null;
  readonly can_acknowledge: boolean;
}

/** What each place says, in the same form. */
async function everywhere(place: Installation) {
  const json = async (...argv: string[]) => JSON.parse((await place.run(...argv, '--json')).stdout);
  const status: { attention: Row[]; attention_counts: unknown } = await json('queue', 'status');
  const list: { attention: Row[]; orders: { order_id: string }[] } = await json(
    'orders',
    'list',
    '--attention',
  );
  const database = new SqliteDatabase(join(place.dataDir, 'order-sync.db'), { readonly: true });
  const stored = database
    .prepare<[], Record<string, unknown>>('SELECT * FROM outbox_attention')
    .all();
  database.close();
  return {
    status: status.attention,
    list: list.attention,
    view: stored.map((row) => ({ ...row, can_acknowledge: row['can_acknowledge'] === 1 })),
    counts: status.attention_counts,
    orders: list.orders.map((row) => row.order_id),
    ...(await inWorker(place)),
  };
}

/** What the worker would answer, over the same routes. */
async function inWorker(place: Installation) {
  const store = openOutbox(place);
  const checks = healthChecks(
    {
      store,
      disk: { hasSpace: async () => true },
      progress: { health: () => 'pass' },
      folders: [],
      webhook: null,
      submission: { apiClock: { read: () => ({ verdict: 'unknown', aheadMs: null }) } },
    },
    null,
    { isSandbox: true, clock: { steadyMs: () => 0 } },
  );
  const routes = healthRoutes({ checks, draining: () => false, version: '0' });
  const health: { checks: Record<string, string>; details?: Record<string, unknown> } = JSON.parse(
    await (await routes.request('/healthz')).text(),
  );
  const found = store.read.findOrder(order.source, order.orderId);
  const lines = found === null ? [] : store.read.resultDocument(found.requestId).document.lines;
  await store.close();
  return {
    health: [health.checks['attention'], health.details?.['attention'] ?? {}],
    result: lines.map(({ state, error, entries }) => [
      state,
      (error ?? entries.at(-1)?.error ?? null)?.code ?? null,
    ]),
  };
}

const sentences = new Set(['message', 'evidence', 'holds_up', 'what_to_do']);

function withoutSentences(
  row: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !sentences.has(name)));
}

/** Lets an order fail, and finds the same in every place. */
async function failed(way: Way) {
  const place = knownInstallation();
  const store = openOutbox(place);
  await way.fail(store);
  await store.close();

  const said = await everywhere(place);
  expect(said.status).toMatchObject([
    { kind: way.kind, code: way.code, can_acknowledge: way.refusal === null },
  ]);
  const [row] = said.status;
  if (row === undefined) throw new Error('it stands there');
  expect(row['message']).toContain(way.message ?? '');
  for (const text of ['message', 'since', 'holds_up', 'what_to_do'])
    expect(row[text]).toMatch(/\S{3}/);
  expect(said.list).toEqual(said.status);
  // The view has the facts, from which the program makes the sentences.
  expect(said.view.map(withoutSentences)).toEqual(said.status.map(withoutSentences));
  for (const sentence of ['what_to_do', 'holds_up'])
    expect(said.view[0]).not.toHaveProperty(sentence);
  expect(said.counts).toEqual({ [way.kind]: 1 });
  expect(said.health).toEqual(['warn', said.counts]);
  // Of an order that is not read back yet, no line is known.
  const isOrder = row.order_id !== null && way.code !== 'awaits_read_back';
  expect(said.orders).toEqual(isOrder ? [row.order_id] : []);
  expect(said.result).toEqual(way.result === null ? said.result : [way.result]);
  const ack = () => place.run('orders', 'ack', row.id, '--reason', 'seen by Anna');
  return { said, ack, again: () => everywhere(place) };
}

describe('each way in which an order can fail', () => {
  it.each(ways.filter(({ refusal }) => refusal === null))(
    'stands in every list alike, and leaves all of them at once: $name',
    async (way) => {
      const { said, ack, again } = await failed(way);
      expect(await ack()).toEqual({ code: 0, stdout: '1 of 1 are acknowledged\n', stderr: '' });
      const empty = {
        status: [],
        list: [],
        view: [],
        counts: {},
        orders: [],
        health: ['pass', {}],
      };
      expect(await again()).toEqual({ ...said, ...empty });
    },
  );

  it.each(ways.filter(({ refusal }) => refusal !== null))(
    'stands in every list alike, until somebody decides: $name',
    async (way) => {
      const { said, ack, again } = await failed(way);
      const { code, stderr } = await ack();
      expect([code, stderr]).toEqual([5, expect.stringContaining(way.refusal ?? '')]);
      expect(await again()).toEqual(said);
    },
  );

  it('has a way for each kind of row', () => {
    const kinds: Record<AttentionKind, true> = {
      needs_review: true,
      held: true,
      unknown: true,
      waiting: true,
      rejected: true,
      expired: true,
      needs_manual_delivery: true,
      shown_twice: true,
      uncounted_cost: true,
      invalid_line: true,
      storefront: true,
      invalid_file: true,
      delivery: true,
      lookup: true,
      money: true,
      older_copy: true,
      key_used_elsewhere: true,
      pause: true,
    };
    expect(new Set(ways.map(({ kind }) => kind))).toEqual(new Set(Object.keys(kinds)));
  });
});
