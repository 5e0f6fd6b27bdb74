/**
 * One delivered thing. Suppliers deliver codes, pins, links, pictures and eSIM profiles: whatever was there is kept,
 * what was not is absent.
 */
export interface Unit {
  readonly code?: string;
  readonly pin?: string;
  readonly serial?: string;
  readonly url?: string;
  readonly expires_at?: string;
  readonly iccid?: string;
  readonly lpa?: string;
  readonly smdp_address?: string;
  readonly matching_id?: string;
  readonly confirmation_code?: string;
  readonly qr_url?: string;
  readonly apple_install_url?: string;
  readonly status?: string;
}

/** `failed` and `pending` come from words that the specification does not fix; only `refunded` is given (Spec 3). */
export type StatusClass = 'refunded' | 'failed' | 'done' | 'pending' | 'none';

/** A success answer, read through the wire mapping. Absent fields are null: the spec shows no payload. */
export interface OrderAnswer {
  readonly orderNumber: string | null;
  readonly reference: string | null;
  readonly status: string | null;
  readonly statusClass: StatusClass;
  /** Decimal text as received; never a float. */
  readonly cost: string | null;
  readonly currency: string | null;
  readonly units: readonly Unit[];
}

/** Of an answer that may be about another purchase: its number, for a person to look at. Its units are for nobody. */
export function notOurs(answer: OrderAnswer): OrderAnswer {
  return { ...answer, units: [], cost: null, currency: null };
}
