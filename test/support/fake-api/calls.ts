export type Family = 'gift_card' | 'esim';

export type CallKind = 'order' | 'lookup' | 'products' | 'other';

/** A call as the server saw it. */
export interface ApiCall {
  readonly atMs: number;
  readonly kind: CallKind;
  /** Null where the call names none. */
  readonly reference: string | null;
  readonly product: string | null;
  /** The status of the answer; null while there is none. */
  http: number | null;
}

/** The calls of a test, which is short: more than these are a defect. */
const mostCalls = 100_000;

/** Every call, in the order of arrival. */
export class CallLog {
  readonly #calls: ApiCall[] = [];

  add(call: ApiCall): void {
    if (this.#calls.length >= mostCalls)
      throw new Error(`more than ${mostCalls} calls in one test`);
    this.#calls.push(call);
  }

  get all(): readonly ApiCall[] {
    return this.#calls;
  }

  count(matches: (call: ApiCall) => boolean): number {
    return this.#calls.filter(matches).length;
  }

  /** Order calls for this product. */
  ordersOf(product: string): readonly ApiCall[] {
    return this.#calls.filter((call) => call.kind === 'order' && call.product === product);
  }
}

/**
 * The rate of these calls as a share of the highest that the limit allows: the time that so many
 * calls need at least, by the time that they took.
 */
export function shareOfCeiling(calls: readonly ApiCall[], limit: number, windowMs: number): number {
  const leastMs = Math.floor((calls.length - 1) / limit) * windowMs;
  return leastMs / ((calls.at(-1)?.atMs ?? 0) - (calls[0]?.atMs ?? 0));
}
