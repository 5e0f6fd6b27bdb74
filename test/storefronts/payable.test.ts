import { stepsOf } from '../support/steps.ts';
import { describe, expect, it } from 'vitest';
import { close, closeConfirmed, emptyBalance, fulfilled } from '../support/outbox.ts';
import { type OpenShops, openShops, shopifyOrder, wooOrder } from './storefront-shops.ts';

type Changes = Record<string, unknown>;
/** What a status means: see `StorefrontOrder.state`. */
type Meaning = 'unpaid' | 'on_hold' | 'unknown_status' | 'paid' | 'closed' | 'deleted';

const line = (id: number, quantity = 2) => ({
  id,
  sku: 'STEAM-20',
  quantity,
  properties: [],
  meta_data: [],
});

/** Each platform with one line (11) of two gift cards. */
const platforms = {
  woocommerce: {
    source: 'woo',
    deliver: (shops: OpenShops, changes: Changes, minute: number) =>
      shops.woo(wooOrder({ line_items: [line(11)], ...changes }, minute)),
    remove: (shops: OpenShops) => shops.woo({ id: 727 }, 'order.deleted'),
    orderId: '727',
  },
  shopify: {
    source: 'shopify',
    deliver: (shops: OpenShops, changes: Changes, minute: number) =>
      shops.shopify(shopifyOrder({ line_items: [line(11)], ...changes }, minute)),
    remove: (shops: OpenShops) => shops.shopify({ id: 5_678_901_234_567 }, 'orders/delete'),
    orderId: '5678901234567',
  },
} as const;
type Platform = (typeof platforms)[keyof typeof platforms];

const undated = { date_paid_gmt: null, date_paid: null };
const cancelledAt = { cancelled_at: '2026-11-21T12:00:00Z' };
const archived = { closed_at: '2026-11-21T12:00:00Z' };

const wooStatuses: readonly [string, Changes, Meaning][] = [
  ...(['pending', 'on-hold', 'draft', 'auto-draft', 'checkout-draft'] as const).flatMap(
    (status): [string, Changes, Meaning][] => [
      [status, { status }, 'on_hold'],
      [`${status} without a date of payment`, { status, ...undated }, 'unpaid'],
    ],
  ),
  ...(['processing', 'completed', 'wc-processing'] as const).flatMap(
    (status): [string, Changes, Meaning][] => [
      [status, { status }, 'paid'],
      [`${status} without a date of payment`, { status, ...undated }, 'unknown_status'],
      [`${status} to be paid on delivery`, { status, payment_method: 'cod', ...undated }, 'unpaid'],
    ],
  ),
  ...(['cancelled', 'refunded', 'failed', 'trash'] as const).flatMap(
    (status): [string, Changes, Meaning][] => [
      [status, { status }, 'closed'],
      [`${status} without a date of payment`, { status, ...undated }, 'closed'],
    ],
  ),
  ['fraud-check of a plugin', { status: 'fraud-check' }, 'unknown_status'],
  [
    'fraud-check of a plugin, without a date of payment',
    { status: 'fraud-check', ...undated },
    'unpaid',
  ],
  ['__proto__', { status: '__proto__' }, 'unknown_status'],
];

const financialStatuses = [
  ['pending', 'unpaid'],
  ['authorized', 'unpaid'],
  ['expired', 'unpaid'],
  [null, 'unpaid'],
  ['paid', 'paid'],
  ['partially_refunded', 'paid'],
  ['partially_paid', 'on_hold'],
  ['disputed', 'unknown_status'],
  ['refunded', 'closed'],
  ['voided', 'closed'],
] as const;
const shopifyStatuses = financialStatuses.flatMap(
  ([financial_status, meaning]): [string, Changes, Meaning][] => [
    [String(financial_status), { financial_status }, meaning],
    [`${financial_status}, archived`, { financial_status, ...archived }, meaning],
    [`${financial_status}, cancelled`, { financial_status, ...cancelledAt }, 'closed'],
    [
      `${financial_status}, cancelled and archived`,
      { financial_status, ...cancelledAt, ...archived },
      'closed',
    ],
  ],
);

/** When the status comes, and what brings a paid order there. */
const moments = {
  before: async () => undefined,
  pending: async (shops: OpenShops, platform: Platform) =>
    void (await platform.deliver(shops, {}, 0)),
  waiting: async (shops: OpenShops, platform: Platform) => {
    await platform.deliver(shops, {}, 0);
    await closeConfirmed(shops.outbox, await open(shops), emptyBalance, Date.now());
  },
  sent: async (shops: OpenShops, platform: Platform) => {
    await platform.deliver(shops, {}, 0);
    await open(shops);
  },
  delivered: async (shops: OpenShops, platform: Platform) => {
    await platform.deliver(shops, {}, 0);
    await stepsOf(shops.outbox.store).closeAttempt(close(await open(shops), fulfilled));
  },
};
type Moment = keyof typeof moments;

const open = ({ outbox }: OpenShops) => outbox.opened({ nowMs: Date.now() });
const nextToSend = ({ outbox }: OpenShops) =>
  stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() + 1000 }));
const states = (shops: OpenShops) => shops.bought().map((text) => text.split(' ').at(-1));

const whyHeld = /^11 the storefront's order (?:is|has the status) "/;
const told = '11 refunded_in_storefront';

/** The states of the entries of the line, and what is flagged. */
function expected(meaning: Meaning, moment: Moment): [readonly string[], readonly string[]] {
  const now = {
    before: [],
    pending: ['pending'],
    waiting: ['waiting'],
    sent: ['sending'],
    delivered: ['fulfilled'],
  };
  const isUnsent = moment === 'pending' || moment === 'waiting';
  if (meaning === 'paid') return [moment === 'before' ? ['pending'] : now[moment], []];
  if (meaning === 'closed' || meaning === 'deleted') {
    if (isUnsent) return [['cancelled'], []];
    return [now[moment], moment === 'before' ? [] : [told]];
  }
  if (isUnsent || (moment === 'before' && meaning === 'unknown_status'))
    return [['held'], ['11 held']];
  return [now[moment], []];
}

type Case = readonly [string, string, Moment, Platform, Changes | null, Meaning];
const allMoments: readonly Moment[] = ['before', 'pending', 'waiting', 'sent', 'delivered'];
/** CI runs every status at every moment; else the first one of each meaning, the others at two. */
const isFull = process.env['ALL_STATUSES'] !== undefined;
const casesOf = (
  platform: Platform,
  statuses: readonly [string, Changes, Meaning][],
): readonly Case[] => [
  ...statuses.flatMap(([name, changes, meaning], index) => {
    const isFirst = statuses.findIndex((one) => one[2] === meaning) === index;
    const played = allMoments.slice(0, isFull || isFirst ? undefined : 2);
    return played.map((at): Case => [platform.source, name, at, platform, changes, meaning]);
  }),
  ...allMoments.map(
    (moment): Case => [platform.source, 'deleted', moment, platform, null, 'deleted'],
  ),
];

describe('an order of a shop', () => {
  it.each([
    ...casesOf(platforms.woocommerce, wooStatuses),
    ...casesOf(platforms.shopify, shopifyStatuses),
  ])(
    'of %s that is %s when its line is: %s',
    async (_source, _name, moment, platform, changes, meaning) => {
      const shops = await openShops();
      await moments[moment](shops, platform);
      const deliver = () =>
        changes === null ? platform.remove(shops) : platform.deliver(shops, changes, 1);
      const answer = await deliver();
      expect(answer).toMatchObject({
        kind: 'taken',
        order: { state: meaning },
        taken: { stale: false },
      });
      expect([states(shops), shops.flagged()]).toEqual(expected(meaning, moment));
      const reasons = states(shops).includes('held') ? shops.reasons() : [];
      expect(reasons.filter((text) => !whyHeld.test(text))).toEqual([]);
      // The same again changes nothing.
      await deliver();
      expect([states(shops), shops.flagged()]).toEqual(expected(meaning, moment));
      const isBuyable = meaning === 'paid' && ['before', 'pending', 'waiting'].includes(moment);
      expect((await nextToSend(shops)) === null).toBe(!isBuyable);
    },
  );
});
