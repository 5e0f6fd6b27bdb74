import type { Unit } from '../../../src/core/answers/order-answer.ts';
import type {
  LineStatement,
  OrderStatement,
} from '../../../src/storefronts/shop/order-statement.ts';
import type { ShopOrder } from '../../../src/storefronts/shop/shop-order.ts';
import {
  customerMarker,
  customerNotes,
  orderNow,
} from '../../../src/storefronts/woocommerce/order-fields.ts';

const order: ShopOrder = {
  orderId: '7',
  modifiedMs: 0,
  status: 'processing',
  refundCount: 0,
  refundUnclear: false,
  number: '7',
  currency: 'USD',
  paidMs: 0,
  placedMs: 0,
  isDone: false,
  sites: [],
  state: 'paid',
  lines: [],
  unreadable: [],
};

/** The note for a line with these units. `shown`: the order as the shop shows it. */
export function customerNoteFor(
  shown: Readonly<Record<string, unknown>>,
  ...units: readonly Unit[]
) {
  const done = {
    lineId: '71',
    boughtId: '71',
    sku: 'STEAM-20',
    pieces: 1,
    decidedPieces: null,
    state: 'fulfilled',
    stage: 'done',
  } as const;
  const line: LineStatement = { ...done, references: [], units, toppedUp: [], problem: null };
  const about = { source: 'main', orderId: '7', state: 'completed', isSandbox: false } as const;
  const statement: OrderStatement = { ...about, lines: [line], flags: [] };
  const [note] = customerNotes(statement, [line], orderNow(shown, order));
  if (note === undefined) throw new Error('there is one note');
  return { ...note, marker: customerMarker(statement, line) };
}
