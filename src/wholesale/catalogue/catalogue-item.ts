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

const isAmount = (value: ExactJson): true | null => (amountIn(value, 0) === null ? null : true);

/** The currency of an object with an amount, which may be the item itself. */
function pricedIn(value: ExactJson, wire: CatalogueWire): readonly string[] {
  const hasAmount = isJsonObject(value) && firstAt(value, wire.price_amount, isAmount) === true;
  const currency = hasAmount ? firstAt(value, wire.price_currency, currencyIn) : null;
  return currency === null ? [] : [currency];
}

/**
 * Reads the three known forms: a map by currency, a list of pairs, one price beside its currency.
 */
function currenciesOf(item: ExactJsonObject, wire: CatalogueWire): readonly string[] {
  const found = firstAt(item, wire.prices, (value): readonly string[] | null => {
    if (isJsonList(value)) return value.flatMap((entry) => pricedIn(entry, wire));
    if (!isJsonObject(value)) return null;
    const inMap = Object.entries(value).flatMap(([key, entry]) => {
      const price = isJsonObject(entry)
        ? firstAt(entry, wire.price_amount, isAmount)
        : isAmount(entry);
      return price === null ? [] : (currencyIn(key) ?? []);
    });
    return [pricedIn(value, wire), inMap].find((currencies) => currencies.length > 0) ?? null;
  });
  return [...new Set(found ?? pricedIn(item, wire))];
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
    currencies: currenciesOf(item, wire),
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
    currencies: currenciesOf(item, wire),
  };
};
