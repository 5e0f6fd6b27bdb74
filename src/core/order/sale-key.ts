/** What tells a sale from another one with the same id; empty: unknown. */
export type SaleKey = readonly [key: string, time: string, customer: string];

/** Staff may change the time of a sale or its customer, but hardly both. */
export function isOtherSale(one?: SaleKey | null, other?: SaleKey): boolean {
  const [key, time, customer] = ([0, 1, 2] as const).map(
    (at) => one?.[at] && other?.[at] && one[at] !== other[at],
  );
  return typeof key === 'boolean' ? key : time === true && customer === true;
}
