import { OrderSyncError } from '../order-sync-error.ts';

/** What is left at the supplier, as a decimal number, and for how long; null: that is not known. */
export interface Balance {
  readonly currency: string;
  readonly left: string;
  readonly hoursLeft: number | null;
}

/** @param rough in two digits, so that the text changes seldom */
export function balanceText({ currency, left, hoursLeft }: Balance, rough = false): string {
  const amount = rough ? `about ${Number(Number(left).toPrecision(2))}` : left;
  const lasts =
    hoursLeft === null ? '' : `, enough for about ${Math.ceil(hoursLeft)} h at today's pace`;
  return `${amount} ${currency} are left${lasts}`;
}

/** @throws OrderSyncError INVALID_INPUT */
export function readAmount(text: string) {
  const [, amount, currency] = /^(\d{1,9}(?:\.\d{1,6})?) ([A-Z]{3})$/.exec(text) ?? [];
  if (currency !== undefined) return { millionths: Math.round(Number(amount) * 1e6), currency };
  throw new OrderSyncError('INVALID_INPUT', `"${text}" is not an amount such as "1200.00 USD"`);
}
