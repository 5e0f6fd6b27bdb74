import type { Family, Operation } from '../core/order/operation.ts';
import { familyOf } from '../core/order/operation.ts';
import type { OrderAnswer } from '../core/decision/order-answer.ts';
import { isOutcomeRow, type Outcome, type OutcomeRow } from '../core/decision/outcome.ts';
import { findErrorRow, isListedCode, wholesaleErrors } from '../core/decision/wholesale-errors.ts';
import type { CallEnd } from './transport/call-end.ts';
import { readErrorBody, type ErrorBody } from './outcome/error-body.ts';
import {
  isJsonList,
  isJsonObject,
  parseExactJsonBytes,
  type ExactJsonObject,
  type ExactJson,
} from '../core/exact-json.ts';
import { messageText, quoted } from '../core/message-text.ts';
import { retryAfterMs, type PlainHeaders } from '../core/http-headers.ts';

/** What a call was for: some codes mean something else where an order was placed. */
export type CallPurpose =
  | { readonly kind: 'submit'; readonly operation: Operation }
  | { readonly kind: 'read'; readonly family: Family };

/** What a readable success says; `mismatch` when it speaks of another order than ours. */
export type SuccessReading =
  | { readonly kind: 'read'; readonly answer: OrderAnswer | null }
  | { readonly kind: 'mismatch'; readonly answer: OrderAnswer; readonly message: string }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Reads the body of a 2xx answer without an `error`: a JSON object, or for a read also a list. */
export type SuccessReader = (answer: ExactJsonObject | readonly ExactJson[]) => SuccessReading;

/** The row of a code that stands where Spec 7 lists it. */
function rowOfListed(http: number, code: string, purpose: CallPurpose): OutcomeRow {
  if (code === 'invalid_plan') return http === 404 ? 'plan_unknown' : 'plan_unorderable';
  // Spec 7 gives `not_found` a meaning for lookups and on eSIM endpoints, but none for placing a gift card order.
  const placesGiftCards = purpose.kind === 'submit' && purpose.operation === 'gift_card_order';
  if (code === 'not_found' && placesGiftCards) return 'not_found_unexpected';
  return isOutcomeRow(code) ? code : 'unlisted_code';
}

function rowOfError(http: number, code: string, purpose: CallPurpose): OutcomeRow {
  const family = purpose.kind === 'submit' ? familyOf(purpose.operation) : purpose.family;
  if (findErrorRow(http, code, family) !== null) return rowOfListed(http, code, purpose);
  if (http >= 500) return 'server_error';
  if (http >= 400) return isListedCode(code) ? 'code_out_of_place' : 'unlisted_code';
  // A 2xx with an error is believed as that error, if the family has such a code.
  const listed = wholesaleErrors.find((row) => row.code === code && row.families.includes(family));
  if (listed !== undefined) return rowOfListed(listed.http, code, purpose);
  return isListedCode(code) ? 'code_out_of_place' : 'unlisted_code';
}

/** An answer that is not the API speaking: what it looked like, for a person. Never its body when it was a 2xx. */
function foreignMessage(http: number, headers: PlainHeaders, body: Uint8Array): string {
  const type = headers['content-type'] ?? 'no content type';
  const shape = `HTTP ${http}, ${messageText(type, 64)}, ${body.byteLength} bytes`;
  // The body of a success may hold delivered codes even if it cannot be read.
  if (http < 400) return shape;
  const start = Buffer.from(body.subarray(0, 2000)).toString('utf8');
  const words = messageText(
    start.replaceAll(/<(script|style)[\s\S]*?(<\/\1>|$)/gi, ' ').replaceAll(/<[^>]*>?/g, ' '),
    160,
  );
  return words === '' ? shape : `${shape}: ${words}`;
}

interface Ending {
  readonly row: OutcomeRow;
  readonly http: number;
  readonly message: string;
  readonly code?: string;
  readonly retryAfterMs?: number | null;
  readonly answer?: OrderAnswer | null;
  readonly breach?: string;
}

function answered(ending: Ending): Outcome {
  return {
    row: ending.row,
    sent: true,
    http: ending.http,
    code: ending.code === undefined ? null : messageText(ending.code, 64),
    message: messageText(ending.message),
    retryAfterMs: ending.retryAfterMs ?? null,
    answer: ending.answer ?? null,
    breach: ending.breach === undefined ? null : messageText(ending.breach),
  };
}

function classifySuccess(
  answer: { readonly http: number; readonly headers: PlainHeaders; readonly body: Uint8Array },
  purpose: CallPurpose,
  readSuccess: SuccessReader,
): Ending {
  const { http, headers, body } = answer;
  const unreadable = (why: string): Ending => ({
    row: 'unreadable_success',
    http,
    message: `${why} (${foreignMessage(http, headers, body)})`,
  });
  if (body.byteLength === 0) return unreadable('a success without a body');
  const json = parseExactJsonBytes(body);
  if (json === undefined) return unreadable('a success whose body is not complete JSON');
  const isCatalogue = purpose.kind === 'read' && isJsonList(json);
  if (!isCatalogue && !isJsonObject(json)) return unreadable('a success that is not a JSON object');
  if (!isCatalogue && readErrorBody(json).kind === 'strange') {
    return unreadable('a success with an error that has no code');
  }
  const reading = readSuccess(json);
  switch (reading.kind) {
    case 'read':
      return { row: 'accepted', http, message: '', answer: reading.answer };
    case 'mismatch':
      return { row: 'answer_mismatch', http, message: reading.message, answer: reading.answer };
    case 'unreadable':
      return unreadable(reading.message);
  }
}

function errorEnding(http: number, error: ErrorBody, purpose: CallPurpose): Ending {
  const base = { row: rowOfError(http, error.code, purpose), http, code: error.code, message: error.message ?? '' };
  if (http < 300) return { ...base, breach: `HTTP ${http} with the error ${quoted(error.code)}` };
  return error.message === null ? { ...base, breach: 'an error without a message' } : base;
}

/**
 * Says what the end of a call means. Total: any status, any headers, any bytes and any fault have a row, and no row
 * claims more than was seen. Only the error body of Spec 7 counts as the API refusing; the one exception is 429, which
 * is given no code there.
 *
 * @param nowWallMs for a `Retry-After` date in an answer that has no date of its own
 */
export function classify(end: CallEnd, purpose: CallPurpose, readSuccess: SuccessReader, nowWallMs: number): Outcome {
  const { http, headers } = end;
  const asked = retryAfterMs(headers, nowWallMs);
  const body = end.kind === 'answer' ? end.body : new Uint8Array();

  if (http === 429) {
    // The status is the whole answer: Spec 7 gives it no code, and its body may be cut or anybody's.
    const reading = readErrorBody(parseExactJsonBytes(body));
    const error = reading.kind === 'error' ? reading.error : null;
    const message = error?.message ?? foreignMessage(http, headers, body);
    return answered({ row: 'rate_limited', http, message, retryAfterMs: asked, ...(error && { code: error.code }) });
  }
  if (http !== null && http >= 300 && http < 400) {
    const target = headers['location'] === undefined ? 'nowhere' : quoted(headers['location']);
    return answered({ row: 'redirect', http, message: `HTTP ${http} redirects to ${target}; it was not followed` });
  }
  if (end.kind === 'fault') {
    const message = messageText(end.message);
    const { row, sent } = end;
    return { row, sent, http, code: null, message, retryAfterMs: null, answer: null, breach: null };
  }
  if (end.http < 200) {
    return answered({ row: 'cut_answer', http: end.http, message: `HTTP ${end.http} is no final answer` });
  }
  const reading = readErrorBody(parseExactJsonBytes(body));
  if (reading.kind === 'error') {
    return answered({ ...errorEnding(end.http, reading.error, purpose), retryAfterMs: asked });
  }
  if (end.http < 300) return answered(classifySuccess(end, purpose, readSuccess));
  const message = foreignMessage(end.http, headers, body);
  if (end.http < 500) return answered({ row: 'foreign_refusal', http: end.http, message, retryAfterMs: asked });
  const row = end.http === 503 ? 'foreign_unavailable' : 'foreign_server_error';
  return answered({ row, http: end.http, message, retryAfterMs: asked });
}
