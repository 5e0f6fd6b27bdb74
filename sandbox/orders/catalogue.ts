import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import { faultSchema } from '../settings/fault-rules.ts';
import { toMinor } from '../values/money.ts';
import type { Database } from '../storage/database.ts';

const itemName = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,79}$/, 'names use a-z, 0-9, "-" and "."');
/** Minor units by currency. */
const prices = z
  .record(z.string().regex(/^[A-Z]{3}$/), z.string().regex(/^\d{1,9}(\.\d{1,3})?$/))
  .transform(
    (written) =>
      new Map(Object.entries(written).map(([name, amount]) => [name, toMinor(amount, name)])),
  );

/** How a test value of the sandbox differs from an ordinary item. */
const behaviour = {
  /** Every order is refused with `order_refused` and this message. */
  refuses: z.string().optional(),
  /** The order succeeds and is refunded: Spec 1, such a response is a success. */
  outcome: z.enum(['completed', 'refunded']).default('completed'),
  /** When its units are delivered; absent: as `fulfilment.mode` says. */
  delivery: z.enum(['immediate', 'delayed']).optional(),
  /** Spoils the first answer to each new reference. */
  fault: faultSchema.optional(),
};

const variantSchema = z.strictObject({
  variant: itemName,
  name: z.string(),
  prices,
  /** Absent: it never runs out. */
  stock: z.int().min(0).optional(),
  max_quantity: z.int().min(1).default(50),
  website_only: z.boolean().default(false),
  ...behaviour,
});

const planSchema = z
  .strictObject({
    plan: itemName,
    name: z.string(),
    prices,
    data_mb: z.int().min(1).optional(),
    unlimited: z.boolean().default(false),
    validity_days: z.int().min(1).max(365).optional(),
    /** Makes it a daily plan: its price is per day, and `days` must lie in this range. */
    daily: z
      .strictObject({ min_days: z.int().min(1), max_days: z.int().min(1).max(365) })
      .optional(),
    on_sale: z.boolean().default(true),
    /** Whether it can be bought as a top-up of an eSIM of the same destination. */
    topup: z.boolean().default(true),
    /** The first state of its eSIMs, and how many checks of that state fail (-1: all). */
    esim: z
      .strictObject({
        state: z.enum(['new', 'installed', 'expired']).default('new'),
        unchecked: z.int().min(-1).default(0),
      })
      .prefault({}),
    ...behaviour,
  })
  .refine(
    ({ daily, validity_days: days }) => daily !== undefined || days !== undefined,
    'needs validity_days, or daily with a range of days',
  );

const catalogueFileSchema = z.strictObject({
  gift_cards: z.array(
    z.strictObject({
      brand: z.string(),
      category: z.string(),
      variants: z.array(variantSchema).min(1),
    }),
  ),
  destinations: z.array(
    z.strictObject({
      destination: itemName,
      name: z.string(),
      countries: z.array(z.string().regex(/^[A-Z]{2}$/)).min(1),
      plans: z.array(planSchema).min(1),
    }),
  ),
});

export type Product = z.output<typeof variantSchema> & { brand: string; category: string };
export type Plan = z.output<typeof planSchema> & { destination: string };
type Destination = { destination: string; name: string; countries: string[]; plans: Plan[] };

export type Catalogue = {
  products: ReadonlyMap<string, Product>;
  plans: ReadonlyMap<string, Plan>;
  destinations: ReadonlyMap<string, Destination>;
};

export const shippedCatalogue = new URL('../catalogue.yaml', import.meta.url);

/** The last catalogue that was read: a test suite starts many sandboxes with the same one. */
let latest: { text: string; catalogue: Catalogue } | undefined;

/** Reads a catalogue file. Throws an error that names the place of every mistake. */
export function readCatalogue(path: string | URL): Catalogue {
  const text = readFileSync(path, 'utf8');
  if (latest?.text !== text) latest = { text, catalogue: catalogueFrom(parse(text), String(path)) };
  return latest.catalogue;
}

function catalogueFrom(content: unknown, origin: string): Catalogue {
  const parsed = catalogueFileSchema.safeParse(content);
  if (!parsed.success)
    throw new Error(`the catalogue ${origin} is not valid:\n${z.prettifyError(parsed.error)}`);
  const products = parsed.data.gift_cards.flatMap(({ variants, ...group }) =>
    variants.map((variant) => ({ ...variant, ...group })),
  );
  const destinations = parsed.data.destinations.map(({ plans, ...place }) => ({
    ...place,
    plans: plans.map((plan) => ({ ...plan, destination: place.destination })),
  }));
  return {
    products: byName(products, ({ variant }) => variant, origin),
    plans: byName(
      destinations.flatMap(({ plans }) => plans),
      ({ plan }) => plan,
      origin,
    ),
    destinations: byName(destinations, ({ destination }) => destination, origin),
  };
}

function byName<Item>(
  items: Item[],
  nameOf: (item: Item) => string,
  origin: string,
): Map<string, Item> {
  const named = new Map(items.map((item) => [nameOf(item), item]));
  const twice = items.find((item) => named.get(nameOf(item)) !== item);
  if (twice !== undefined) throw new Error(`the catalogue ${origin} names ${nameOf(twice)} twice`);
  return named;
}

/** The stock that the catalogue answer shows for a product that never runs out. */
const unlimitedStock = 100_000;

/**
 * How many of each product are left, and which plans are on sale.
 * @internal
 */
export class Stock {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Stores the stock that the catalogue lists. A number that was edited since the last time
   * replaces what is left.
   */
  seed(catalogue: Catalogue): void {
    const upsert = `INSERT INTO stock VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET listed = excluded.listed,
      available = CASE WHEN listed = excluded.listed THEN available ELSE excluded.available END`;
    for (const { variant, stock } of catalogue.products.values()) {
      if (stock !== undefined) this.#database.run(upsert, variant, stock, stock);
    }
  }

  available({ variant }: Product): number {
    const sql = 'SELECT available FROM stock WHERE variant = ?';
    return this.#database.all<{ available: number }>(sql, variant)[0]?.available ?? unlimitedStock;
  }

  /** The caller has checked in the same transaction that there is enough. */
  take({ variant }: Product, quantity: number): void {
    this.#database.run(
      'UPDATE stock SET available = available - ? WHERE variant = ?',
      quantity,
      variant,
    );
  }

  set(variant: string, available: number): void {
    const upsert =
      'INSERT INTO stock VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET available = excluded.available';
    this.#database.run(upsert, variant, available, available);
  }

  isOnSale({ plan, on_sale: listed }: Plan): boolean {
    const sql = 'SELECT on_sale FROM sale_overrides WHERE plan = ?';
    return (this.#database.all<{ on_sale: number }>(sql, plan)[0]?.on_sale ?? Number(listed)) === 1;
  }

  setOnSale(plan: string, onSale: boolean): void {
    const upsert =
      'INSERT INTO sale_overrides VALUES (?, ?) ON CONFLICT DO UPDATE SET on_sale = excluded.on_sale';
    this.#database.run(upsert, plan, Number(onSale));
  }
}
