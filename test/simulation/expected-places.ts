import { outcomeRows, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import { entryStates } from '../../src/core/entry/states.ts';
import type { Coverage } from './coverage.ts';
import { crashPlacesOf, storeCallsOfTheLoop } from './port-names.ts';

/** Codes that Spec 7 lists for gift cards only. A cancel that gets one has no row of its own. */
const ofGiftCards: ReadonlySet<OutcomeRow> = new Set([
  'invalid_variant',
  'out_of_stock',
  'limit_exceeded',
  'not_api_sellable',
]);

/**
 * States that no line has at the end of a run, when nothing is in flight and all held entries are
 * released.
 */
const notAtTheEnd = new Set(['held', 'pending', 'sending', 'waiting', 'unknown', 'placed']);

/**
 * Every cell of the decision table that can be reached, every state, and a crash at every port
 * call.
 */
export const expectedPlaces: readonly string[] = [
  ...outcomeRows.flatMap((row) =>
    ['buy clean', 'buy unknown', 'cancel clean', 'cancel unknown']
      .filter((column) => !(column.startsWith('cancel') && ofGiftCards.has(row)))
      .map((column) => `cell ${row} ${column}`),
  ),
  ...storeCallsOfTheLoop.flatMap((name) => [
    `disk error statement ${name}`,
    `disk error commit ${name}`,
  ]),
  ...[
    'hold pending',
    'hold unknown',
    'release held',
    'cancel pending',
    'retry unknown',
    'resolve needs_review',
    'reorder rejected',
  ].map((act) => `act ${act}`),
  'lost disk',
  'lost disk, looked up',
  'older copy',
  'fewer ordered',
  'shown twice',
  'released within limits',
  'sums of money, all known',
  'end partial',
  ...[
    'itself accepted -> fulfilled',
    'itself not_found -> unknown',
    'replacement accepted -> needs_review',
    'replacement not_found -> needs_review',
    'replacement not_found -> unknown',
    'asked accepted -> fulfilled',
    'asked not_found -> expired',
    'asked not_found -> rejected',
  ].map((end) => `after loss ${end}`),
  ...[
    'accepted buy -> fulfilled',
    'accepted cancel -> fulfilled',
    'accepted cancel -> waiting',
    'not_found buy -> needs_review',
    'not_found buy -> rejected',
    'not_found buy -> waiting',
  ].map((end) => `refusal looked up: ${end}`),
  ...['spelled', 'near', 'sold_before', 'copy', 'given_again'].map((kind) => `odd order ${kind}`),
  ...['part_of', 'names', 'payment'].map((by) => `copy ${by} decided`),
  ...[
    'raised fits',
    'raised does not fit',
    'lowered fits',
    'lowered does not fit',
    'put_back fits',
  ].map((end) => `edited order ${end}`),
  'sold without its SKU',
  ...['cancelled', 'done_by_hand', 'raised', 'lowered', 'put_back', 'added'].flatMap((edit) => [
    `woocommerce order ${edit}`,
    `shopify order ${edit}`,
  ]),
  'shop clock was ahead paid',
  'shop clock was ahead cancelled',
  'shop clock was ahead refunded',
  'webhook of a write woocommerce',
  'webhook of a write shopify',
  'note to a customer',
  'private note',
  'mail completed',
  'fulfilment',
  'tag order-sync-delivered',
  'tag order-sync-review',
  'told results',
  'told order.settled',
  'told order.updated order.settled line.needs_review',
  'given up shop',
  'given up callback',
  ...entryStates.filter((state) => !notAtTheEnd.has(state)).map((state) => `end ${state}`),
];

/** About two of 10,000 seeds reach these: only a run of many more must. */
const rare: ReadonlySet<string> = new Set(
  ['shutdown', 'proxy_refused', 'local_defect'].map((row) => `cell ${row} cancel unknown`),
);
const seedsForRare = 100_000;

export function missingPlaces(coverage: Coverage, seeds: number): readonly string[] {
  const crashes = crashPlacesOf(seeds).flatMap((place) => [
    `crash kill ${place}`,
    `crash power ${place}`,
  ]);
  const expected = [...expectedPlaces, ...crashes].filter(
    (place) => seeds >= seedsForRare || !rare.has(place),
  );
  return expected.filter((place) => coverage.get(place) === 0);
}

export function describeCoverage(coverage: Coverage): string {
  return [...coverage.counts]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([place, times]) => `${String(times).padStart(9)} ${place}`)
    .join('\n');
}
