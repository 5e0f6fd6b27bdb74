import {
  isOutcomeRow,
  withoutAnswer,
  type Outcome,
  type OutcomeRow,
} from '../core/answers/outcome.ts';
import { unreadText } from '../core/answers/order-answer.ts';
import { findErrorRow, isListedCode, wholesaleErrors } from '../core/answers/wholesale-errors.ts';
import {
  type ExactJson,
  type ExactJsonObject,
  isJsonList,
  isJsonObject,
  parseExactJsonBytes,
} from '../core/exact-json.ts';
import { retryAfterMs, type PlainHeaders } from '../core/http-headers.ts';
import { messageText, quoted } from '../core/message-text.ts';
import { familyOf, type Family, type Operation } from '../core/order/purchase.ts';
import { maskedWords } from './connector/mask-answer.ts';
import type { SuccessReading } from './connector/read-answer.ts';
import type { CallEnd } from './transport/call-end.ts';

/** The purpose of a call: some error codes have another meaning where an order was placed. */
export type CallPurpose =
  | { readonly kind: 'submit'; readonly operation: Operation }
  | { readonly kind: 'read'; readonly family: Family };

/** Reads the body of a 2xx answer without `error`: a JSON object, or for a read also a list. */
export type SuccessReader = (answer: ExactJsonObject | readonly ExactJson[]) => SuccessReading;

/**
 * The error body of Spec 7: `{"error": {"code": <string>, "message": <string>}}`, without what may
 * be a delivered code.
 */
interface ErrorBody {
  readonly code: string;
  /**
   * Null when it is missing: the specification does not allow that, but the code counts all the
   * same.
   */
  readonly message: string | null;
}

/**
 * `none`: no error. `strange`: not a JSON object, or an `error` of another form than Spec 7 shows.
 */
function readErrorBody(answer: ExactJson | undefined): ErrorBody | 'none' | 'strange' {
  if (!isJsonObject(answer)) return 'strange';
  const { error } = answer;
  if (error === undefined || error === null || error === false) return 'none';
  if (!isJsonObject(error)) return 'strange';
  const { code, message } = error;
  // Gateways answer in the same form, but with the HTTP status as code.
  if (typeof code !== 'string' || !/^\D/.test(code)) return 'strange';
  const told = typeof message === 'string' ? maskedWords(message) : null;
  return { code: maskedWords(code), message: told };
}

/** The row of a code that came with the status and family that Spec 7 lists. */
function rowOfListed(http: number, code: string, purpose: CallPurpose): OutcomeRow {
  if (code === 'invalid_plan') return http === 404 ? 'plan_unknown' : 'plan_unorderable';
  // Spec 7 explains `not_found` for lookups and for eSIM endpoints, but not for placing a gift card
  // order.
  const placesGiftCards = purpose.kind === 'submit' && purpose.operation === 'gift_card_order';
  if (code === 'not_found' && placesGiftCards) return 'not_found_unexpected';
  return isOutcomeRow(code) ? code : 'unlisted_code';
}

function rowOfError(http: number, code: string, purpose: CallPurpose): OutcomeRow {
  const family = purpose.kind === 'submit' ? familyOf(purpose.operation) : purpose.family;
  if (findErrorRow(http, code, family) !== null) return rowOfListed(http, code, purpose);
  if (http >= 500) return 'server_error';
  if (http >= 400) return isListedCode(code) ? 'code_out_of_place' : 'unlisted_code';
  // A 2xx with an error counts as that error, if the family has such a code.
  const listed = wholesaleErrors.find((row) => row.code === code && row.families.includes(family));
  if (listed !== undefined) return rowOfListed(listed.http, code, purpose);
  return isListedCode(code) ? 'code_out_of_place' : 'unlisted_code';
}

/** Describes an answer that is not the API's, for an operator. */
function foreignMessage(http: number, headers: PlainHeaders, body: Uint8Array): string {
  const type = headers['content-type'] ?? 'no content type';
  const shape = `HTTP ${http}, ${messageText(type, 64)}, ${body.byteLength} bytes`;
  // The body of a success may contain delivered codes even if it cannot be read.
  if (http < 400) return shape;
  const words = messageText(maskedWords(errorWords(body)), 160);
  return words === '' ? shape : `${shape}: ${words}`;
}

/**
 * The `message` and `code` of an error body, and its names; of a page its title. Never another
 * value: a body of any form may repeat delivered codes.
 */
function errorWords(body: Uint8Array): string {
  const json = parseExactJsonBytes(body);
  if (!isJsonObject(json)) {
    const page = Buffer.from(body.subarray(0, 2000)).toString('utf8');
    return /<(?:title|h1)[^>]*>([^<]*)/i.exec(page)?.[1] ?? '';
  }
  const inside = isJsonObject(json['error']) ? json['error'] : json;
  const told = [inside['message'], inside['code']].filter((value) => typeof value === 'string');
  const names = Object.keys(inside).join(', ');
  return [...told, ...(names === '' ? [] : [`its names are ${names}`])].join(', ');
}

type Ending = Pick<Outcome, 'row' | 'http' | 'message'> &
  Partial<Pick<Outcome, 'code' | 'retryAfterMs' | 'answer' | 'breach'>>;

function answered(ending: Ending): Outcome {
  const {
    row,
    http,
    message,
    code = null,
    retryAfterMs: asked = null,
    answer = null,
    breach = null,
  } = ending;
  return {
    row,
    sent: true,
    http,
    code: code === null ? null : messageText(code, 64),
    message: messageText(message),
    retryAfterMs: asked,
    answer,
    breach: breach === null ? null : messageText(breach),
  };
}

function classifySuccess(
  end: { readonly http: number; readonly headers: PlainHeaders; readonly body: Uint8Array },
  json: ExactJson | undefined,
  purpose: CallPurpose,
  readSuccess: SuccessReader,
): Ending {
  const { http, headers, body } = end;
  const unreadable = (why: string): Ending => ({
    row: 'unreadable_success',
    http,
    message: `${why} (${foreignMessage(http, headers, body)})`,
  });
  if (body.byteLength === 0) return unreadable('a success without a body');
  if (json === undefined) return unreadable('a success whose body is not complete JSON');
  const isCatalogue = purpose.kind === 'read' && isJsonList(json);
  if (!isCatalogue && !isJsonObject(json)) return unreadable('a success that is not a JSON object');
  if (!isCatalogue && readErrorBody(json) === 'strange')
    return unreadable('a success with an error that has no code');
  const reading = readSuccess(json);
  switch (reading.kind) {
    case 'read':
      return {
        row: 'accepted',
        http,
        message: (reading.answer && unreadText(reading.answer)) ?? '',
        answer: reading.answer,
      };
    case 'mismatch':
      return { row: 'answer_mismatch', http, message: reading.message, answer: reading.answer };
    case 'unreadable':
      return unreadable(reading.message);
  }
}

function errorEnding(http: number, error: ErrorBody, purpose: CallPurpose): Ending {
  const base = {
    row: rowOfError(http, error.code, purpose),
    http,
    code: error.code,
    message: error.message ?? '',
  };
  if (http < 300) return { ...base, breach: `HTTP ${http} with the error ${quoted(error.code)}` };
  return error.message === null ? { ...base, breach: 'an error without a message' } : base;
}

/**
 * Turns the end of a call into an outcome. Total: every status, body and fault has a row. Only an
 * answer with the error body of Spec 7 counts as a rejection by the API; the exception is 429, for
 * which Spec 7 has no code.
 *
 * @param nowWallMs for a `Retry-After` date in an answer without a `Date` header
 */
export function classify(
  end: CallEnd,
  purpose: CallPurpose,
  readSuccess: SuccessReader,
  nowWallMs: number,
): Outcome {
  const { http, headers } = end;
  const asked = retryAfterMs(headers, nowWallMs);
  const body = end.kind === 'answer' ? end.body : new Uint8Array();

  if (http === 429) {
    // The status alone decides: Spec 7 has no code for it, and a limiter before the API may have
    // written the body.
    const error = readErrorBody(parseExactJsonBytes(body));
    const { code, message } = typeof error === 'string' ? { code: null, message: null } : error;
    const text = message ?? foreignMessage(http, headers, body);
    return answered({ row: 'rate_limited', http, message: text, retryAfterMs: asked, code });
  }
  if (http !== null && http >= 300 && http < 400) {
    const target =
      headers['location'] === undefined ? 'nowhere' : quoted(maskedWords(headers['location']));
    return answered({
      row: 'redirect',
      http,
      message: `HTTP ${http} redirects to ${target}; the redirect was not followed`,
    });
  }
  if (end.kind === 'fault') {
    const { row, sent } = end;
    return { ...withoutAnswer(row, sent, messageText(end.message)), http };
  }
  if (end.http < 200) {
    return answered({
      row: 'cut_answer',
      http: end.http,
      message: `HTTP ${end.http} is no final answer`,
    });
  }
  const json = parseExactJsonBytes(body);
  const error = readErrorBody(json);
  if (typeof error !== 'string')
    return answered({ ...errorEnding(end.http, error, purpose), retryAfterMs: asked });
  if (end.http < 300) return answered(classifySuccess(end, json, purpose, readSuccess));
  const message = foreignMessage(end.http, headers, body);
  if (end.http < 500)
    return answered({ row: 'foreign_refusal', http: end.http, message, retryAfterMs: asked });
  const row = end.http === 503 ? 'foreign_unavailable' : 'foreign_server_error';
  return answered({ row, http: end.http, message, retryAfterMs: asked });
}
