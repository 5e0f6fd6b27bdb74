import type { OrderAnswer } from '../../core/answers/order-answer.ts';
import {
  type ExactJson,
  isJsonList,
  isJsonObject,
  type ExactJsonObject,
} from '../../core/exact-json.ts';
import type { Operation } from '../../core/order/purchase.ts';
import { flagIn, shownName, shownNames, valueAt } from './answer-values.ts';
import type { AnswerWire } from './wire-answer.ts';

/** Fields by which APIs report an error in another form than Spec 7 shows. */
const errorFields = (
  'error errors err error_code errorCode error_message errorMessage error_msg errorMsg error_description ' +
  'exception fault'
).split(' ');

export const failedAnswer = 'a success whose body says that the order failed';

/** Whether a value says anything: an `errorCode` of 0 and an empty list of `errors` do not. */
function saysSomething(value: ExactJson | undefined): boolean {
  if (value === undefined || value === null || value === false) return false;
  if (isJsonList(value)) return value.length > 0;
  if (isJsonObject(value)) return Object.keys(value).length > 0;
  return value === true || !/^(0*|ok|none|null|false|success)$/i.test(value.trim());
}

function objectsIn(body: ExactJson, wire: AnswerWire): readonly ExactJsonObject[] {
  return [...new Set(['$', ...wire.envelopes])]
    .map((path) => valueAt(body, path))
    .filter(isJsonObject);
}

const saysFailed = (object: ExactJsonObject): boolean =>
  [object['success'], object['ok']].some((flag) => flag !== undefined && flagIn(flag) === false);

/** Whether an answer says of itself that it failed, whatever else it shows. */
export function saysItFailed(body: ExactJson, wire: AnswerWire): boolean {
  return objectsIn(body, wire).some(saysFailed);
}

const hasError = (object: ExactJsonObject): boolean =>
  errorFields.some((name) => Object.hasOwn(object, name) && saysSomething(object[name]));

/** Whether an answer has an error in another form than Spec 7 shows, or says that it failed. */
export const hasErrors = (body: ExactJson, wire: AnswerWire): boolean =>
  objectsIn(body, wire).some((object) => saysFailed(object) || hasError(object));

const isCancelled = (status: string | null | undefined): boolean => /^cancel/i.test(status ?? '');

/**
 * Whether a status word tells about an order. A word for failure alone does not: APIs that answer
 * errors with 200 write `{"status": "error"}`. For a cancel the word `cancelled` is what was asked
 * for. An order that a lookup finds counts as bought, so there `{"status": "success", "data":
 * null}` must not be an order.
 */
function hasStatus(answer: OrderAnswer, what: Operation | 'lookup'): boolean {
  if (what === 'lookup') return answer.statusClass === 'refunded';
  if (answer.statusClass === 'failed') return what === 'esim_cancel' && isCancelled(answer.status);
  return answer.statusClass !== 'none';
}

/**
 * Whether units tell about the order. The eSIM of a top-up or a cancel was named in the request:
 * its state must show.
 */
function hasUnits({ units }: OrderAnswer, what: Operation | 'lookup'): boolean {
  if (what === 'esim_topup') return false;
  return what === 'esim_cancel' ? units.some((unit) => isCancelled(unit.status)) : units.length > 0;
}

/**
 * The names of the fields that came, so that an operator can correct the mapping; never their values.
 */
function fieldsOf(body: ExactJson): string {
  const names = isJsonObject(body) ? Object.keys(body).slice(0, shownNames).map(shownName) : [];
  return names.length === 0 ? '' : `; its fields: ${[...new Set(names)].join(', ')}`;
}

/**
 * Why nothing of the order is recognised in a success; null when something is. Recognised is an
 * answer that shows one of these: a reference, an order number, a status word that the mapping
 * knows, or units. A cost, a currency, a message and a repeated product or quantity are no order: a
 * price, a cart or a validation shows them, too. An answer that says of itself that it failed is
 * none, whatever else it shows; one with an error in another form needs more than a number, because
 * errors have numbers, too.
 */
export function whyUnrecognised(
  body: ExactJson,
  answer: OrderAnswer,
  what: Operation | 'lookup',
  wire: AnswerWire,
): string | null {
  if (saysItFailed(body, wire)) return failedAnswer;
  if (answer.reference !== null || hasStatus(answer, what) || hasUnits(answer, what)) return null;
  if (objectsIn(body, wire).some(hasError)) return 'a success status whose error has another form';
  return answer.orderNumber === null
    ? `a success whose body has no known field of an order${fieldsOf(body)}`
    : null;
}
