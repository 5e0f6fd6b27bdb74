import * as z from 'zod';

/*
 * The bodies of requests. The spec fixes `reference`, `quantity` and `days` (Spec 2, 4); every
 * other name is an assumption that docs/spec-gaps.md lists.
 */
const reference = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:-]*$/,
    'letters, digits and ._:- are allowed, beginning with a letter or digit',
  )
  .meta({
    description: 'Your own id of the order; unique across both families.',
    examples: ['shop-1001-1'],
  });
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'three capital letters, such as USD')
  .meta({ description: 'The balance to charge.', examples: ['USD'] });
const item = z.string().min(1).max(120);
/**
 * Unbounded: a number that is too large has an error code of its own (Spec 7, `invalid_plan`,
 * `limit_exceeded`).
 */
const wholeNumber = z
  .number()
  .refine((value) => Number.isInteger(value), 'a whole number is expected')
  .meta({ type: 'integer' });
const days = wholeNumber.meta({ description: 'Only for daily plans.' });

export const giftCardOrderRequest = z.strictObject({
  reference,
  variant: item.meta({
    description: 'The product, as /products names it.',
    examples: ['steam-usd-20'],
  }),
  quantity: wholeNumber
    .min(1)
    .meta({ description: 'Up to the limit of the product.', examples: [1] }),
  currency,
});

export const esimOrderRequest = z.strictObject({
  reference,
  plan: item.meta({
    description: "The plan, as its destination's list names it.",
    examples: ['es-5gb-30d'],
  }),
  quantity: wholeNumber.meta({
    description: '1 to 30; anything else is 422 invalid_plan.',
    examples: [1],
  }),
  currency,
  days: days.optional(),
});

export const topupRequest = z.strictObject({
  reference,
  plan: item.meta({ description: "One of the eSIM's top-up plans.", examples: ['es-1gb-7d'] }),
  currency,
  days: days.optional(),
});

export const cancelRequest = z.strictObject({});
