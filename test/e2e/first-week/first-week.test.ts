import { expect, it } from 'vitest';
import { bundles, copiesOfOrders, noBundles, ordersOfTheirOwn } from './copies-and-parts.ts';
import { outcomesOf, wanted } from './first-week.ts';
import {
  copiesOfShops,
  realPayments,
  salesBefore,
  salesNow,
  sameShops,
  testPayments,
} from './live-sales.ts';
import { floods } from './old-orders.ts';
import { reused, sameSale } from './reused-ids.ts';
import type { Row } from './rows.ts';
import { largeAnswers, otherAnswers, poisonedOrders, soundShops } from './sick-shops.ts';
import { lostSkus, nearSkus, otherSkus, sameSkus } from './skus.ts';
import { paidBefore, paidLater, withoutDate } from './time-of-payment.ts';
import { unusable, usable } from './unusable-deliveries.ts';

const kinds: Readonly<Record<string, readonly Row[]>> = {
  'a SKU as people write it is bought, and one that is near is flagged': [
    ...sameSkus,
    ...nearSkus,
    ...lostSkus,
    ...otherSkus,
  ],
  'a delivery that cannot be used leaves a trace': [...unusable, ...usable],
  'one purchase has one identity': [...copiesOfOrders, ...ordersOfTheirOwn],
  'a part of a bundle is flagged, its container bought': [...bundles, ...noBundles],
  'a test payment and a copy of the shop are never bought': [
    ...testPayments,
    ...realPayments,
    ...copiesOfShops,
    ...sameShops,
  ],
  'a sale of before the connection is not bought': [...salesBefore, ...salesNow],
  'an id that stands for another sale changes nothing of the known one': [...reused, ...sameSale],
  'a shop that answers badly is still read': [
    ...largeAnswers,
    ...poisonedOrders,
    ...otherAnswers,
    ...soundShops,
  ],
  'the time of payment is that at which the shop says paid': [
    ...paidLater,
    ...paidBefore,
    ...withoutDate,
  ],
  'many old orders are one thing to read': floods,
};

it.each(Object.entries(kinds))('%s', async (_, rows) => {
  const outcomes = await outcomesOf(rows);
  // Only the rows that differ are shown.
  const wrong = rows.filter(
    (row) => JSON.stringify(outcomes.get(row.name)) !== JSON.stringify(wanted(row)),
  );
  const shown = (of: (row: Row) => unknown) =>
    Object.fromEntries(wrong.map((row) => [row.name, of(row)]));
  expect(shown(({ name }) => outcomes.get(name))).toEqual(shown(wanted));
});

it('the table has at least eight causes a kind, and 30 counter-examples', () => {
  const rows = Object.values(kinds).flat();
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
  expect(Math.min(...Object.values(kinds).map((of) => of.length))).toBeGreaterThanOrEqual(8);
  const healthy = [
    otherSkus,
    usable,
    ordersOfTheirOwn,
    noBundles,
    realPayments,
    sameShops,
    salesNow,
    sameSale,
    soundShops,
  ];
  expect(healthy.flat().length).toBeGreaterThanOrEqual(30);
});
