import { usualClaim } from '../support/outbox.ts';
import { stepsOf } from '../support/steps.ts';
import { join } from 'node:path';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { SealKey } from '../../src/core/sealing/seal-keys.ts';
import { assert } from '../../src/core/order-sync-error.ts';
import { readReferenceSecret } from '../../src/config/reference-secret.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import { openStore } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import { nowMs, type Installation } from './installation.ts';

export const startMs = nowMs - 3_600_000;

/** Opens the outbox of an installation for writing, as its worker would. */
export function openOutbox(
  installation: Installation,
  sealKeys: readonly SealKey[] = [],
  upstream = 'sandbox',
): Store {
  const { dataDir } = installation;
  return openStore({
    path: join(dataDir, 'order-sync.db'),
    init: 'if-missing',
    namespace: {
      instance: 'acme',
      prefix: 'os',
      secret: readReferenceSecret(join(dataDir, 'reference.secret'), true),
    },
    upstream,
    sinks: [{ name: 'folder', sources: null }],
    sealKeys,
  });
}

export const line = (orderId: string, lineId: string, rest: Partial<AcceptableLine>) => ({
  source: 'shop1',
  orderId,
  lineId,
  operation: 'gift_card_order' as const,
  variant: null,
  plan: null,
  iccid: null,
  quantity: null,
  days: null,
  currency: 'USD',
  notAfterMs: null,
  metadata: {},
  extra: {},
  lineNumber: null,
  ...rest,
});

/**
 * Three orders. 1001 was bought, but its second line was rejected and its third not accepted. The
 * outcome of 1002 is unknown after a timeout. 1003 was never sent. A balance is paused.
 */
export async function fillOutbox(
  installation: Installation,
  sealKeys: readonly SealKey[] = [],
  upstream?: string,
): Promise<void> {
  const store = openOutbox(installation, sealKeys, upstream);
  await store.intake.acceptBatch({
    nowMs: startMs,
    fileId: null,
    lines: [
      line('1001', '1', { variant: 'steam-10', quantity: 2 }),
      line('1001', '2', { variant: 'nope', quantity: 1 }),
    ],
    rejections: [
      {
        lineNumber: 4,
        source: 'shop1',
        orderId: '1001',
        lineId: '3',
        code: 'invalid_field',
        field: 'quantity',
        rule: 'must be at least 1',
        value: '0',
      },
    ],
  });
  await settleNext(store, 0, {
    state: 'fulfilled',
    row: 'accepted',
    answer: {
      orderNumber: 'W-1',
      reference: null,
      status: 'completed',
      statusClass: 'done',
      cost: '19.00',
      currency: 'USD',
      units: [{ code: 'GIFT-CODE-1' }, { code: 'GIFT-CODE-2' }],
    },
  });
  await settleNext(store, 1000, {
    state: 'rejected',
    row: 'invalid_variant',
    error: { code: 'invalid_variant', message: 'No such \u001b[31mproduct\nhere', buffered: false },
  });
  await store.intake.acceptBatch({
    nowMs: startMs + 2000,
    fileId: null,
    lines: [line('1002', '1', { operation: 'esim_order', plan: 'es-7', quantity: 1, days: 7 })],
    rejections: [],
  });
  await settleNext(store, 2000, {
    state: 'needs_review',
    row: 'deadline',
    outcomeUnknown: true,
    reviewReason: 'the reference has expired',
  });
  await store.intake.acceptBatch({
    nowMs: startMs + 3000,
    fileId: null,
    lines: [line('1003', '1', { variant: 'steam-10', quantity: 1 })],
    rejections: [],
  });
  await store.pauses.open({
    scope: 'balance:EUR',
    reason: 'insufficient_balance',
    message: 'Balance too low',
    openedBy: 'worker',
    probeAtMs: null,
    nowMs: startMs,
  });
  await store.close();
}

const statuses: Readonly<Record<string, number>> = { accepted: 200, invalid_variant: 404 };

/** Claims the next entry and settles it. */
export async function settleNext(
  store: Store,
  afterMs: number,
  end: Partial<Settlement> & Pick<Settlement, 'state' | 'row'>,
): Promise<void> {
  const openedMs = startMs + afterMs;
  const open: OpenAttempt | null = await stepsOf(store).openAttempt({
    ...usualClaim,
    nowMs: openedMs,
    latestMs: openedMs,
    steadyMs: afterMs,
  });
  assert(open !== null, 'an entry is due');
  await stepsOf(store).closeAttempt({
    attemptId: open.attemptId,
    entryId: open.entry.id,
    nowMs: openedMs + 250,
    steadyMs: afterMs + 250,
    durationMs: 250,
    outcome: {
      row: end.row,
      sent: true,
      http: statuses[end.row] ?? null,
      code: end.error?.code ?? null,
      message: end.error?.message ?? '',
    },
    settlement: {
      nextStep: 'send',
      dueAtMs: openedMs,
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
    slotsSettledMs: afterMs + 250,
  });
}

/**
 * A line of a shop is bought; then the shop has another line with the same SKU in its place, which
 * is held.
 */
export async function replaceBoughtLine(installation: Installation): Promise<void> {
  const store = openOutbox(installation);
  const take = (modifiedMs: number, lineId: string) => {
    const extra = { sku: 'CARD', shop_quantity: '1' };
    const buy = line('1001', lineId, { variant: 'steam-10', quantity: 1, extra });
    return store.storefronts.takeOrder({
      source: 'shop1',
      orderId: '1001',
      modifiedMs,
      state: 'paid',
      status: 'processing',
      refundCount: 0,
      refundUnclear: false,
      onRefund: 'review',
      actor: 'woocommerce:main',
      nowMs: startMs,
      lines: [{ lineId, sku: 'CARD', isMapped: true, remaining: 1, buy, hold: null }],
      unreadable: [],
    });
  };
  await take(1000, '1');
  await settleNext(store, 0, { state: 'fulfilled', row: 'accepted' });
  await take(2000, '2');
  await store.close();
}
