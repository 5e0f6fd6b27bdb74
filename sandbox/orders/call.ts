import type { Account, ApiKey } from '../account/accounts.ts';
import type { Plan, Product } from './catalogue.ts';
import type { Esim } from './units.ts';
import type { Operation } from '../values/operations.ts';

/**
 * The body of a request, or why it cannot be read: a sentence for the message of `invalid_request`.
 */
export type JsonBody = { json: unknown } | { problem: string };

export type Call = {
  operation: Operation;
  /** When the limits count it, in milliseconds since the epoch. */
  arrivedAt: number;
  token: string | undefined;
  /** The IP address of the caller, in canonical form. */
  address: string;
  /** The parameter in the path: an ICCID, an order number or reference, a destination. */
  subject: string;
  query: ReadonlyMap<string, string>;
  body: JsonBody;
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

type Purchase = {
  reference: string;
  /** A variant or a plan. */
  item: string;
  quantity: number;
  days: number | undefined;
  currency: string;
};

/**
 * A value that an earlier check has found. Throws when it is missing, which the order of checks
 * rules out.
 */
export function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the order of checks should have found the ${what}`);
  return value;
}

type Codes = {
  401: 'invalid_key';
  402: 'insufficient_balance';
  403: 'account_not_allowed' | 'ip_not_allowed';
  404: 'not_found' | 'invalid_variant' | 'invalid_plan';
  409: 'reference_in_use' | 'out_of_stock' | 'not_cancellable';
  422:
    | 'currency_unavailable'
    | 'invalid_request'
    | 'order_refused'
    | 'limit_exceeded'
    | 'not_api_sellable'
    | 'invalid_plan'
    | 'topup_not_allowed';
  // Spec 7 gives no code for 429, but the error body needs one.
  429: 'rate_limited';
  503: 'api_disabled';
};

export type Answer = {
  status: number;
  /** The code of an error, for the request log. */
  code?: string;
  /**
   * An object is sent as JSON; a string is sent as it is: a stored answer, or a body that is not
   * JSON on purpose.
   */
  body: object | string;
  headers?: Record<string, string>;
  /** The number of the order in this answer, for the request log. */
  orderNumber?: string;
  /** True when this call itself bought, topped up or cancelled something; a replay did not. */
  committed?: boolean;
};

/**
 * An error answer with the body of Spec 7. The compiler checks that status and code belong
 * together.
 */
export function refusal<Status extends keyof Codes>(
  status: Status,
  code: Codes[Status],
  message: string,
): Answer {
  return { status, code, body: { error: { code, message } } };
}

export function textOf({ body }: Answer): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

export function toResponse(answer: Answer): Response {
  const text = textOf(answer);
  const type: Record<string, string> = text === '' ? {} : { 'content-type': 'application/json' };
  return new Response(text === '' ? null : text, {
    status: answer.status,
    headers: { ...type, ...answer.headers },
  });
}
