import { setTimeout as delay } from 'node:timers/promises';
import { refusal, type Answer, type Reply } from './answers.ts';
import type { OrderCall, SoldOrder } from './ledger.ts';

/**
 * How a product answers an order. `sell` puts the order into the ledger, whatever the answer then
 * is; without it nothing was sold.
 */
export type Behaviour = (
  call: OrderCall,
  sell: (show: SoldOrder['show']) => SoldOrder,
) => Reply | Promise<Reply>;

const fieldsOf = (order: SoldOrder, status: string): Record<string, unknown> => ({
  number: order.number,
  reference: order.reference,
  status,
  quantity: order.quantity,
  currency: order.currency,
  [order.family === 'gift_card' ? 'variant' : 'plan']: order.product,
});

function codes(order: SoldOrder): readonly { code: string }[] {
  return Array.from({ length: order.quantity }, (_, index) => ({
    code: `CODE-${order.number}-${index}-${order.reference.slice(-6)}`,
  }));
}

function esims(order: SoldOrder): readonly { iccid: string; lpa: string }[] {
  const serial = (index: number): string => `${order.number.slice(1)}${index}`.padStart(10, '0');
  return Array.from({ length: order.quantity }, (_, index) => ({
    iccid: `89100000${serial(index)}`,
    lpa: `LPA:1$smdp.example.com$${order.number}-${index}`,
  }));
}

/** All units. */
export const complete = (order: SoldOrder): Record<string, unknown> => ({
  ...fieldsOf(order, 'completed'),
  ...(order.family === 'gift_card' ? { codes: codes(order) } : { esims: esims(order) }),
});

/** No units yet. */
export const processing: SoldOrder['show'] = (order) => fieldsOf(order, 'processing');

/** Sells, and shows the order like this. */
export const sellsAndShows =
  (show: SoldOrder['show']): Behaviour =>
  (_call, sell) => {
    const order = sell(show);
    return { http: 201, body: order.show(order) };
  };

export const delivers = sellsAndShows(complete);

/** Sells, and never shows a unit. */
export const neverDelivers = sellsAndShows(processing);

/** Sells, and repeats other fields of the order than were asked for. */
export const echoes = (fields: Readonly<Record<string, unknown>>): Behaviour =>
  sellsAndShows((order) => ({ ...complete(order), ...fields }));

/** Sells nothing, and answers this. */
export const answersWith =
  (answer: Answer): Behaviour =>
  () =>
    answer;

export const fails = answersWith({
  http: 500,
  body: { error: { code: 'internal', message: 'it broke' } },
});
export const refuses = (http: number, code: string): Behaviour => answersWith(refusal(http, code));
/** A success that says nothing about an order. */
export const saysNothing = (body: unknown): Behaviour => answersWith({ http: 200, body });

/** Takes this long before it does the same as the other behaviour. */
export const after =
  (ms: number, then: Behaviour): Behaviour =>
  async (call, sell) => {
    await delay(ms);
    return then(call, sell);
  };
