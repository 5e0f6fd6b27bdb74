import { assert } from '../../src/core/order-sync-error.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import type { Store } from '../../src/store/store.ts';
import { openOutbox, line } from '../cli/sample-outbox.ts';
import { nowMs, type Installation } from '../cli/installation.ts';
import { usualClaim } from './outbox.ts';
import { stepsOf } from './steps.ts';

const minute = 60_000;
const hour = 60 * minute;
/** Orders in each of the last 24 hours: quiet at night. */
const perHour = [
  9, 7, 4, 3, 2, 2, 3, 5, 8, 11, 13, 12, 14, 15, 13, 16, 18, 17, 19, 16, 14, 12, 15, 9,
];
const products = ['steam-usd-20', 'psn-eur-25', 'steam-usd-10', 'xbox-usd-25', 'es-5gb-30d'];
const prices = ['18.90', '24.10', '9.45', '23.80', '9.50'];

/** Claims the next entry at this time, and closes its call after so many ms. */
async function settle(
  store: Store,
  atMs: number,
  tookMs: number,
  end: Partial<Settlement> & Pick<Settlement, 'state' | 'row'>,
  http: number | null,
): Promise<void> {
  const open = await stepsOf(store).openAttempt({
    ...usualClaim,
    nowMs: atMs,
    latestMs: atMs,
    steadyMs: atMs,
  });
  assert(open !== null, 'an entry is due');
  const closedMs = atMs + tookMs;
  await stepsOf(store).closeAttempt({
    attemptId: open.attemptId,
    entryId: open.entry.id,
    nowMs: closedMs,
    steadyMs: closedMs,
    durationMs: tookMs,
    outcome: {
      row: end.row,
      sent: true,
      http,
      code: end.error?.code ?? null,
      message: end.error?.message ?? '',
    },
    settlement: {
      nextStep: 'send',
      dueAtMs: closedMs,
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
      askedAfterLoss: null,
      absences: 0,
      tries: 0,
      counted: true,
      error: null,
      reviewReason: null,
      answer: null,
      pause: null,
      replacements: [],
      ...end,
    },
    pause: null,
    slotsSettledMs: closedMs,
  });
}

let number = 1000;
const nextId = (): string => String((number += 1));

const buy = (orderId: string, product: string, currency = 'USD') =>
  line(orderId, '1', {
    source: Number(orderId) % 3 === 0 ? 'marketplace' : 'main',
    ...(product.startsWith('es-')
      ? { operation: 'esim_order', plan: product, quantity: 1 }
      : { variant: product, quantity: 1 + (Number(orderId) % 2) }),
    currency,
    metadata: { email: `${'abcdefgh'.charAt(Number(orderId) % 8)}nna@example.com` },
  });

const bought = (index: number, orderId: string) => ({
  state: 'fulfilled' as const,
  row: 'accepted' as const,
  answer: {
    orderNumber: `44${orderId}`,
    reference: null,
    status: 'completed',
    statusClass: 'done' as const,
    cost: prices[index % prices.length] ?? '1.00',
    currency: index % prices.length === 1 ? 'EUR' : 'USD',
    units:
      index % prices.length === 4
        ? [
            {
              iccid: `89014103211185${orderId}`,
              lpa: `LPA:1$smdp.example.com$K2-${orderId}`,
              apple_install_url: `https://esim.example.com/install?code=K2-${orderId}`,
            },
          ]
        : [{ code: `ABCD-${orderId}-7QPM`, serial: `55${orderId}` }],
  },
});

const refused = (code: string, message: string) => ({
  state: 'rejected' as const,
  row: 'invalid_variant' as const,
  error: { code, message, buffered: false },
});

/**
 * A day of two shops, and the trouble of its last half hour: a product that the supplier refuses, an
 * unknown one, lines with mistakes, a balance that is empty, and an API that does not answer.
 */
export async function fillBusyShop(place: Installation): Promise<void> {
  number = 1000;
  const store = openOutbox(place);
  const accept = (atMs: number, lines: ReturnType<typeof line>[]) =>
    store.intake.acceptBatch({ nowMs: atMs, fileId: null, lines, rejections: [] });
  for (const [index, count] of perHour.entries()) {
    const startMs = nowMs - 24 * hour + index * hour + 5 * minute;
    for (let at = 0; at < count; at += 1) {
      const orderId = nextId();
      const kind = (index + at) % products.length;
      const currency = kind === 1 ? 'EUR' : 'USD';
      const atMs = startMs + Math.round((at * 50 * minute) / count);
      await accept(atMs, [buy(orderId, products[kind] ?? '', currency)]);
      const isRefused = at % 9 === 7 && index > 8;
      const end = isRefused
        ? refused('out_of_stock', 'There is none left.')
        : bought(kind, orderId);
      await settle(
        store,
        atMs + 400 + ((at * 613) % 2900),
        300 + ((at * 97) % 800),
        end,
        isRefused ? 404 : 200,
      );
    }
  }
  await deliver(store);
  await troubles(store, accept);
  await store.close();
}

/** All results are delivered, but those of the last half hour: their disk is full. */
async function deliver({ results, read }: Store): Promise<void> {
  const sink = 'folder';
  const late = new Set(read.listOrders({ limit: 9 }).map(({ id }) => id));
  for (const { requestId, version } of await results.dueDeliveries(sink, nowMs * 2, 1000)) {
    const delivery = { requestId, sink, version };
    if (!late.has(requestId)) await results.closeDelivery({ ...delivery, nowMs: nowMs - hour });
    else {
      const error = 'ENOSPC: no space left on device, write';
      await results.failDelivery({ ...delivery, error, retryAtMs: nowMs + 40_000 });
    }
  }
  const pause = { sink, reason: 'ENOSPC', message: 'no space left on device, write' };
  await results.pauseSink({
    ...pause,
    probeAtMs: nowMs + 40_000,
    probes: 3,
    nowMs: nowMs - 8 * minute,
  });
}

async function troubles(
  store: Store,
  accept: (atMs: number, lines: ReturnType<typeof line>[]) => Promise<unknown>,
): Promise<void> {
  await store.operator.acknowledge({
    which: { kind: 'rejected' },
    actor: 'page:nina',
    reason: 'refunded in the shop',
    nowMs: nowMs - hour,
  });
  for (let at = 0; at < 7; at += 1) {
    const atMs = nowMs - 22 * minute + at * minute;
    const code = at < 5 ? 'order_refused' : 'invalid_variant';
    const product = at < 5 ? 'nintendo-eur-25' : 'nope-usd-1';
    await accept(atMs, [buy(nextId(), product, 'EUR')]);
    const why =
      at < 5 ? 'Product temporarily suspended by the publisher.' : 'There is no such product.';
    await settle(store, atMs + 900, 400, refused(code, why), 409);
  }
  const askedMs = nowMs - 14 * minute;
  await accept(askedMs, [buy(nextId(), 'es-5gb-30d')]);
  const review = {
    state: 'needs_review' as const,
    row: 'deadline' as const,
    outcomeUnknown: true,
    reviewReason: 'no lookup has found it, and its reference has expired',
  };
  await settle(store, askedMs + 500, 30_000, review, null);
  const rejection = {
    source: 'main',
    lineId: '1',
    code: 'invalid_field',
    field: 'quantity',
    rule: 'must be at least 1',
    value: '0',
  };
  const rejections = [1, 2].map((at) => ({ ...rejection, lineNumber: at, orderId: `90${at}` }));
  await store.intake.acceptBatch({
    nowMs: nowMs - 9 * minute,
    fileId: null,
    lines: [],
    rejections,
  });
  for (let at = 0; at < 38; at += 1) {
    const kind = at % products.length;
    await accept(nowMs - 3 * minute + at * 4000, [
      buy(nextId(), products[kind] ?? '', kind === 1 ? 'EUR' : 'USD'),
    ]);
  }
  const pause = { openedBy: 'worker' as const };
  await store.pauses.open({
    ...pause,
    scope: 'account',
    reason: 'api_unreachable',
    message: 'connect ECONNREFUSED 203.0.113.7:443',
    probeAtMs: nowMs + 17_000,
    nowMs: nowMs - 3 * minute,
  });
  await store.pauses.open({
    ...pause,
    scope: 'balance:EUR',
    reason: 'insufficient_balance',
    message: 'Three orders in a row were refused.',
    probeAtMs: nowMs + 5 * minute,
    nowMs: nowMs - 6 * minute,
  });
}
