import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ResultEventType } from '../../src/core/result/result-events.ts';
import type { IntakePlan, ShopOrderPlan } from './intake-plan.ts';
import type { CrashPlan, OrderBatch, RunPlan } from './run-plan.ts';
import { sinkCrashPlaces } from './port-names.ts';
import type { SeededRandom } from './seeded-random.ts';
import {
  type EndpointPlan,
  type ReceiverOutage,
  type ReceiverTroubles,
  type ShopEdit,
  type ShopSinkPlan,
  noReceiverTroubles,
} from './sinks-plan.ts';

type PlatformName = ShopSinkPlan['platform'];

/** @param shortOnly hours would take too much of the time of this run */
function drawOutages(random: SeededRandom, endMs: number, shortOnly: boolean): ReceiverOutage[] {
  if (!random.chance(0.5)) return [];
  const fromMs = random.chance(0.5) ? 0 : random.int(0, endMs);
  const lengthMs = shortOnly
    ? random.int(5000, 240_000)
    : random.pick(random.int(5000, 240_000), 1_200_000, 7_200_000);
  const kind = random.pick<ReceiverOutage['kind']>(
    'refused',
    'silent',
    'server_error',
    'maintenance',
    'redirect',
    'rate_limited',
  );
  return [{ kind, fromMs, untilMs: fromMs + lengthMs }];
}

/** @param orders the names under which the receiver knows the orders */
function drawTroubles(
  random: SeededRandom,
  plan: RunPlan,
  orders: readonly string[],
  isEndpoint: boolean,
): ReceiverTroubles {
  const isCostly = plan.intake !== null || plan.settings.maxIdleDelayMs < 60_000;
  const [refused] = orders;
  const refuses = refused !== undefined && random.chance(0.15);
  const isShortened = isEndpoint && (isCostly || refuses);
  return {
    ...noReceiverTroubles,
    faultShare: random.pick(0, 0.1, 0.25, 0.25),
    outages: drawOutages(random, plan.faultsOffMs, isCostly || isShortened),
    refusedOrders: new Set(refuses ? [refused] : []),
    retryTimeScale: isShortened ? 0.01 : 1,
  };
}

/**
 * An order that a shop sells as a whole, as its own platform has it; null: such shops do not sell
 * all of it.
 */
function shopOrderOf(
  random: SeededRandom,
  batch: OrderBatch,
  platform: PlatformName,
  number: number,
): ShopOrderPlan | null {
  const isSold = batch.lines.every(
    ({ operation }) => operation === 'gift_card_order' || operation === 'esim_order',
  );
  if (!isSold || batch.byIntake === true) return null;
  const lines = batch.lines.map((line, index): AcceptableLine => {
    const identity = {
      source: platform,
      orderId: String(1000 + number),
      lineId: String(10 * number + index),
    };
    // As the intake of shops remembers what a line was ordered for.
    return {
      ...line,
      ...identity,
      extra: { sku: 'CARD', shop_quantity: String(line.quantity ?? 1) },
    };
  });
  return {
    platform,
    lines,
    atMs: batch.atMs,
    paidAfterMs: 0,
    change: null,
    delaysMs: [],
    copies: 1,
    isOursOnly: random.chance(0.7),
  };
}

function drawEdits(
  random: SeededRandom,
  orders: readonly ShopOrderPlan[],
  latestMs: number,
): ShopEdit[] {
  return orders
    .filter(() => random.chance(0.2))
    .map(({ lines, atMs }) => ({
      atMs: atMs + random.int(1, latestMs),
      orderId: lines[0]?.orderId ?? '',
      kind: random.pick(
        'cancelled',
        'done_by_hand',
        'raised',
        'lowered',
        'put_back',
        'added',
        'deleted',
      ),
    }));
}

function drawShop(
  random: SeededRandom,
  plan: RunPlan,
  platform: PlatformName,
  orders: readonly ShopOrderPlan[],
): ShopSinkPlan {
  const ids = orders.map(({ lines }) => lines[0]?.orderId ?? '');
  const shop = {
    orders,
    edits: drawEdits(random, orders, plan.faultsOffMs + 60_000),
    troubles: drawTroubles(random, plan, ids, false),
  };
  if (platform === 'shopify') {
    const deliverCodes = random.pick<'off' | 'meta'>('off', 'meta', 'meta');
    const options = { fulfil: random.chance(0.9), notifyCustomer: false, deliverCodes };
    return { ...shop, platform, options };
  }
  const lateNoteShare = random.pick(0, 0, 0.7);
  const deliverCodes =
    lateNoteShare > 0 ? 'note' : random.pick<'off' | 'note' | 'meta'>('off', 'note', 'meta');
  const status = random.pick<'completed' | 'keep'>('completed', 'completed', 'keep');
  const options = { status, deliverCodes, lineMeta: random.chance(0.2) };
  return { ...shop, platform, options, troubles: { ...shop.troubles, lateNoteShare } };
}

function drawEndpoint(random: SeededRandom, plan: RunPlan, name: string): EndpointPlan {
  const events = random.pick<readonly ResultEventType[] | null>(
    null,
    ['order.updated'],
    ['order.settled'],
    ['order.updated', 'order.settled', 'line.needs_review'],
  );
  const orders = plan.batches.flatMap(({ lines }) =>
    lines.map(({ source, orderId }) => `${source}/${orderId}`),
  );
  return {
    name,
    events,
    troubles: drawTroubles(random, plan, events === null ? orders : [], true),
  };
}

/** The shops of the intake get the results of their orders. */
function withShopsOfIntake(random: SeededRandom, plan: RunPlan, intake: IntakePlan): RunPlan {
  const shopOrders = intake.shopOrders.map(({ oddity, ...order }): ShopOrderPlan => {
    const isOursOnly = random.chance(0.7);
    // Its orders are not deleted, so their ids are not given again.
    return oddity === undefined || oddity.kind === 'given_again'
      ? { ...order, isOursOnly }
      : { ...order, oddity, isOursOnly };
  });
  const shops = (['woocommerce', 'shopify'] as const).flatMap((platform) => {
    const own = shopOrders.filter((order) => order.platform === platform);
    return own.length === 0
      ? []
      : [{ ...drawShop(random, plan, platform, own), edits: [], comesByIntake: true }];
  });
  return { ...plan, intake: { ...intake, shopOrders }, sinks: { ...plan.sinks, shops } };
}

/** Some orders are those of a shop into which their results are written. */
function withShops(random: SeededRandom, plan: RunPlan): RunPlan {
  if (plan.intake !== null && plan.intake.shopOrders.length > 0)
    return withShopsOfIntake(random, plan, plan.intake);
  const orders: ShopOrderPlan[] = [];
  const moved = new Set<string>();
  const batches = plan.batches.map((batch, index) => {
    const platform = random.pick('woocommerce', 'shopify');
    const order = random.chance(0.7) ? shopOrderOf(random, batch, platform, index + 1) : null;
    if (order === null) return batch;
    for (const { orderId } of batch.lines) moved.add(orderId);
    orders.push(order);
    return { ...batch, lines: order.lines };
  });
  const moving: RunPlan = {
    ...plan,
    batches,
    // These are ordered when the result of an order of the plain shop is there.
    replacements: plan.replacements.filter(({ orderId }) => !moved.has(orderId)),
  };
  const shops = (['woocommerce', 'shopify'] as const).flatMap((platform) => {
    const own = orders.filter((order) => order.platform === platform);
    return own.length === 0 ? [] : [drawShop(random, moving, platform, own)];
  });
  return { ...moving, sinks: { ...plan.sinks, shops } };
}

/**
 * One run of eight has shops into which results are written, or endpoints to which they are posted;
 * with shops as senders, more.
 */
export function withSinks(random: SeededRandom, plan: RunPlan): RunPlan {
  const hasShops = (plan.intake?.shopOrders.length ?? 0) > 0;
  if (!random.chance(hasShops ? 0.4 : 0.1)) return plan;
  const shopped = random.chance(0.75) ? withShops(random, plan) : plan;
  const count = shopped.sinks.shops.length === 0 ? random.pick(1, 2) : random.pick(0, 0, 1);
  const names = ['first', 'second'].slice(0, count);
  const endpoints = names.map((name) => drawEndpoint(random, shopped, name));
  const atPlace = sinkCrashPlaces[random.int(0, sinkCrashPlaces.length - 1)] ?? '';
  const aimed: CrashPlan = {
    afterPorts: 0,
    atPlace,
    kind: random.pick('kill', 'power'),
    downMs: random.pick(1, 5000),
  };
  return {
    ...shopped,
    crashes: random.chance(0.5) ? [aimed, ...shopped.crashes.slice(0, 2)] : shopped.crashes,
    sinks: { ...shopped.sinks, endpoints },
  };
}
