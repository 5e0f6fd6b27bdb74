import { z } from 'zod';
import { candidates, pathTemplate } from './wire-parts.ts';

const queryName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.[\]-]{0,63}$/, 'must be the name of a query parameter');

/**
 * How a long list is read. `off`: the first answer is the whole list. `page`: a query parameter has
 * the number of the page. `next`: each answer names the next page, by an address of the same origin
 * or by a token.
 */
const paging = z.strictObject({
  mode: z.enum(['off', 'page', 'next']).default('off'),
  page_param: queryName.default('page'),
  first_page: z.int().min(0).max(1).default(1),
  size_param: z.union([z.literal('off'), queryName]).default('off'),
  size: z.int().min(1).max(10_000).default(100),
  /** Where an answer names its next page. */
  next: candidates('next links.next meta.next pagination.next next_page_token next_cursor'),
  /** Where an answer says how many pages there are. */
  last_page: candidates(
    'meta.last_page last_page total_pages meta.total_pages pagination.total_pages',
  ),
  token_param: queryName.default('cursor'),
  max_pages: z.int().min(1).max(10_000).default(200),
});

/**
 * The paths of the catalogue and the field names of its items (Spec 4: not shown, except the path
 * `/products`).
 */
export const catalogueWire = z.strictObject({
  products: z.strictObject({ method: z.enum(['GET', 'POST']).default('GET') }).prefault({}),
  destinations: z.strictObject({ path: pathTemplate().default('/esim/destinations') }).prefault({}),
  plans: z
    .strictObject({
      path: pathTemplate('destination').default('/esim/destinations/{destination}/plans'),
    })
    .prefault({}),
  paging: paging.prefault({}),
  lists: candidates(
    'products plans destinations topups items results list data.products data.plans data.destinations data.topups data.items data $',
  ),
  key: candidates('variant plan destination id code sku slug'),
  prices: candidates('prices price'),
  /** Where a price that is not a map has its amount and its currency. */
  price_amount: candidates('amount price value'),
  price_currency: candidates('currency currency_code'),
  max_quantity: candidates('max_quantity maxQuantity limit'),
  sellable: candidates('api_sellable sellable enabled'),
  website_only: candidates('website_only websiteOnly'),
  daily: candidates('daily is_daily isDaily'),
  type: candidates('type kind'),
  min_days: candidates('min_days minDays days.min'),
  max_days: candidates('max_days maxDays days.max'),
});
export type CatalogueWire = z.output<typeof catalogueWire>;
