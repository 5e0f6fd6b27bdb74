import type { Account, ApiKey } from '../account/accounts.ts';
import type { Plan, Product } from './catalogue.ts';
import type { Esim } from './esims.ts';
import type { Operation } from './operations.ts';

/** One call of the API as it arrived, before anything is known about it. */
export type Call = {
  operation: Operation;
  /** When the limiter saw it, milliseconds since the epoch. */
  arrivedAt: number;
  /** The value of `Authorization`, if there is one. */
  authorization: string | undefined;
  /** Where it came from, canonical. */
  address: string;
  /** The last part of the path: an ICCID, a number or reference, a destination. */
  subject: string;
  query: ReadonlyMap<string, string>;
  /** The parsed JSON body, or what is wrong with it. */
  body: { json: unknown } | { problem: string };
};

/** What an order asks for, once its body has been read. */
export type Purchase = {
  reference: string;
  item: string;
  quantity: number;
  days: number | undefined;
  currency: string;
  fingerprint: string;
};

/** What the checks find out about a call on their way. */
export type Progress = {
  key?: ApiKey;
  account?: Account;
  purchase?: Purchase;
  esim?: Esim;
  product?: Product;
  plan?: Plan;
  unitMinor?: number;
  requestCounted: boolean;
  orderCounted: boolean;
  limited: boolean;
};

/** A value that an earlier check must have found; the order of checks guarantees it. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the order of checks should have found the ${what}`);
  return value;
}
