import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import { type Fault, faultSchema } from '../faults/fault-rules.ts';
import { toMinor } from '../account/money.ts';

const itemName = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,79}$/, 'names use a-z, 0-9, "-" and "."');
const prices = z.record(z.string().regex(/^[A-Z]{3}$/), z.string().regex(/^\d{1,9}(\.\d{1,3})?$/));

/** What an item does besides being sold: the test values of the sandbox. */
const behaviour = {
  /** Ordering it is refused with `order_refused` and this message. */
  refuses: z.string().optional(),
  /** The order succeeds and is refunded: Spec 1, such a response is a success. */
  outcome: z.enum(['completed', 'refunded']).default('completed'),
  /** When its units arrive; without it: as `fulfilment.mode` says. */
  delivery: z.enum(['immediate', 'delayed']).optional(),
  /** Spoils the first answer to each new reference. */
  fault: faultSchema.optional(),
};

const variantSchema = z.strictObject({
  variant: itemName,
  name: z.string(),
  prices,
  /** Without it there is always enough. */
  stock: z.int().min(0).optional(),
  max_quantity: z.int().min(1).default(50),
  website_only: z.boolean().default(false),
  ...behaviour,
});

const planSchema = z.strictObject({
  plan: itemName,
  name: z.string(),
  prices,
  data_mb: z.int().min(1).optional(),
  unlimited: z.boolean().default(false),
  validity_days: z.int().min(1).max(365).optional(),
  /** A daily plan is sold by the day: its price is per day and `days` must lie in this range. */
  daily: z.strictObject({ min_days: z.int().min(1), max_days: z.int().min(1).max(365) }).optional(),
  on_sale: z.boolean().default(true),
  /** May it be bought as a top-up of an eSIM of the same destination? */
  topup: z.boolean().default(true),
  /** The state in which its eSIMs come into the world, and how many checks of that state fail (-1: all). */
  esim: z
    .strictObject({
      state: z.enum(['new', 'installed', 'expired']).default('new'),
      unchecked: z.int().min(-1).default(0),
    })
    .prefault({}),
  ...behaviour,
});

const catalogueFileSchema = z.strictObject({
  gift_cards: z.array(
    z.strictObject({ brand: z.string(), category: z.string(), variants: z.array(variantSchema).min(1) }),
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

type Prices = ReadonlyMap<string, number>;
type Behaviour = { refuses?: string | undefined; outcome: 'completed' | 'refunded'; fault?: Fault | undefined } & {
  delivery?: 'immediate' | 'delayed' | undefined;
};

export type Product = Behaviour &
  Omit<z.output<typeof variantSchema>, 'prices'> & { brand: string; category: string; prices: Prices };
export type Plan = Behaviour & Omit<z.output<typeof planSchema>, 'prices'> & { destination: string; prices: Prices };
export type Destination = { destination: string; name: string; countries: string[]; plans: Plan[] };

/** What is for sale: read from a plain file that people can edit, in the file's own order. */
export type Catalogue = {
  products: ReadonlyMap<string, Product>;
  plans: ReadonlyMap<string, Plan>;
  destinations: ReadonlyMap<string, Destination>;
};

export const shippedCatalogue = new URL('../../../config/sandbox-catalogue.yaml', import.meta.url);

/** The last text that was read and what it said: a test suite starts many sandboxes with one and the same catalogue. */
let latest: { text: string; catalogue: Catalogue } | undefined;

/** Reads a catalogue file. Throws with the place of the first mistake. */
export function readCatalogue(path: string | URL): Catalogue {
  const text = readFileSync(path, 'utf8');
  if (latest?.text !== text) latest = { text, catalogue: catalogueFrom(parse(text), String(path)) };
  return latest.catalogue;
}

function catalogueFrom(content: unknown, origin: string): Catalogue {
  const parsed = catalogueFileSchema.safeParse(content);
  if (!parsed.success) throw new Error(`the catalogue ${origin} is not valid:\n${z.prettifyError(parsed.error)}`);
  const products = new Map<string, Product>();
  for (const { brand, category, variants } of parsed.data.gift_cards) {
    for (const variant of variants) {
      if (products.has(variant.variant)) throw new Error(`the catalogue ${origin} names ${variant.variant} twice`);
      products.set(variant.variant, { ...variant, brand, category, prices: minorPrices(variant.prices) });
    }
  }
  const plans = new Map<string, Plan>();
  const destinations = new Map<string, Destination>();
  for (const place of parsed.data.destinations) {
    if (destinations.has(place.destination))
      throw new Error(`the catalogue ${origin} names ${place.destination} twice`);
    const placePlans: Plan[] = [];
    for (const plan of place.plans) {
      if (plans.has(plan.plan)) throw new Error(`the catalogue ${origin} names ${plan.plan} twice`);
      if (plan.daily === undefined && plan.validity_days === undefined) {
        throw new Error(`the catalogue ${origin}: ${plan.plan} needs validity_days, or daily with a range of days`);
      }
      const complete = { ...plan, destination: place.destination, prices: minorPrices(plan.prices) };
      plans.set(plan.plan, complete);
      placePlans.push(complete);
    }
    destinations.set(place.destination, { ...place, plans: placePlans });
  }
  return { products, plans, destinations };
}

function minorPrices(written: Record<string, string>): Prices {
  return new Map(Object.entries(written).map(([currency, amount]) => [currency, toMinor(amount, currency)]));
}
