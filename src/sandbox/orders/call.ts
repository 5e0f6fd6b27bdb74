import type { Account, ApiKey } from '../account/accounts.ts';
import type { Plan, Product } from './catalogue.ts';
import type { Esim } from './units.ts';
import type { Operation } from '../values/operations.ts';

/**
 * The body of a request as text, and parsed, or why it cannot be read: a sentence for the message of `invalid_request`.
 * The text of a body that is too large ends somewhere after the allowed size.
 */
export type JsonBody = { text: string } & ({ json: unknown } | { problem: string });

/** One call of the API as it arrived. */
export type Call = {
  operation: Operation;
  /** When the limits count it, in milliseconds since the epoch. */
  arrivedAt: number;
  /** The bearer token. */
  token: string | undefined;
  /** The IP address of the caller, in canonical form. */
  address: string;
  /** The parameter in the path: an ICCID, an order number or reference, a destination. */
  subject: string;
  query: ReadonlyMap<string, string>;
  body: JsonBody;
  /** The method, and the path with its query as it was sent, for the request log. */
  method: string;
  path: string;
};

/** The findings of the checks of a call so far. */
export type Progress = {
  key?: ApiKey;
  account?: Account;
  purchase?: Purchase;
  esim?: Esim;
  product?: Product;
  plan?: Plan;
  unitMinor?: number;
  /** Whether the limits let the call in; absent: they have not seen it. */
  letIn?: boolean;
};

/** The order in the body of a call. */
type Purchase = {
  reference: string;
  /** A variant or a plan. */
  item: string;
  quantity: number;
  days: number | undefined;
  currency: string;
  /** Equal for two calls that order the same. */
  fingerprint: string;
};

/** A value that an earlier check has found. Throws when it is missing, which the order of checks rules out. */
export function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the order of checks should have found the ${what}`);
  return value;
}
