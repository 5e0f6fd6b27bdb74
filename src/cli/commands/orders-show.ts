import { allowedActions, type EntryActionName } from '../../core/entry/states.ts';
import { isoTime } from '../../core/clock.ts';
import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import type { AttemptDetail, EntryDetail, OrderDetail } from '../../store/read/outbox-reader.ts';
import type { Rejection } from '../../store/intake/intake.ts';
import { plainText, renderTable, shortTime } from '../output.ts';

/** One order as JSON: the contract of `orders show --json`, to which fields may be added. */
export function orderAsJson(order: OrderDetail): Record<string, unknown> {
  return {
    id: order.id,
    source: order.source,
    order_id: order.orderId,
    received_at: order.receivedAt,
    updated_at: order.updatedAt,
    entries: order.entries.map(entryAsJson),
    rejections: order.rejections.map(rejectionAsJson),
    audit: order.audit,
    deliveries: order.deliveries.map(({ sink, done, doneAt, lastError, givenUpAt }) => ({
      sink,
      done,
      done_at: doneAt,
      last_error: lastError,
      given_up_at: givenUpAt,
    })),
  };
}

function entryAsJson(entry: EntryDetail): Record<string, unknown> {
  return {
    reference: entry.reference,
    line_id: entry.lineId,
    operation: entry.operation,
    asked: entry.asked,
    state: entry.state,
    outcome_unknown: entry.outcomeUnknown,
    next_step: entry.nextStep,
    next_attempt_at: entry.nextAttemptAt,
    order_number: entry.orderNumber,
    cost: entry.cost,
    currency: entry.currency,
    error_code: entry.errorCode,
    error_message: entry.errorMessage,
    client_action: actionFor(entry),
    review_reason: entry.reviewReason,
    unit_count: entry.unitCount,
    allowed_actions: allowedActions(entry),
    attempts: entry.attempts.map(attemptAsJson),
  };
}

function attemptAsJson(attempt: AttemptDetail): Record<string, unknown> {
  return {
    number: attempt.number,
    purpose: attempt.purpose,
    key_name: attempt.keyName,
    opened_at: attempt.openedAt,
    closed_at: attempt.closedAt,
    sent: attempt.sent,
    outcome: attempt.outcome,
    http_status: attempt.httpStatus,
    error_code: attempt.errorCode,
    error_message: attempt.errorMessage,
    duration_ms: attempt.durationMs,
  };
}

export function rejectionAsJson(rejection: Rejection): Record<string, unknown> {
  return {
    line_number: rejection.lineNumber,
    source: rejection.source,
    order_id: rejection.orderId,
    line_id: rejection.lineId,
    code: rejection.code,
    field: rejection.field,
    rule: rejection.rule,
    value: rejection.value,
    created_at: isoTime(rejection.createdAtMs),
  };
}

function actionFor(entry: EntryDetail): string | null {
  return entry.errorCode === null ? null : clientActionFor(entry.errorCode);
}

/** One order for people: each entry with its evidence, then what was not accepted, then where the result stands. */
export function orderAsText(order: OrderDetail): string {
  const head = [
    `Order ${order.orderId} of ${order.source}`,
    `received ${shortTime(order.receivedAt)}, changed ${shortTime(order.updatedAt)}`,
  ];
  const results = order.deliveries.map(({ sink, done, doneAt, lastError, givenUpAt }) => {
    if (givenUpAt !== null) return `result (${sink}): given up ${shortTime(givenUpAt)}: ${lastError ?? ''}`;
    if (lastError !== null) return `result (${sink}): failed, will be tried again: ${lastError}`;
    return `result (${sink}): ${done && doneAt !== null ? `written ${shortTime(doneAt)}` : 'due'}`;
  });
  const entries = order.entries.map(entryAsText);
  const rejections = order.rejections.map(
    ({ lineNumber, lineId, code, field, rule, value }) =>
      `  ${[lineNumber === null ? '' : `line ${lineNumber} of the file`, lineId === null ? '' : `line_id ${lineId}`]
        .filter((part) => part !== '')
        .join(', ')}: ${field ?? 'line'} ${rule}${value === null ? '' : `, got ${value}`} (${code})`,
  );
  const decisions = order.audit.map(
    ({ at, actor, action, subject, reason }) => `  ${shortTime(at)}  ${actor}  ${action} ${subject}: ${reason}`,
  );
  const sections = [
    [...head, ...results].map(plainText).join('\n'),
    ...entries,
    ...(rejections.length === 0 ? [] : [['Not accepted', ...rejections].map(plainText).join('\n')]),
    ...(decisions.length === 0 ? [] : [['Decided', ...decisions].map(plainText).join('\n')]),
  ];
  return `${sections.join('\n\n')}\n`;
}

function entryAsText(entry: EntryDetail): string {
  const action = actionFor(entry);
  const actions = allowedActions(entry);
  const error = [entry.errorCode, entry.errorMessage].filter((part) => part !== null).join(': ');
  const facts: readonly (readonly [string, string | null])[] = [
    ['asked', entry.asked],
    ['state', entry.outcomeUnknown ? `${entry.state} (an attempt may have been processed)` : entry.state],
    ['review', entry.reviewReason],
    ['next', entry.nextAttemptAt === null ? null : `${entry.nextStep}, due ${shortTime(entry.nextAttemptAt)}`],
    ['supplier', entry.orderNumber === null ? null : supplierText(entry)],
    ['error', error === '' ? null : error],
    ['what to do', action],
    ['allowed', actions.length === 0 ? nothingAllowed(entry) : actions.join(', ')],
    ...actions.map((it): [string, string] => ['', commandFor(it, entry.reference)]),
  ];
  const lines = facts.flatMap(([name, text]) => (text === null ? [] : [`  ${name.padEnd(10)}  ${plainText(text)}`]));
  const title = plainText(`${entry.reference}  line ${entry.lineId}  ${entry.operation}`);
  return [title, ...lines, attemptsAsText(entry.attempts)].join('\n');
}

function nothingAllowed(entry: EntryDetail): string {
  if (entry.state === 'sending') return 'nothing: its call is open';
  return entry.replaced ? 'nothing: another reference took its place' : 'nothing: it is final';
}

/** What a person types to do it. */
export function commandFor(action: EntryActionName, reference: string): string {
  const special: Partial<Record<EntryActionName, string>> = {
    resolve: ' --as fulfilled|rejected|refunded',
    reorder: ` --confirm ${reference}`,
  };
  return `order-sync orders ${action} ${reference}${special[action] ?? ''} --reason "…"`;
}

function supplierText(entry: EntryDetail): string {
  const cost = entry.cost === null ? '' : `, ${entry.cost} ${entry.currency ?? ''}`;
  return `order ${entry.orderNumber ?? ''}${cost}, ${entry.unitCount} ${entry.unitCount === 1 ? 'unit' : 'units'}`;
}

function attemptsAsText(attempts: readonly AttemptDetail[]): string {
  if (attempts.length === 0) return '  attempts    none: it was never sent';
  const rows = attempts.map((attempt) => [
    String(attempt.number),
    attempt.openedAt,
    attempt.purpose,
    attempt.keyName,
    attempt.closedAt === null ? 'open' : `${attempt.outcome ?? ''}${attempt.sent === false ? ' (never left)' : ''}`,
    attempt.httpStatus === null ? '-' : String(attempt.httpStatus),
    attempt.durationMs === null ? '-' : `${attempt.durationMs} ms`,
    [attempt.errorCode, attempt.errorMessage].filter((part) => part !== null && part !== '').join(': '),
  ]);
  return renderTable(
    ['  #', 'OPENED', 'PURPOSE', 'KEY', 'OUTCOME', 'HTTP', 'TOOK', 'MESSAGE'],
    rows.map(indented),
  ).trimEnd();
}

function indented(row: readonly string[]): string[] {
  return row.map((cell, index) => (index === 0 ? `  ${cell}` : cell));
}
