import type { ApiCall } from './api-call.ts';
import { errorAnswer } from './api-answers.ts';
import type { SimOrder } from './api-ledger.ts';
import type { ApiReadings } from './api-readings.ts';
import type { CallFault } from './call-faults.ts';
import type { Span } from './sim-account.ts';

/** What is wrong with one product for a while, whatever is ordered of it. */
export type ProductTrouble = Span &
  (
    | {
        readonly kind:
          | 'server_error'
          | 'page_of_a_gateway'
          | 'silent'
          | 'dropped'
          | 'sold_with_server_error';
      }
    | { readonly kind: 'slow'; readonly processMs: number }
    /** Accepted; its units come after the span, or never. */
    | { readonly kind: 'never_delivers'; readonly completeAtMs: number }
    /** The answers show another product. */
    | { readonly kind: 'shows_other_product' }
    /**
     * Only the answers to orders show another product, and no reference. Lookups do not, or show no
     * product at all.
     */
    | { readonly kind: 'answers_with_other_product' }
    /**
     * Until its units come, an answer shows placeholders in their place, or codes that will change.
     */
    | { readonly kind: 'shows_placeholders' | 'shows_changing_units'; readonly afterMs: number }
    /** The answers show more units than were sold, or one of them twice. */
    | { readonly kind: 'shows_more_units' | 'repeats_a_unit' }
    /** The units have a field that the mapping does not read. */
    | { readonly kind: 'has_unread_field' }
    /**
     * Answers show the first order like it, and name no reference; or the code of that order was
     * sold again.
     */
    | { readonly kind: 'shows_earlier_order' | 'sells_a_code_twice' }
    /** Answers show the number of the first order like it. */
    | { readonly kind: 'repeats_an_order_number' }
  );

/** For a while the whole API gives no answer to any call, or a wrong one. */
export type Outage = Span & {
  readonly kind: 'refused' | 'silent' | 'page_of_a_gateway' | 'server_error';
};

/** For a while lookups of one family hang, or a proxy answers them with a 404 of its own. */
export type LookupTrouble = Span & {
  readonly kind: 'hangs' | 'foreign_404';
  readonly family: 'gift_card' | 'esim';
};

export interface Troubles {
  readonly products: ReadonlyMap<string, ProductTrouble>;
  readonly outages: readonly Outage[];
  readonly lookups: readonly LookupTrouble[];
  /** The catalogue is larger than the worker reads. */
  readonly catalogueIsLarge: boolean;
}

export const noTroubles: Troubles = {
  products: new Map(),
  outages: [],
  lookups: [],
  catalogueIsLarge: false,
};

/** The product that an order names; null for a call that names none. */
export function productOf(call: ApiCall): string | null {
  return /"(?:variant|plan)":"([^"]+)"/.exec(call.body ?? '')?.[1] ?? null;
}

export const lasts = (span: Span, nowMs: number): boolean =>
  nowMs >= span.fromMs && nowMs < span.untilMs;

const gateway = (status: number): CallFault => ({
  kind: 'replaced',
  processed: false,
  answer: {
    status,
    headers: { 'content-type': 'text/html' },
    body: `<html><title>${status}</title>gateway</html>`,
  },
});
const serverError: CallFault = {
  kind: 'replaced',
  processed: false,
  answer: errorAnswer(500, 'internal', 'an error inside'),
};
const silence: CallFault = { kind: 'lost_request', end: 'timeout' };

/** When the units of an order come that is sold now; null: as those of any other product. */
export function unitsComeAtMs(trouble: ProductTrouble | undefined, nowMs: number): number | null {
  if (trouble === undefined || !lasts(trouble, nowMs)) return null;
  if (trouble.kind === 'never_delivers') return trouble.completeAtMs;
  return 'afterMs' in trouble ? nowMs + trouble.afterMs : null;
}

/** What an answer shows of an order of a product in trouble. */
export function shownInTrouble(
  trouble: ProductTrouble | undefined,
  order: SimOrder,
  readings: ApiReadings,
  { nowMs, isLookup }: { readonly nowMs: number; readonly isLookup: boolean },
): { readonly order: SimOrder; readonly readings: ApiReadings } {
  if (trouble === undefined || !lasts(trouble, order.atMs)) return { order, readings };
  const isComplete = nowMs >= order.completeAtMs;
  const early = { ...readings, doneWord: readings.pendingWord ?? 'processing' };
  const placeholder = [order.product, 'PENDING', order.reference][Math.floor(order.atMs) % 3] ?? '';
  const placeholders = order.units.map(() => placeholder);
  const provisional = order.units.map((_, index) => `PROVISIONAL-${order.number}-${index}`);
  switch (trouble.kind) {
    case 'shows_other_product':
      if (!lasts(trouble, nowMs)) return { order, readings };
      return {
        order: { ...order, product: `not-${order.product}` },
        readings: { ...readings, echo: true },
      };
    case 'answers_with_other_product':
      if (isLookup)
        return { order, readings: order.atMs % 2 < 1 ? { ...readings, echo: false } : readings };
      return {
        order: { ...order, product: `not-${order.product}` },
        readings: { ...readings, echo: 'goods' },
      };
    case 'shows_placeholders':
      return isComplete
        ? { order, readings }
        : {
            order: { ...order, units: placeholders, completeAtMs: 0 },
            readings: { ...readings, doneWord: null },
          };
    case 'shows_changing_units':
      return isComplete
        ? { order, readings }
        : { order: { ...order, units: provisional, completeAtMs: 0 }, readings: early };
    case 'shows_more_units':
      return { order: { ...order, units: [`EXTRA-${order.number}`, ...order.units] }, readings };
    case 'has_unread_field':
      return { order, readings: { ...readings, unreadField: true } };
    case 'repeats_a_unit':
      return { order: { ...order, units: order.units.map(() => order.units[0] ?? '') }, readings };
    default:
      return { order, readings };
  }
}

/** What the troubles of a run do to a call at this time; null for nothing. */
export function troubleOf(troubles: Troubles, call: ApiCall, nowMs: number): CallFault | null {
  const outage = troubles.outages.find((it) => lasts(it, nowMs));
  if (outage !== undefined) return faultOfOutage(outage);
  if (call.method === 'POST') {
    const trouble = troubles.products.get(productOf(call) ?? '');
    return trouble === undefined || !lasts(trouble, nowMs) ? null : faultOfProduct(trouble);
  }
  const family = call.path.startsWith('/esim/orders/')
    ? 'esim'
    : call.path.startsWith('/orders/')
      ? 'gift_card'
      : null;
  const lookup = troubles.lookups.find((it) => it.family === family && lasts(it, nowMs));
  if (lookup === undefined) return null;
  return lookup.kind === 'hangs' ? silence : gateway(404);
}

function faultOfOutage({ kind }: Outage): CallFault {
  switch (kind) {
    case 'refused':
      return { kind: 'not_sent', errorCode: 'ECONNREFUSED' };
    case 'silent':
      return silence;
    case 'page_of_a_gateway':
      return gateway(503);
    case 'server_error':
      return serverError;
  }
}

function faultOfProduct(trouble: ProductTrouble): CallFault | null {
  switch (trouble.kind) {
    case 'server_error':
      return serverError;
    case 'page_of_a_gateway':
      return gateway(502);
    case 'silent':
      return silence;
    case 'dropped':
      return { kind: 'lost_request', end: 'reset' };
    case 'sold_with_server_error':
      return {
        kind: 'replaced',
        processed: true,
        answer: errorAnswer(500, 'internal', 'an error after the sale'),
      };
    case 'slow':
      return { kind: 'slow', processMs: trouble.processMs };
    case 'never_delivers':
    case 'shows_other_product':
    case 'answers_with_other_product':
    case 'shows_placeholders':
    case 'shows_changing_units':
    case 'shows_more_units':
    case 'repeats_a_unit':
    case 'has_unread_field':
    case 'shows_earlier_order':
    case 'sells_a_code_twice':
    case 'repeats_an_order_number':
      return null;
  }
}
