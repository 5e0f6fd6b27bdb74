import { clientActionFor } from '../core/answers/wholesale-errors.ts';
import { samePurchase } from '../core/operator/operator-decision.ts';
import { isMaybeBought } from '../core/entry/may-be-bought.ts';
import type { AttemptDetail, EntryDetail } from '../store/read/order-detail.ts';
import type { TimelineEvent } from '../store/read/timeline.ts';

// What the pages and the command line say of an entry and its calls, in the same words.

export function stateText(entry: EntryDetail): string {
  const { state, outcomeUnknown, unitsMissing, errorCode } = entry;
  if (unitsMissing > 0)
    return `${state} (${unitsMissing} of its units are not in the outbox: needs_manual_delivery)`;
  if (outcomeUnknown) return `${state} (an attempt was perhaps processed)`;
  // Looked up before it ends: `rejected`, `expired` or `cancelled`.
  if (state === 'unknown') return `${endOf(errorCode)}, being confirmed`;
  return isMaybeBought(entry) ? `${state} (may have been bought)` : state;
}

/** How an entry ends once a lookup has confirmed that it was not bought. */
export function endOf(errorCode: string | null): string {
  if (errorCode === null) return 'too late';
  return ['taken_back', 'cancelled_by_person', samePurchase].includes(errorCode)
    ? 'cancelled'
    : 'refused';
}

/**
 * Advice about the code of the last call; null for a held entry: the reason of its hold says what
 * to do.
 */
export function adviceAbout({ state, errorCode }: EntryDetail): string | null {
  return errorCode === null || state === 'held' ? null : clientActionFor(errorCode);
}

/** `code: message`. */
export const errorText = ({
  errorCode,
  errorMessage,
}: Pick<EntryDetail, 'errorCode' | 'errorMessage'>): string =>
  [errorCode, errorMessage].filter(Boolean).join(': ');

/** How a call ended, as cells of a table. */
export function callTexts({
  closedAt,
  outcome,
  sent,
  httpStatus,
  durationMs,
  ...answer
}: AttemptDetail) {
  return {
    outcome:
      closedAt === null ? 'open' : `${outcome ?? ''}${sent === false ? ' (never left)' : ''}`,
    httpStatus: httpStatus === null ? '-' : String(httpStatus),
    took: durationMs === null ? '-' : `${durationMs} ms`,
    answer: errorText(answer),
  };
}

/** Who did what an event says, and the facts of its call. */
export function eventText({
  actor,
  number,
  keyName,
  httpStatus,
  durationMs,
  errorCode,
}: TimelineEvent): string {
  const facts = [
    actor === null ? null : `by ${actor}`,
    number === null ? null : `call ${number}`,
    keyName === null ? null : `key ${keyName}`,
    httpStatus === null ? null : `HTTP ${httpStatus}`,
    durationMs === null ? null : `${durationMs} ms`,
    errorCode,
  ];
  return facts.filter(Boolean).join(', ');
}
