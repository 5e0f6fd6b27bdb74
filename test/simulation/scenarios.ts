import type { LineState } from '../../src/core/result/result-document.ts';
import { plainReadings } from './api-readings.ts';
import { noFault, type CallFault } from './call-faults.ts';
import type { Product, Span } from './sim-account.ts';
import { plainIntake, type ShopOrderPlan } from './intake-plan.ts';
import { noReceiverTroubles, type ShopSinkPlan } from './sinks-plan.ts';
import {
  cancelLine,
  esimLine,
  plainLine,
  plainAccount,
  plainProduct,
  plainPlan,
  topupLine,
  type RunPlan,
} from './run-plan.ts';
import { wallStartMs } from './virtual-time.ts';
import { usualSettings } from './sim-worker.ts';

/** A run that is crashed at each of its port calls, and the correct end states of its lines. */
export interface Scenario {
  readonly plan: RunPlan;
  /**
   * The end states that each line can have, by order and line, and by the source where that is not
   * `shop`.
   */
  readonly ends: Readonly<Record<string, readonly LineState[]>>;
  /** Whether it is crashed a second time, at each port call of the recovery. */
  readonly twice?: boolean;
}

const iccid = '8944000000000000001';
const shopLine = { ...plainLine, source: 'woocommerce', orderId: '1001', lineId: '11' };
const from = (untilMs: number): Span => ({ fromMs: 0, untilMs });

/** The first call of a path gets the fault; the others get none. */
function onlyFirst(callFault: CallFault, path: RegExp): RunPlan['script'] {
  let used = false;
  return (call, number) => {
    if (number === 1) used = false;
    if (used || !path.test(call.path)) return noFault;
    used = true;
    return callFault;
  };
}

function plan(name: string, changes: Partial<RunPlan>): RunPlan {
  return {
    ...plainPlan,
    name,
    seed: 7,
    batches: [{ atMs: 10, lines: [plainLine], againAtMs: [] }],
    ...changes,
  };
}

const withProduct = (product: Partial<Product>): RunPlan['account'] => ({
  ...plainAccount,
  products: new Map([
    ['card', { ...plainProduct, ...product }],
    ['plan', plainProduct],
  ]),
});

const followedBy = (
  operation: 'esim_cancel' | 'esim_topup',
  changes: Partial<RunPlan>,
): Partial<RunPlan> => ({
  batches: [{ atMs: 10, lines: [{ ...plainLine, ...esimLine }], againAtMs: [] }],
  replacements: [{ orderId: 'o1', afterMs: 10, operation }],
  account: {
    ...plainAccount,
    products: new Map([...plainAccount.products, ['plan1', plainProduct]]),
  },
  ...changes,
});

/** An order of a shop, into which its result is written. */
function orderOf(platform: ShopOrderPlan['platform'], lineIds: readonly string[]): ShopOrderPlan {
  const lines = lineIds.map((lineId) => {
    return { ...shopLine, source: platform, lineId, extra: { sku: 'CARD', shop_quantity: '1' } };
  });
  return {
    platform,
    lines,
    atMs: 10,
    paidAfterMs: 0,
    change: null,
    delaysMs: [],
    copies: 1,
    isOursOnly: true,
  };
}

const sinkOf = (order: ShopOrderPlan) => ({
  orders: [order],
  edits: [],
  troubles: noReceiverTroubles,
});
const wooSink = (order: ShopOrderPlan): ShopSinkPlan => ({
  ...sinkOf(order),
  platform: 'woocommerce',
  options: { status: 'completed', deliverCodes: 'note', lineMeta: false },
});
const shopifySink = (order: ShopOrderPlan): ShopSinkPlan => ({
  ...sinkOf(order),
  platform: 'shopify',
  options: { fulfil: true, notifyCustomer: false, deliverCodes: 'meta' },
});
const ofWooCommerce = orderOf('woocommerce', ['11']);
const ofShopify = orderOf('shopify', ['21', '22']);

/**
 * A refusal after a crash during the first call of an installation. No lookup has found an order
 * yet, so a lookup that finds none proves nothing, and the line needs review.
 */
const refusedAfterUnknownOutcome: readonly LineState[] = ['fulfilled', 'needs_review'];

export const scenarios: readonly Scenario[] = [
  { plan: plan('gift card order', {}), ends: { 'o1/1': ['fulfilled'] }, twice: true },
  {
    plan: plan('eSIM order', {
      batches: [
        { atMs: 10, lines: [{ ...plainLine, ...esimLine, quantity: 2 }], againAtMs: [30_000] },
      ],
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan('top-up', {
      oldEsims: [iccid],
      batches: [{ atMs: 10, lines: [{ ...plainLine, ...topupLine, iccid }], againAtMs: [] }],
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan('cancel of an eSIM bought here', followedBy('esim_cancel', {})),
    ends: { 'o1/1': ['fulfilled', 'refunded'], 'f1-o1/1': ['fulfilled'] },
    twice: true,
  },
  {
    plan: plan('cancel of an eSIM of unknown origin', {
      oldEsims: [iccid],
      batches: [{ atMs: 10, lines: [{ ...plainLine, ...cancelLine, iccid }], againAtMs: [] }],
    }),
    // If its answer is lost, its outcome stays unknown.
    ends: { 'o1/1': ['fulfilled', 'needs_review'] },
  },
  {
    plan: plan('lost answer, then recovery', {
      script: onlyFirst({ kind: 'lost_answer', end: 'reset' }, /^\/orders$/),
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan('late commit behind a timeout', {
      script: onlyFirst({ kind: 'slow', processMs: 90_000 }, /^\/orders$/),
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan('429', {
      script: onlyFirst(
        {
          kind: 'replaced',
          processed: false,
          answer: { status: 429, headers: { 'retry-after': '20' }, body: '' },
        },
        /^\/orders$/,
      ),
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan('402, held until the deposit', {
      account: { ...plainAccount, balances: { USD: 0 }, depositAtMs: 100_000 },
    }),
    ends: { 'o1/1': refusedAfterUnknownOutcome },
  },
  {
    plan: plan('402, charged to the other balance', {
      account: {
        ...plainAccount,
        balances: { USD: 0, EUR: 100_000 },
        depositAtMs: Number.POSITIVE_INFINITY,
      },
      batches: [
        { atMs: 10, lines: [{ ...plainLine, rules: { fallback_currency: 'EUR' } }], againAtMs: [] },
      ],
    }),
    ends: { 'o1/1': refusedAfterUnknownOutcome },
  },
  {
    plan: plan('limit exceeded, split', {
      account: withProduct({ limit: 2 }),
      batches: [
        { atMs: 10, lines: [{ ...plainLine, quantity: 5, rules: { split: true } }], againAtMs: [] },
      ],
    }),
    ends: { 'o1/1': refusedAfterUnknownOutcome },
  },
  {
    plan: plan('fewer in stock, ordered in parts', {
      account: withProduct({ stock: { units: 3, untilMs: Number.POSITIVE_INFINITY } }),
      batches: [
        {
          atMs: 10,
          lines: [{ ...plainLine, quantity: 5, rules: { partial: true } }],
          againAtMs: [],
        },
      ],
    }),
    ends: { 'o1/1': ['partial', 'needs_review'] },
  },
  {
    plan: plan('lost after another balance was charged, then looked up', {
      // After the first order the balance is too low for the second one; after the loss it is high
      // enough.
      account: { ...plainAccount, balances: { USD: 500, EUR: 100_000 }, depositAtMs: 100_000 },
      batches: ['1', '2'].map((digit) => ({
        atMs: Number(digit) * 10_000,
        lines: [{ ...plainLine, orderId: `o${digit}`, rules: { fallback_currency: 'EUR' } }],
        againAtMs: [],
      })),
      lostDiskAtMs: 60_000,
      looksUpFirst: true,
    }),
    ends: { 'o1/1': ['fulfilled'], 'o2/1': refusedAfterUnknownOutcome },
  },
  {
    plan: plan('out of stock, waited for', {
      account: withProduct({
        refusals: [{ status: 409, code: 'out_of_stock', message: 'None left.', ...from(200_000) }],
      }),
      batches: [
        { atMs: 10, lines: [{ ...plainLine, notAfterMs: wallStartMs + 3_600_000 }], againAtMs: [] },
      ],
    }),
    ends: { 'o1/1': refusedAfterUnknownOutcome },
  },
  {
    plan: plan('placed, then polled', {
      readings: { ...plainReadings, laterShare: 1, laterMs: 40_000, lookupLagMs: 9000 },
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan(
      'cancel with an unknown outcome',
      followedBy('esim_cancel', {
        script: onlyFirst({ kind: 'lost_answer', end: 'reset' }, /\/cancel$/),
      }),
    ),
    ends: { 'o1/1': ['fulfilled', 'refunded'], 'f1-o1/1': ['fulfilled'] },
  },
  {
    plan: plan('edge of the limit', {
      settings: { ...usualSettings, limits: { ...usualSettings.limits, requests: 4, orders: 1 } },
      batches: [
        {
          atMs: 10,
          lines: ['1', '2', '3'].map((lineId) => ({ ...plainLine, lineId })),
          againAtMs: [],
        },
      ],
    }),
    ends: { 'o1/1': ['fulfilled'], 'o1/2': ['fulfilled'], 'o1/3': ['fulfilled'] },
  },
  {
    plan: plan('pause and probe', {
      account: {
        ...plainAccount,
        denials: [
          {
            status: 503,
            code: 'api_disabled',
            message: 'Maintenance.',
            authorization: null,
            ...from(70_000),
          },
        ],
      },
    }),
    ends: { 'o1/1': ['fulfilled'] },
  },
  {
    plan: plan('definite refusal', {
      account: withProduct({
        refusals: [{ status: 422, code: 'order_refused', message: 'No.', ...from(9e9) }],
      }),
    }),
    ends: { 'o1/1': ['rejected', 'needs_review'] },
  },
  {
    plan: plan('a result is written into an order of WooCommerce', {
      batches: [{ atMs: 10, lines: ofWooCommerce.lines, againAtMs: [] }],
      sinks: { shops: [wooSink(ofWooCommerce)], endpoints: [] },
    }),
    ends: { 'woocommerce/1001/11': ['fulfilled'] },
    twice: true,
  },
  {
    plan: plan('results for both platforms and two endpoints', {
      batches: [ofWooCommerce, ofShopify].map(({ lines }) => ({ atMs: 10, lines, againAtMs: [] })),
      sinks: {
        shops: [wooSink(ofWooCommerce), shopifySink(ofShopify)],
        endpoints: [
          { name: 'first', events: null, troubles: noReceiverTroubles },
          {
            name: 'second',
            events: ['order.updated', 'order.settled'],
            troubles: noReceiverTroubles,
          },
        ],
      },
    }),
    ends: {
      'woocommerce/1001/11': ['fulfilled'],
      'shopify/1001/21': ['fulfilled'],
      'shopify/1001/22': ['fulfilled'],
    },
  },
  {
    plan: plan('an order file with a mistake, a request and a shop', {
      batches: [
        { atMs: 10, lines: [plainLine], againAtMs: [], byIntake: true },
        { atMs: 10, lines: [{ ...plainLine, orderId: 'o2' }], againAtMs: [], byIntake: true },
        { atMs: 10, lines: [shopLine], againAtMs: [], byIntake: true },
      ],
      intake: {
        ...plainIntake,
        files: [
          {
            name: 'orders.csv',
            format: 'csv',
            lines: [
              { line: plainLine, mistake: 'none' },
              { line: { ...plainLine, orderId: 'm1' }, mistake: 'quantity' },
            ],
            atMs: 10,
            style: 'renamed',
            againAtMs: [],
          },
        ],
        requests: [
          {
            lines: [{ line: { ...plainLine, orderId: 'o2' }, mistake: 'none' }],
            atMs: 10,
            againAtMs: [],
            proof: 'token',
            inBatch: false,
            cancelAtMs: null,
          },
        ],
        shopOrders: [
          {
            platform: 'woocommerce',
            lines: [shopLine],
            atMs: 10,
            paidAfterMs: 0,
            change: null,
            delaysMs: [10],
            copies: 1,
          },
        ],
      },
    }),
    ends: { 'o1/1': ['fulfilled'], 'o2/1': ['fulfilled'], 'm1/1': ['rejected'] },
  },
];
