import type { Operation, ReferencedPurchase } from '../../src/core/order/purchase.ts';
import type { Outcome } from '../../src/core/answers/outcome.ts';
import {
  createWholesaleClient,
  type WholesaleClient,
  type WholesaleClientOptions,
} from '../../src/wholesale/client.ts';

export const keyValue = 'wk_test_5f1d2c3b4a';
export const iccid = '8944000000000000006';

/** One purchase of each operation. */
export const facts: Readonly<Record<Operation, ReferencedPurchase>> = {
  gift_card_order: {
    operation: 'gift_card_order',
    reference: 'os-aaaa',
    variant: 'steam-10',
    plan: null,
    iccid: null,
    quantity: 2,
    days: null,
    currency: 'USD',
  },
  esim_order: {
    operation: 'esim_order',
    reference: 'os-bbbb',
    variant: null,
    plan: 'fr-daily',
    iccid: null,
    quantity: 1,
    days: 7,
    currency: 'EUR',
  },
  esim_topup: {
    operation: 'esim_topup',
    reference: 'os-cccc',
    variant: null,
    plan: 'fr-1gb',
    iccid,
    quantity: null,
    days: null,
    currency: 'USD',
  },
  esim_cancel: {
    operation: 'esim_cancel',
    reference: 'os-dddd',
    variant: null,
    plan: null,
    iccid,
    quantity: null,
    days: null,
    currency: null,
  },
};

/** For calls that must not time out, however busy the machine is. */
const patientTimeouts = { connectMs: 10_000, responseMs: 10_000, bodyMs: 10_000, totalMs: 30_000 };

/** For calls that must time out. */
export const quickTimeouts = { connectMs: 1000, responseMs: 400, bodyMs: 400, totalMs: 1500 };

export function clientOf(
  baseUrl: string,
  options: Partial<WholesaleClientOptions> = {},
): WholesaleClient {
  return createWholesaleClient({
    baseUrl,
    clock: { wallMs: () => 0 },
    timeouts: patientTimeouts,
    ...options,
  });
}

export async function submit(
  client: WholesaleClient,
  operation: Operation = 'gift_card_order',
  signal?: AbortSignal,
): Promise<Outcome> {
  const entry = facts[operation];
  const expect = { ...entry, reference: operation === 'esim_cancel' ? null : entry.reference };
  return client.submit({ ...client.render(entry), operation, keyValue, expect, signal });
}
