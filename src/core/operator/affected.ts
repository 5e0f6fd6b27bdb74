import { shortDuration } from '../clock.ts';

/**
 * The orders behind a pause, a cause in the attention list or a choice of entries, and their money.
 * A part of the JSON contract.
 */
export interface Affected {
  readonly orders: number;
  /**
   * What their lines were charged, else what they would cost by the last cost of their products, as
   * decimal numbers. Currencies are never added up.
   */
  readonly amounts: readonly { readonly currency: string; readonly amount: string }[];
  /** Lines in no amount: no cost of their product is known. */
  readonly lines_without_amount: number;
  /** When the oldest of the lines came in; null: there is none. */
  readonly oldest_at: string | null;
  /** There are more than were looked at. */
  readonly more: boolean;
}

/** `3 orders, 412.00 EUR, the oldest for 2 h`; empty: no order is affected. */
export function affectedText(affected: Affected | null, nowMs: number): string {
  if (affected === null || affected.orders === 0) return '';
  const { orders, amounts, lines_without_amount: unknown, oldest_at: oldest, more } = affected;
  const facts = [
    `${more ? 'at least ' : ''}${orders} ${orders === 1 ? 'order' : 'orders'}`,
    ...amounts.map(({ currency, amount }) => `${amount} ${currency}`),
    ...(unknown === 0 ? [] : [`${unknown} ${unknown === 1 ? 'line' : 'lines'} of unknown cost`]),
    ...(oldest === null ? [] : [`the oldest for ${shortDuration(nowMs - Date.parse(oldest))}`]),
  ];
  return facts.join(', ');
}
