import { shortDuration } from '../clock.ts';

/** The orders behind a pause, a cause or a choice of entries, as the JSON contract has them. */
export interface Affected {
  readonly orders: number;
  /** What their lines cost, or would by the last cost of their products, as decimal numbers. */
  readonly amounts: readonly { readonly currency: string; readonly amount: string }[];
  /** Lines in no amount: no cost is known. */
  readonly lines_without_amount: number;
  /** When the oldest line came in; null: there is none. */
  readonly oldest_at: string | null;
  /** There are more than were looked at. */
  readonly more: boolean;
}

const countOf = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;

/** `3 orders, 412.00 EUR, the oldest for 2 h`; empty: no order is affected. */
export function affectedText(affected: Affected | null, nowMs: number): string {
  if (affected === null || affected.oldest_at === null) return '';
  const { orders, amounts, lines_without_amount: unknown, oldest_at: oldest, more } = affected;
  return [
    `${more ? 'at least ' : ''}${countOf(orders, 'order')}`,
    ...amounts.map(({ currency, amount }) => `${amount} ${currency}`),
    ...(unknown === 0 ? [] : [`${countOf(unknown, 'line')} of unknown cost`]),
    `the oldest for ${shortDuration(nowMs - Date.parse(oldest))}`,
  ].join(', ');
}
