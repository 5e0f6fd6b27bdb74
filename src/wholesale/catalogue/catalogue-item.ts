import {
  isJsonList,
  isJsonObject,
  type ExactJsonObject,
  type ExactJson,
} from '../../core/exact-json.ts';
import type { ResultOf } from '../../core/operator/operator-command.ts';
import {
  amountIn,
  countIn,
  currencyIn,
  firstAt,
  flagIn,
  textIn,
} from '../connector/answer-values.ts';
import type { CatalogueWire } from '../connector/wire-catalogue.ts';

/** The wanted items that the catalogue has. */
export type CatalogueFacts = ResultOf<'catalogue'>;
/** A gift card or software product. A fact that the catalogue lacks is null. */
export type Product = CatalogueFacts['products'][number];
/** An eSIM plan, or a top-up plan of one eSIM. */
export type Plan = CatalogueFacts['plans'][number];

export interface Destination {
  readonly destination: string;
}

type Prices = Readonly<Record<string, number>>;
const amountOf = (value: ExactJson): number | null => {
  const amount = amountIn(value, 0);
  return amount === null ? null : Number(amount);
};

/** The price of an object with an amount and its currency, which may be the item itself. */
function pricedIn(value: ExactJson, wire: CatalogueWire): Prices {
  const amount = isJsonObject(value) ? firstAt(value, wire.price_amount, amountOf) : null;
  const currency = amount === null ? null : firstAt(value, wire.price_currency, currencyIn);
  return amount === null || currency === null ? {} : { [currency]: amount };
}

/**
 * Reads the three known forms: a map by currency, a list of pairs, one price beside its currency.
 */
function pricesOf(item: ExactJsonObject, wire: CatalogueWire) {
  const found = firstAt(item, wire.prices, (value): Prices | null => {
    if (isJsonList(value)) return Object.assign({}, ...value.map((entry) => pricedIn(entry, wire)));
    if (!isJsonObject(value)) return null;
    const inMap = Object.entries(value).flatMap(([key, entry]) => {
      const price = isJsonObject(entry)
        ? firstAt(entry, wire.price_amount, amountOf)
        : amountOf(entry);
      const currency = currencyIn(key);
      return price === null || currency === null ? [] : [[currency, price] as const];
    });
    const all = [pricedIn(value, wire), Object.fromEntries(inMap)];
    return all.find((prices) => Object.keys(prices).length > 0) ?? null;
  });
  const prices = found ?? pricedIn(item, wire);
  return { prices, currencies: Object.keys(prices) };
}

/** The key by which an item is ordered; a string in a list is a key, too. */
export function itemKey(item: ExactJson, wire: CatalogueWire): string | null {
  return isJsonObject(item) ? firstAt(item, wire.key, textIn) : textIn(item);
}

const isSellable = (item: ExactJsonObject, wire: CatalogueWire): boolean =>
  (firstAt(item, wire.sellable, flagIn) ?? true) &&
  !(firstAt(item, wire.website_only, flagIn) ?? false);

/** Reads an item with a key; without one it cannot be ordered. */
export type ItemReader<T> = (key: string, element: ExactJson, wire: CatalogueWire) => T;

export const readProduct: ItemReader<Product> = (variant, element, wire) => {
  const item = isJsonObject(element) ? element : {};
  const maxQuantity = firstAt(item, wire.max_quantity, countIn);
  return {
    variant,
    sellable: isSellable(item, wire),
    maxQuantity,
    ...pricesOf(item, wire),
  };
};

export const readDestination: ItemReader<Destination> = (destination) => ({ destination });

export const readPlan: ItemReader<Plan> = (plan, element, wire) => {
  const item = isJsonObject(element) ? element : {};
  return {
    plan,
    sellable: isSellable(item, wire),
    daily:
      firstAt(item, wire.daily, flagIn) ??
      firstAt(item, wire.type, textIn)?.toLowerCase() === 'daily',
    minDays: firstAt(item, wire.min_days, countIn),
    maxDays: firstAt(item, wire.max_days, countIn),
    ...pricesOf(item, wire),
  };
};
