/** What the supplier's catalogue says of a gift card or a piece of software. */
export interface ProductFacts {
  readonly variant: string;
  /** False for what is sold on the website only. */
  readonly sellable: boolean;
  readonly maxQuantity: number | null;
  /** The balances that it has a price in; empty when the catalogue shows no prices. */
  readonly currencies: readonly string[];
}

/** What it says of an eSIM plan. */
export interface PlanFacts {
  readonly plan: string;
  readonly sellable: boolean;
  /** Sold by the day: an order must say how many. */
  readonly daily: boolean;
  readonly minDays: number | null;
  readonly maxDays: number | null;
  readonly currencies: readonly string[];
}

/** The items of the catalogue that were asked for. What is not here is not in the catalogue, if it was read whole. */
export interface CatalogueFacts {
  readonly products: readonly ProductFacts[];
  readonly plans: readonly PlanFacts[];
  /** Why the gift card catalogue was not read to its end; null when it was, or when everything was found before. */
  readonly productsProblem: string | null;
  readonly plansProblem: string | null;
}
