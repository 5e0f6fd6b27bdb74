import { stepsOf } from '../../test/support/steps.ts';
import { join } from 'node:path';
import { pino } from 'pino';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { usualTries } from '../../src/buying/decision/settlement.ts';
import { SystemClock, systemRandom } from '../../src/ops/system-clock.ts';
import type { ResultSink } from '../../src/store/sqlite/outbox.ts';
import { openStore } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import { AccountCheck } from '../../src/buying/proofs/account-check.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { LookupCheck } from '../../src/buying/proofs/lookup-check.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import { createWholesaleClient } from '../../src/wholesale/client.ts';

/**
 * The submission of the worker in this process: store, budget, dispatcher and API client, without
 * intake and results.
 */
interface SubmissionInProcess {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  close(): Promise<void>;
}

export async function openSubmission(options: {
  folder: string;
  url: string;
  keyValue: string;
  onSettled: () => void;
  concurrency?: number;
  sinks?: readonly ResultSink[];
}): Promise<SubmissionInProcess> {
  const clock = new SystemClock();
  const store = openStore({
    path: join(options.folder, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'bench', prefix: 'os', secret: Buffer.alloc(32, 5) },
    upstream: 'sandbox',
    sinks: options.sinks ?? [{ name: 'folder', sources: null }],
  });
  const wholesale = createWholesaleClient({ baseUrl: options.url, clock });
  // Limits that are never reached: the bench measures everything except waiting for the budget.
  const limits = { windowMs: 100, requests: 300_000, orders: 100_000, transitMs: 100 };
  const dispatcher = new Dispatcher(
    {
      store,
      steps: stepsOf(store),
      wholesale,
      gate: new BudgetGate(['main'], limits, clock),
      lookups: new LookupCheck(stepsOf(store)),
      accounts: new AccountCheck(),
      pauses: new Pauses({
        store,
        clock,
        random: systemRandom,
        retryTimeScale: 1,
        logger: pino({ level: 'silent' }),
      }),
      clock,
      random: systemRandom,
      logger: pino({ level: 'silent' }),
      limits,
      policy: {
        inFlightWindowMs: 120_000,
        referenceExpiryMs: 86_400_000,
        placedDeadlineMs: 86_400_000,
        cancelTries: 3,
        ...usualTries,
        retryTimeScale: 1,
      },
      onSettled: options.onSettled,
      keyValue: () => options.keyValue,
    },
    {
      concurrency: options.concurrency ?? 8,
      maxUnknownOutcomes: options.concurrency ?? 8,
      graceMs: 500,
    },
  );
  return {
    store,
    dispatcher,
    async close() {
      await dispatcher.stop();
      await wholesale.close();
      await store.close();
    },
  };
}

export function giftCardLine(orderId: string): AcceptableLine & { readonly lineNumber: null } {
  return {
    source: 'shop',
    orderId,
    lineId: '1',
    operation: 'gift_card_order',
    variant: 'steam-usd-5',
    plan: null,
    iccid: null,
    quantity: 1,
    days: null,
    currency: 'USD',
    notAfterMs: null,
    metadata: {},
    extra: {},
    lineNumber: null,
  };
}
