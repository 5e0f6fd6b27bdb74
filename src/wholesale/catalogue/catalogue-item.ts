import { isJsonList, isJsonObject, type ExactJsonObject, type ExactJson } from '../../core/exact-json.ts';
import { amountIn, countIn, currencyIn, firstAt, flagIn, listIn, textIn } from '../connector/answer-values.ts';
import type { CatalogueWire } from '../connector/wire-catalogue.ts';

/** Prices as decimal text, by currency: `{ "USD": "9.50" }`. */
export type Prices = Readonly<Record<string, string>>;

/** A gift card or software product. A fact that the catalogue lacks is null. */
export interface Product {
  readonly variant: string;
  readonly name: string | null;
  readonly prices: Prices;
  /** Pieces available; null when the catalogue gives no number. */
  readonly stock: number | null;
  /** Whether it is in stock; null when the catalogue does not say. */
  readonly available: boolean | null;
  readonly minQuantity: number | null;
  readonly maxQuantity: number | null;
  /** False for a website-only product (Spec 1). */
  readonly sellable: boolean;
}

export interface Destination {
  readonly destination: string;
  readonly name: string | null;
  readonly countries: readonly string[];
}

/** An eSIM plan, or a top-up plan of one eSIM. */
export interface Plan {
  readonly plan: string;
  readonly name: string | null;
  readonly prices: Prices;
  /** Whether `days` must be given (Spec 2). */
  readonly daily: boolean;
  readonly minDays: number | null;
  readonly maxDays: number | null;
  readonly validityDays: number | null;
  /** The amount of data, with its unit where the catalogue names one: `5 GB`. */
  readonly data: string | null;
  readonly unlimited: boolean;
  readonly sellable: boolean;
  readonly countries: readonly string[];
}

/** The currency and amount of one object, which may be the item itself. */
function pricePair(value: ExactJsonObject, wire: CatalogueWire): [string, string] | null {
  const amount = firstAt(value, wire.price_amount, (found) => amountIn(found, wire.money_minor_digits));
  const currency = firstAt(value, wire.price_currency, currencyIn);
  return amount === null || currency === null ? null : [currency, amount];
}

/** Reads the three known forms: a map by currency, a list of pairs, one price beside its currency. */
function pricesOf(item: ExactJsonObject, wire: CatalogueWire): Prices {
  const found = firstAt(item, wire.prices, (value): Prices | null => {
    if (isJsonList(value)) {
      const pairs = value.flatMap((entry) => (isJsonObject(entry) ? [pricePair(entry, wire)] : []));
      return Object.fromEntries(pairs.filter((pair) => pair !== null));
    }
    if (!isJsonObject(value)) return null;
    const pair = pricePair(value, wire);
    if (pair !== null) return Object.fromEntries([pair]);
    const entries = Object.entries(value).flatMap(([key, entry]): [string, string][] => {
      const currency = currencyIn(key);
      const amount = isJsonObject(entry)
        ? firstAt(entry, wire.price_amount, (inner) => amountIn(inner, wire.money_minor_digits))
        : amountIn(entry, wire.money_minor_digits);
      return currency === null || amount === null ? [] : [[currency, amount]];
    });
    return entries.length === 0 ? null : Object.fromEntries(entries);
  });
  if (found !== null) return found;
  const single = pricePair(item, wire);
  return single === null ? {} : Object.fromEntries([single]);
}

function isDaily(item: ExactJsonObject, wire: CatalogueWire): boolean {
  const flag = firstAt(item, wire.daily, flagIn);
  return flag ?? firstAt(item, wire.type, textIn)?.toLowerCase() === 'daily';
}

function countriesOf(item: ExactJsonObject, wire: CatalogueWire): readonly string[] {
  const list = firstAt(item, wire.countries, listIn) ?? [];
  return list.flatMap((country) => textIn(country) ?? []);
}

function dataOf(item: ExactJsonObject, wire: CatalogueWire): string | null {
  const gigabytes = firstAt(item, wire.data_gb, textIn);
  if (gigabytes !== null) return `${gigabytes} GB`;
  const megabytes = firstAt(item, wire.data_mb, textIn);
  return megabytes === null ? firstAt(item, wire.data, textIn) : `${megabytes} MB`;
}

/** The key by which an item is ordered; a string in a list is a key, too. */
export function itemKey(item: ExactJson, wire: CatalogueWire): string | null {
  return isJsonObject(item) ? firstAt(item, wire.key, textIn) : textIn(item);
}

const isSellable = (item: ExactJsonObject, wire: CatalogueWire): boolean =>
  (firstAt(item, wire.sellable, flagIn) ?? true) && !(firstAt(item, wire.website_only, flagIn) ?? false);

/** Reads a product; null for an element without a key: it cannot be ordered. */
export function readProduct(element: ExactJson, wire: CatalogueWire): Product | null {
  const variant = itemKey(element, wire);
  if (variant === null) return null;
  const item = isJsonObject(element) ? element : {};
  const stock = firstAt(item, wire.stock, countIn);
  return {
    variant,
    name: firstAt(item, wire.name, textIn),
    prices: pricesOf(item, wire),
    stock,
    available: stock === null ? firstAt(item, wire.stock, flagIn) : stock > 0,
    minQuantity: firstAt(item, wire.min_quantity, countIn),
    maxQuantity: firstAt(item, wire.max_quantity, countIn),
    sellable: isSellable(item, wire),
  };
}

export function readDestination(element: ExactJson, wire: CatalogueWire): Destination | null {
  const destination = itemKey(element, wire);
  if (destination === null) return null;
  const item = isJsonObject(element) ? element : {};
  return { destination, name: firstAt(item, wire.name, textIn), countries: countriesOf(item, wire) };
}

export function readPlan(element: ExactJson, wire: CatalogueWire): Plan | null {
  const plan = itemKey(element, wire);
  if (plan === null) return null;
  const item = isJsonObject(element) ? element : {};
  return {
    plan,
    name: firstAt(item, wire.name, textIn),
    prices: pricesOf(item, wire),
    daily: isDaily(item, wire),
    minDays: firstAt(item, wire.min_days, countIn),
    maxDays: firstAt(item, wire.max_days, countIn),
    validityDays: firstAt(item, wire.validity_days, countIn),
    data: dataOf(item, wire),
    unlimited: firstAt(item, wire.unlimited, flagIn) ?? false,
    sellable: isSellable(item, wire),
    countries: countriesOf(item, wire),
  };
}
