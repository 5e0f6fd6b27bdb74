import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { IntakePlan, ShopOddity, ShopOrderPlan } from './intake-plan.ts';
import type { RunPlan } from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';
import { mappedSku } from './shop-documents.ts';

type Change = NonNullable<ShopOrderPlan['change']>;

/** Ids that no other order has: a shop's order has four digits. */
const ofCopy = ({ orderId, lineId, ...line }: AcceptableLine): AcceptableLine => ({
  ...line,
  orderId: String(Number(orderId) + 4000),
  lineId: String(Number(lineId) + 20_000),
});

/** The order as it is, and its copy, which comes before it, after it or at once. */
function withCopy(random: SeededRandom, order: ShopOrderPlan): readonly ShopOrderPlan[] {
  const { platform, lines, atMs } = order;
  const by =
    platform === 'woocommerce'
      ? random.pick('part_of', 'names', 'payment')
      : random.pick('names', 'payment');
  const copy: ShopOrderPlan = {
    ...order,
    lines: (by === 'part_of' && random.chance(0.5) ? lines.slice(0, 1) : lines).map(ofCopy),
    atMs: Math.max(0, atMs + random.pick(0, random.int(-60_000, 60_000), random.int(1, 120_000))),
    change: null,
    oddity: { kind: 'copy', of: lines[0]?.orderId ?? '', by },
  };
  if (by !== 'payment') return [order, copy];
  const payment = `pi_${lines[0]?.orderId}`;
  return [
    { ...order, payment },
    { ...copy, payment },
  ];
}

/** One that the shop's people edit. */
function edited(random: SeededRandom, order: ShopOrderPlan): ShopOrderPlan {
  const kind: Change['kind'] = random.pick('raised', 'raised', 'lowered', 'put_back');
  const isOne = (order.lines[0]?.quantity ?? 1) < 2;
  const afterMs = random.pick(100, 1500, random.int(1, 120_000));
  return { ...order, change: { kind: kind === 'lowered' && isOne ? 'raised' : kind, afterMs } };
}

function withOddity(random: SeededRandom, order: ShopOrderPlan): readonly ShopOrderPlan[] {
  const odd = (oddity: ShopOddity): readonly ShopOrderPlan[] => [{ ...order, oddity }];
  const isWoo = order.platform === 'woocommerce';
  const way = random.int(0, 99);
  const kind = random.pick(
    'spelled',
    'near',
    'sold_before',
    'copy',
    'copy',
    'edited',
    'edited',
    'given_again',
  );
  if (kind === 'spelled' || kind === 'near') return odd({ kind, way });
  // Shopify does not say when an order was paid that nobody has seen unpaid.
  if (kind === 'sold_before')
    return [
      {
        ...order,
        paidAfterMs: 0,
        oddity: { kind, hours: random.pick(1, 24, random.int(1, 2000)) },
      },
    ];
  if (kind === 'copy') return withCopy(random, order);
  // Only WooCommerce gives ids again, so half of its edits are that.
  if (isWoo && (kind === 'given_again' || (kind === 'edited' && way % 2 === 0))) {
    const by = random.pick('key', 'key', 'time and customer');
    return odd({ kind: 'given_again', by, afterMs: random.pick(2000, random.int(2000, 120_000)) });
  }
  return [edited(random, order)];
}

/** A row of the SKU map is missing for a while. */
function drawLostSku(
  random: SeededRandom,
  orders: readonly ShopOrderPlan[],
  latestMs: number,
): IntakePlan['lostSku'] {
  const skus = orders.flatMap(({ lines }) => lines.map(mappedSku));
  const sku = skus[random.int(0, Math.max(0, skus.length - 1))];
  // A SKU that is near one of the map is not near one that the map lacks.
  if (
    sku === undefined ||
    !random.chance(0.3) ||
    orders.some(({ oddity }) => oddity?.kind === 'near')
  )
    return null;
  const fromMs = random.int(7000, Math.max(20_000, latestMs));
  return { sku, fromMs, untilMs: fromMs + random.pick(3000, 30_000, random.int(10_000, 200_000)) };
}

/** An order that was sold before the shop was connected, also by a clock that is set by an hour. */
function soldLongBefore(order: ShopOrderPlan): ShopOrderPlan {
  const { oddity } = order;
  if (oddity?.kind !== 'sold_before') return order;
  return { ...order, oddity: { ...oddity, hours: Math.max(24, oddity.hours) } };
}

/** The clock of its shop is ahead, and is set right before the order is changed last. */
function withClock(random: SeededRandom, order: ShopOrderPlan): ShopOrderPlan {
  const { platform, oddity, change, paidAfterMs } = order;
  const isChanged = change !== null || paidAfterMs > 0;
  if (platform !== 'woocommerce' || oddity !== undefined || !isChanged || !random.chance(0.3))
    return order;
  // In order, and once: nobody could tell a late state with a false time from the newest one.
  return { ...order, aheadS: random.pick(300, 7200), delaysMs: [0, 0, 0, 0], copies: 1 };
}

/** Calls are sent twice, and shops cancel while what was answered last waits to be sent again. */
function withEarlyCancels(random: SeededRandom, plan: RunPlan): RunPlan {
  const { intake } = plan;
  const isFit = plan.lostDiskAtMs === null && plan.troubles.products.size === 0;
  if (intake === null || !isFit || !random.chance(0.2)) return plan;
  const shopOrders = intake.shopOrders.map((order): ShopOrderPlan => {
    const afterMs = random.pick(1500, 5000, random.int(1000, 40_000));
    return order.oddity === undefined && order.aheadS === undefined
      ? { ...order, change: { kind: 'cancelled', afterMs }, delaysMs: [0, 0, 0] }
      : order;
  });
  return {
    ...plan,
    readings: { ...plan.readings, replay: 'after_checks' },
    faultProfile: 'repeated',
    faultShare: 1,
    intake: { ...intake, shopOrders },
  };
}

/** Something is odd about some orders of shops, or about their SKU map. */
export function withOddities(random: SeededRandom, plan: RunPlan): RunPlan {
  const { intake } = plan;
  if (intake === null || intake.shopOrders.length === 0) return plan;
  const shopOrders = intake.shopOrders.flatMap((order) =>
    random.chance(0.5) ? withOddity(random, order) : [order],
  );
  const lostSku = drawLostSku(random, shopOrders, plan.faultsOffMs);
  // Beside a clock of the worker that is set, nobody could tell which of both is right.
  const isSteady = plan.wallJumps.length === 0;
  const clocks = shopOrders.map((order) =>
    isSteady ? withClock(random, order) : soldLongBefore(order),
  );
  return withEarlyCancels(random, { ...plan, intake: { ...intake, shopOrders: clocks, lostSku } });
}
