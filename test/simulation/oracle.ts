import type { Database } from 'better-sqlite3';
import { lookedUpAs } from '../../src/core/order/purchase.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ResultEntry, ResultLine } from '../../src/core/result/result-document.ts';
import { wallStartMs } from './virtual-time.ts';
import { moneyText, unitText } from './api-answers.ts';
import type { SimOrder } from './api-ledger.ts';
import { referencesOf } from './line-references.ts';
import { cancelShownBy } from './run-faults.ts';
import { lasts } from './troubles.ts';
import { looksUpFirst, mayNeedReviewAfterLoss } from './oracle-after-loss.ts';
import type { SeenOfCall } from './wire-watch.ts';
import type { World } from './world.ts';

const referencesOfLine = (world: World, line: AcceptableLine): ReadonlySet<string> =>
  referencesOf(line, world.operator.reordersOf(line.source, line.orderId, line.lineId));

/**
 * Compares the results that the shop got with the ledger of the API. The worker's own view is not
 * used.
 */
export function checkAtEnd(world: World): void {
  const { api, acknowledged } = world;
  const explained = new Set<SimOrder>();
  let anyReview = false;
  const reported = new Map<string, number>();
  for (const { line, reference } of acknowledged.all) {
    const shown = shownOf(world, line);
    if (shown === undefined) {
      world.violate('I8', `there is no result for ${line.orderId}/${line.lineId}`);
      continue;
    }
    world.coverage.hit(`end ${shown.state}`);
    if (shown.state === 'needs_review') anyReview = true;
    if (line.operation === 'esim_cancel') {
      checkCancel(world, `esim_cancel ${line.orderId}/${line.lineId}`, line, shown);
      continue;
    }
    const orders = checkPurchase(world, line, reference, shown);
    for (const order of orders) explained.add(order);
    for (const entry of shown.entries) {
      if (entry.state !== 'fulfilled' || entry.cost === null) continue;
      const currency = entry.currency ?? '';
      reported.set(currency, (reported.get(currency) ?? 0) + Math.round(Number(entry.cost) * 100));
    }
  }
  for (const order of api.ledger.orders)
    if (!explained.has(order))
      world.violate('I1', `no line asked for the order ${order.reference}`);
  checkCancelledFor(world);
  checkMoney(world, reported, anyReview || world.operator.resolved.size > 0);
  checkSecrets(world);
}

const shownOf = (world: World, { source, orderId, lineId }: AcceptableLine) =>
  world.results.read(source, orderId)?.lines.find((it) => it.line_id === lineId);

/** Whether SQLite finds its file intact. */
export function checkFile(world: World, database: Database): void {
  const integrity = String(database.pragma('integrity_check', { simple: true }));
  if (integrity !== 'ok') world.violate('I15', `the outbox is damaged: ${integrity}`);
}

/**
 * A line is rejected or expired only because the API refused this order, or because its deadline
 * passed.
 */
function checkEnded(world: World, name: string, line: AcceptableLine, entry: ResultEntry): void {
  const seen = world.wire.of(entry.reference);
  const possible = referencesOfLine(world, line);
  const kind = lookedUpAs(entry.operation);
  // After an unknown outcome only a lookup proves that nothing was bought, and only once lookups
  // have found an order. After a loss every outcome is unknown.
  const isAfterLoss = looksUpFirst(world) && !world.endedInCopy(entry.reference);
  const outcomeUnknown = seen.outcomeUnknown || isAfterLoss;
  const lastMs = isAfterLoss ? world.wire.lastSeenMs(possible) : seen.lastMs;
  if (entry.state === 'expired' && outcomeUnknown && !world.wire.foundBefore(kind, lastMs))
    world.violate('I4', `${name} is expired, but it may have been bought`);
  const deadline = entry.error?.code === 'not_after_passed';
  if (entry.state !== 'rejected' || world.operator.resolved.has(entry.reference)) return;
  if (!seen.refused && !deadline)
    world.violate('I4', `${name} is rejected, but the API never refused it`);
  // The refusal can be caused by a purchase before the loss.
  if (isAfterLoss && !world.wire.foundBefore(kind, lastMs))
    world.violate('I4', `${name} is rejected after a loss, and no lookup has ever found an order`);
}

/** Returns what the API sold for the line. */
function checkPurchase(
  world: World,
  line: AcceptableLine,
  reference: string,
  shown: ResultLine,
): readonly SimOrder[] {
  const name = `${line.operation} ${line.orderId}/${line.lineId} (${reference})`;
  const possible = referencesOfLine(world, line);
  const orders = [...possible]
    .map((it) => world.api.ledger.find(it))
    .filter((order) => order !== undefined);
  const bought = orders.reduce((sum, order) => sum + order.quantity, 0);
  const quantity = line.quantity ?? 1;
  const inParts = line.rules?.split === true || line.rules?.partial === true;
  if (bought > quantity || (!inParts && orders.length > 1))
    world.violate('I1', `${name} was bought ${orders.length} times, ${bought} in all`);
  if (!possible.has(reference))
    world.violate('I3', `${name} was acknowledged with a reference that is not its own`);
  if ((shown.state === 'fulfilled' || shown.state === 'refunded') && bought !== quantity)
    world.violate('I5', `${name} is ${shown.state} with ${bought} instead of ${quantity}`);
  if (shown.state === 'partial' && (!inParts || bought === 0 || bought === quantity))
    world.violate('I5', `${name} is partial with ${bought} of ${quantity}`);
  // For these states the shop refunds its customer completely.
  if (['rejected', 'expired', 'cancelled'].includes(shown.state) && bought > 0)
    world.violate('I4', `${name} is ${shown.state}, but the API sold ${bought} of it`);
  // This holds for all its references, and for repetitions: they must not buy after the deadline
  // either.
  const last = Math.max(...[...possible].map((it) => world.wire.of(it).lastLeftAtMs ?? 0));
  const lateMs = line.notAfterMs === null ? 0 : wallStartMs + last - line.notAfterMs;
  // A re-order by the operator has no deadline.
  const wasReordered = world.operator.reordersOf(line.source, line.orderId, line.lineId) > 0;
  if (lateMs > 1000 && !wasReordered && world.plan.wallJumps.length === 0)
    world.violate('I4', `${name} was sent ${lateMs} ms after its deadline`);
  const shownReferences = new Set(shown.entries.map((entry) => entry.reference));
  for (const entry of shown.entries) {
    if (!possible.has(entry.reference))
      world.violate('I3', `${name} is shown with the foreign reference ${entry.reference}`);
    checkEntry(world, line, entry, orders);
  }
  // Before the review is resolved, not all orders are shown.
  if (looksUpFirst(world) && shown.state === 'needs_review') return orders;
  for (const order of orders)
    if (!shownReferences.has(order.reference))
      world.violate('I4', `${name}: the API sold ${order.reference}, which is not shown`);
  return orders;
}

function checkEntry(
  world: World,
  line: AcceptableLine,
  entry: ResultEntry,
  orders: readonly SimOrder[],
): void {
  // The simulation marks the answers of other orders.
  if (entry.order_number?.startsWith('X') === true)
    world.violate(
      'I5',
      `${entry.reference} has the order number ${entry.order_number} of another order`,
    );
  const order = world.api.ledger.find(entry.reference);
  const name = `${line.operation} ${line.orderId}/${line.lineId} (${entry.reference})`;
  if (entry.state === 'needs_review' && entry.units.length > 0)
    world.violate('I5', `${name} needs review, and its result has units`);
  switch (entry.state) {
    case 'rejected':
    case 'expired':
      if (order !== undefined)
        world.violate('I4', `${name} is ${entry.state}, but the API sold it`);
      checkEnded(world, name, line, entry);
      return;
    case 'cancelled':
      if (order !== undefined) world.violate('I4', `${name} is cancelled, but the API sold it`);
      if (!world.operator.cancelled.has(entry.reference))
        world.violate('I4', `${name} is cancelled by nobody`);
      return;
    case 'needs_manual_delivery':
      if (!world.operator.resolved.has(entry.reference))
        world.violate('I5', `${name} was resolved by nobody`);
      return checkBought(world, name, entry, order);
    case 'fulfilled':
    case 'refunded':
      return checkBought(world, name, entry, order);
    case 'needs_review':
      if (
        !mayBeReviewed(world, line, entry.reference, order) &&
        !mayNeedReviewAfterLoss(world, line, {
          reference: entry.reference,
          possible: referencesOfLine(world, line),
          orders,
        })
      )
        world.violate(
          'I7',
          `${name} needs review without a reason: ${entry.error?.message ?? 'no error'}`,
        );
      return;
    case 'held':
      if (world.plan.settings.spending !== undefined && world.disk.countOpen() === 0) return;
      return world.violate('I7', `${name} is still held`);
    default:
      world.violate('I7', `${name} is still ${entry.state}`);
  }
}

function checkBought(
  world: World,
  name: string,
  entry: ResultEntry,
  order: SimOrder | undefined,
): void {
  if (order === undefined)
    return world.violate('I5', `${name} is ${entry.state}, but the API never sold it`);
  const refunded = order.state === 'refunded' || order.shownAsRefunded;
  if (entry.state === 'refunded') {
    if (!refunded) world.violate('I5', `${name} is refunded, but the order is not`);
    return;
  }
  if (order.state !== 'sold')
    world.violate('I5', `${name} is fulfilled, but the order is ${order.state}`);
  if (entry.cost !== null && entry.cost !== moneyText(order.cost))
    world.violate('I5', `${name} has the cost ${entry.cost}, charged was ${moneyText(order.cost)}`);
  // A top-up has no units; its answer can name its eSIM.
  if (order.operation === 'esim_topup') return;
  const trouble = world.plan.troubles.products.get(order.product);
  if (
    entry.state === 'fulfilled' &&
    trouble?.kind === 'has_unread_field' &&
    lasts(trouble, order.atMs)
  )
    if (!world.operator.touched.has(entry.reference))
      world.violate('I5', `${name} was delivered without a field of its units`);
  if (world.wire.of(entry.reference).otherGoods && !world.operator.touched.has(entry.reference))
    world.violate(
      'I5',
      `${name} is ${entry.state}, but its answer showed other goods, and no lookup showed the right ones`,
    );
  // Where answers show another order, only what two orders show can be seen: see
  // `checkSharedUnits`.
  if (trouble?.kind === 'shows_earlier_order' && !world.operator.touched.has(entry.reference))
    return;
  const units = entry.units.map(unitText);
  if (world.operator.withoutUnits.has(entry.reference) && units.length === order.units.length)
    world.violate('I5', `${name} has all the units of which an operator found none`);
  // The operator entered that it was bought, without its units.
  if (entry.state === 'needs_manual_delivery' && units.length < order.units.length) {
    const foreign = units.filter((unit) => !order.units.includes(unit));
    if (foreign.length > 0) world.violate('I5', `${name} has ${foreign.join()} of others`);
    return;
  }
  if (units.toSorted().join() !== order.units.toSorted().join())
    world.violate('I5', `${name} has the units ${units.join()}, sold were ${order.units.join()}`);
}

/** Who bought an eSIM, and nobody else, may have it cancelled. */
function checkCancelledFor(world: World): void {
  const lines = world.acknowledged.all.map(({ line }) => line);
  for (const { iccid } of world.api.ledger.cancels) {
    const reference = world.api.ledger.esims.get(iccid)?.orderReference ?? '';
    const buyer = lines.find(
      (line) =>
        line.operation === 'esim_order' &&
        referencesOf(line, world.operator.reordersOf(line.source, line.orderId, line.lineId)).has(
          reference,
        ),
    );
    if (buyer === undefined) continue;
    world.coverage.hit('cancel of a bought eSIM');
    const asked = lines.filter((line) => line.operation === 'esim_cancel' && line.iccid === iccid);
    const entries = world.results
      .read(buyer.source, buyer.orderId)
      ?.lines.flatMap((line) => line.entries);
    const isTold = entries?.some((entry) => entry.cancelled_iccids?.includes(iccid) === true);
    const isConfirmed = asked.some((line) => shownOf(world, line)?.state === 'fulfilled');
    // Until its review is over, nobody knows which eSIMs an order has.
    const isInReview = entries?.some(({ state }) => state === 'needs_review') === true;
    if (isConfirmed && isTold !== true && !isInReview)
      world.violate(
        'I48',
        `the result of ${buyer.orderId} does not say that ${iccid} is cancelled`,
      );
    // Of a shop's refund the cancel is ordered by the worker itself.
    if (asked.length > 0 && !asked.some(({ source }) => source === buyer.source))
      world.violate(
        'I48',
        `the eSIM ${iccid} of ${buyer.source} was cancelled for ${asked.map(({ source }) => source).join()}`,
      );
  }
}

function checkCancel(world: World, name: string, line: AcceptableLine, shown: ResultLine): void {
  const iccid = line.iccid ?? '';
  const esim = world.api.ledger.esims.get(iccid);
  const ours = world.api.ledger.cancels.some((cancel) => cancel.iccid === iccid);
  if (shown.state === 'fulfilled' && esim?.state !== 'cancelled')
    world.violate('I6', `${name} is fulfilled, but the eSIM is not cancelled`);
  const others = world.acknowledged.all.filter(
    (it) => it.line.iccid === iccid && it.line.operation === 'esim_cancel',
  );
  // The second of two cancels of one eSIM is refused correctly. So is a cancel that is repeated
  // after an unnoticed loss, because a cancel has no reference.
  const repeated =
    others.length > 1 || (world.plan.lostDiskAtMs !== null && !world.plan.looksUpFirst);
  if (['rejected', 'expired', 'cancelled'].includes(shown.state) && ours && !repeated)
    world.violate('I6', `${name} is ${shown.state}, but the eSIM was cancelled and refunded`);
  const open = ['pending', 'sending', 'waiting', 'unknown', 'placed', 'held'].includes(shown.state);
  if (open) world.violate('I7', `${name} is still ${shown.state}`);
  if (shown.state !== 'needs_review') return;
  const seen = world.wire.of(`cancel:${iccid}`);
  // What was sent does not end at its deadline without a lookup.
  if (seen.leftAtMs !== null && line.notAfterMs !== null) return;
  // A refused cancel is confirmed by the order of its eSIM. That order exists: three absences of it
  // prove nothing.
  // Where a lookup shows that it is cancelled, the worker settles it. After an unnoticed loss it does
  // not know the order: sent again, that is answered as refunded, without its eSIM.
  const isOriginLost = world.wire.outboxLost && !world.plan.looksUpFirst;
  const isShown =
    ours &&
    !isOriginLost &&
    cancelShownBy(world.plan, world.api.ledger, iccid) !== null &&
    world.wire.foundBefore('esim', seen.lastMs);
  if (seen.refused && !isShown) return;
  if (seen.refused && world.wire.mostAbsences(esim?.orderReference ?? '') >= 3) return;
  if (
    looksUpFirst(world) &&
    (seen.refused ||
      line.notAfterMs !== null ||
      wasSenderDenied(world, seen) ||
      world.plan.settings.referenceExpiryMs < 3_600_000)
  )
    return;
  if (
    !seen.outcomeUnknown &&
    !seen.undecidable &&
    !shown.entries.some((entry) => world.operator.touched.has(entry.reference))
  )
    world.violate('I7', `${name} needs review without a reason`);
}

/**
 * The cases in which the decision table flags a purchase for review. In all others the worker
 * settles it.
 */
function mayBeReviewed(
  world: World,
  line: AcceptableLine,
  reference: string,
  order: SimOrder | undefined,
): boolean {
  const seen = world.wire.of(reference);
  const { readings, settings } = world.plan;
  if (seen.undecidable || world.operator.touched.has(reference)) return true;
  const aheadMs = Math.max(0, ...world.plan.wallJumps.map((jump) => jump.deltaMs));
  const mayBeTooOld =
    settings.referenceExpiryMs < 3_600_000 ||
    world.clockJumps.unnoticedSince(seen.leftAtMs ?? 0) >= settings.referenceExpiryMs;
  if (seen.outcomeUnknown && (!readings.lookup || mayBeTooOld)) return true;
  // By then the API may have forgotten the reference, and a lookup that finds nothing proves nothing.
  const ageMs = seen.lastMs - (seen.leftAtMs ?? Number.POSITIVE_INFINITY);
  if (ageMs >= settings.referenceExpiryMs) return true;
  // What was sent does not end as unbought without a lookup.
  const wasSent = seen.leftAtMs !== null;
  const mayEnd = seen.refused || line.notAfterMs !== null || world.takenBackLate.has(reference);
  if (wasSent && mayEnd && !readings.lookup) return true;
  // After a loss the outcome of every entry is unknown.
  if (looksUpFirst(world) && !readings.lookup && wasSenderDenied(world, seen)) return true;
  // Until a lookup has found an order, a lookup that finds none proves nothing. What a key of
  // another account did not buy is sent with another key, once its absence there is proven.
  const isKeyInQuestion =
    world.plan.account.authorizations.length > 1 && world.wire.isKeyInQuestion;
  const isAtOtherAccount =
    order === undefined && (isKeyInQuestion || mayBeAtOtherAccount(world, seen));
  const mattersWhenAbsent = mayEnd || isAtOtherAccount || wasSenderDenied(world, seen);
  const kind = lookedUpAs(line.operation);
  // What a lookup has found is no proof where a busy database did not record it.
  const isProven = world.wire.foundBefore(kind, seen.lastMs) && world.wire.trusts(kind);
  if ((seen.outcomeUnknown || wasSent) && mattersWhenAbsent && !isProven) return true;
  if (order === undefined) return false;
  // Somebody cancelled it after a call of it had left, and a lookup found it bought.
  const wasGivenUp = world.operator.cancelled.has(reference) || world.takenBackLate.has(reference);
  if (wasSent && wasGivenUp) return true;
  const late = order.completeAtMs - order.atMs + (order.completeAtMs > order.atMs ? aheadMs : 0);
  const isLate =
    late >= settings.placedDeadlineMs ||
    (late > 0 && (!readings.lookup || areLookupsInTrouble(world, order)));
  const shownAs = world.plan.troubles.products.get(order.product)?.kind ?? '';
  return order.state === 'failed' || isLate || oddUnits.has(shownAs);
}

/**
 * Whether the account that was sent to is another one than an order came from. The worker takes
 * that of the first delivered order for its own, whichever it is. A call that never left may have
 * been meant for either.
 */
function mayBeAtOtherAccount({ api, plan }: World, { authorization, lastMs }: SeenOfCall): boolean {
  const { foreign } = plan.account;
  if (foreign === undefined) return false;
  const sentTo = authorization === null ? null : authorization === foreign ? 'other' : 'own';
  return api.ledger.orders.some((it) => it.account !== sentTo && it.atMs < lastMs);
}

/**
 * Whether the key that sent it was denied since: nobody knows yet whether the other keys are of the
 * same account.
 */
function wasSenderDenied({ plan, wire }: World, { authorization, leftAtMs }: SeenOfCall): boolean {
  const deniedAtMs = wire.keyDeniedAt(authorization);
  return (
    plan.account.authorizations.length > 1 &&
    deniedAtMs !== null &&
    deniedAtMs >= (leftAtMs ?? Number.POSITIVE_INFINITY)
  );
}

/** Units that only an operator can judge. */
const oddUnits: ReadonlySet<string> = new Set([
  'shows_more_units',
  'repeats_a_unit',
  'shows_changing_units',
  'has_unread_field',
  'shows_earlier_order',
  'sells_a_code_twice',
  'repeats_an_order_number',
]);

/** Whether an accepted order perhaps could not be looked up before the deadline for its units. */
function areLookupsInTrouble({ plan }: World, order: SimOrder): boolean {
  const untilMs = order.atMs + plan.settings.placedDeadlineMs + 600_000;
  const { lookups, outages } = plan.troubles;
  return [...lookups.filter((it) => it.family === order.family), ...outages].some(
    (it) => it.untilMs > order.atMs && it.fromMs < untilMs,
  );
}

function checkMoney(world: World, reported: ReadonlyMap<string, number>, anyReview: boolean): void {
  // Without costs in the answers, or with an order in review, the sums cannot be compared.
  const { costShown, strangeCosts } = world.plan.readings;
  if (!costShown || strangeCosts === true || anyReview) return;
  const net = new Map<string, number>();
  for (const order of world.api.ledger.orders)
    if (order.state === 'sold' && !order.shownAsRefunded)
      net.set(order.currency, (net.get(order.currency) ?? 0) + order.cost);
  for (const [currency, cents] of reported) {
    const refundedLater = world.api.ledger.orders
      .filter((order) => order.shownAsRefunded && order.currency === currency)
      .reduce((sum, order) => sum + order.cost, 0);
    const charged = net.get(currency) ?? 0;
    if (cents < charged || cents > charged + refundedLater)
      world.violate(
        'I16',
        `the results add up to ${cents} ${currency}, the API charged ${charged}`,
      );
  }
}

function checkSecrets(world: World): void {
  const logs = world.logs.join('');
  for (const value of Object.values(world.plan.settings.keys))
    if (logs.includes(value)) world.violate('I18', 'a key is in the log');
  for (const order of world.api.ledger.orders)
    for (const unit of order.units)
      if (unit.startsWith('CODE-') && logs.includes(unit))
        world.violate('I18', `a code is in the log`);
}
