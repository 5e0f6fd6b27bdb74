const amount = '900000000.00 USD';

/** Ten limits on spending, which hold nothing: all that an order of this source and product has to fit. */
export const tenLimits = (source: string, product: string): readonly object[] => [
  ...['day', 'hour'].flatMap((per) => [
    { amount, per },
    { amount, per, source },
    { amount, per, product },
    { amount, per, source, product },
  ]),
  { amount, per: 'order' },
  { amount, per: 'order', source },
];
