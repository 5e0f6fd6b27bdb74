import { scopeFrom, readScope } from '../../core/order/scope.ts';
import { OrderSyncError, assert } from '../../core/order-sync-error.ts';
import { redeliver } from '../results/redelivery.ts';
import { checkedAuditedRequest, recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { OutboxSteps, type Outbox } from '../sqlite/outbox.ts';
import { beginAfterLoss, type AfterLossRequest } from '../entries/after-loss.ts';
import { connectorUnproven, proveConnector } from '../entries/connector-canary.ts';
import { endPauseByOperator, pauseByOperator, readPause, readPauses } from '../entries/pauses.ts';
import {
  actInBulk,
  actOnEntry,
  givePieces,
  type EntryCommand,
  type EntryCommandResult,
} from './entry-command.ts';
import { allowedActions } from '../../core/entry/states.ts';
import {
  acknowledgedAtOnce,
  type Redelivery,
  type ResultOf,
} from '../../core/operator/operator-command.ts';
import { readSomeAttention, type Attention, type AttentionFilter } from '../read/attention.ts';
import { actionSubjectOf, findActingRow } from '../read/order-detail.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { releaseHeldForOther } from '../entries/shop-holds.ts';
import { putBalance } from '../entries/balances.ts';

const tryNow = statementOf<[string], never>(
  'UPDATE sink_pauses SET probe_steady = 0 WHERE sink = ?',
);

type ScopeRequest = AuditedRequest & { readonly scope: string };

/**
 * The decisions of people. Each is one step, and leaves an audit entry in the same transaction. All
 * throw INVALID_INPUT for a request without an actor or a reason.
 */
export class Operator extends OutboxSteps {
  /** @throws OrderSyncError NOT_FOUND, NOT_ALLOWED (naming the state and what is allowed) */
  readonly actOnEntry = this.#decision<EntryCommand, EntryCommandResult>(actOnEntry);

  /**
   * As `actOnEntry`, for some entries in one step. One that does not fit the filter any more, or
   * refuses, is reported.
   */
  readonly actInBulk = this.#decision(actInBulk);

  /** @throws OrderSyncError NOT_ALLOWED */
  readonly givePieces = this.#decision(givePieces);

  /**
   * Ends rows of the attention list in which nothing is open any more: those with these ids, or the
   * next that a filter finds.
   */
  readonly acknowledge = this.#decision(acknowledge);

  /**
   * Has results delivered again, some in one step: how many are due now, and where the next step
   * continues.
   */
  readonly redeliver = this.#decision(
    (
      outbox,
      request: AuditedRequest & { readonly which: Redelivery; readonly afterId: number },
    ) => {
      const { which, afterId } = request;
      const done = redeliver(outbox, which, afterId);
      const { source, orderId } = which;
      const subject =
        source === undefined || orderId === undefined ? 'results' : `${source}/${orderId}`;
      const detail = { ...which, after_id: afterId, due: done.due };
      if (done.due > 0)
        recordAudit(outbox.database, { ...request, action: 'redeliver', subject, detail });
      return done;
    },
  );

  /**
   * Pauses a scope until an operator resumes it. Takes over a pause of the worker, which no probe ends
   * then.
   * @throws OrderSyncError INVALID_INPUT, NOT_ALLOWED when an operator paused it already
   */
  readonly pauseScope = this.#decision(pauseScope);

  /** Has a paused sink tried at once. @throws OrderSyncError NOT_ALLOWED when it is not paused */
  readonly trySink = this.#decision(
    ({ database }, { sink, ...request }: AuditedRequest & { readonly sink: string }): void => {
      if (tryNow(database).run(sink).changes === 0)
        throw new OrderSyncError('NOT_ALLOWED', `The sink ${sink} is not paused`, {
          hint: 'paused sinks are in `order-sync queue status`',
        });
      recordAudit(database, { ...request, action: 'resume', subject: `sink:${sink}` });
    },
  );

  /** As the supplier shows it now. */
  readonly setBalance = this.#decision(
    (
      { database, clock },
      request: AuditedRequest & { readonly currency: string; readonly millionths: number },
    ): void => {
      const { currency, millionths } = request;
      putBalance(database).run({ ...request, steadyMs: clock.steadyMs() });
      const [subject, detail] = [`balance:${currency}`, { millionths }];
      recordAudit(database, { ...request, action: 'set_balance', subject, detail });
    },
  );

  /** Somebody signed in to the pages. */
  readonly signedIn = this.#decision(
    ({ database }, { role, ...request }: AuditedRequest & { readonly role: string }) =>
      recordAudit(database, { ...request, action: 'sign_in', subject: 'pages', detail: { role } }),
  );

  /** @throws OrderSyncError INVALID_INPUT, NOT_ALLOWED when it is not paused */
  readonly resumeScope = this.#decision(resumeScope);

  /**
   * This outbox replaces one that was lost, or is an older copy of it: the worker looks up every
   * open entry, and every entry that arrives until `untilMs`, before it sends it.
   */
  async beginAfterLoss(request: AfterLossRequest): Promise<void> {
    beginAfterLoss(this.outbox, request);
  }

  #decision<Request extends AuditedRequest, Result>(
    decide: (outbox: Outbox, request: Request) => Result,
  ) {
    return this.step((outbox, given: Request) => decide(outbox, checkedAuditedRequest(given)));
  }
}

function pauseScope({ database }: Outbox, request: ScopeRequest): void {
  const { scope } = request;
  readScope(scope);
  const before = readPause(database, scope);
  if (!pauseByOperator(database, request)) {
    throw new OrderSyncError('NOT_ALLOWED', `${scope} is paused already, by ${before?.openedBy}`, {
      hint: 'resume it with `order-sync queue resume`',
    });
  }
  const detail = { before, after: readPause(database, scope) };
  recordAudit(database, { ...request, action: 'pause', subject: scope, detail });
}

function resumeScope({ database }: Outbox, request: ScopeRequest): void {
  const { scope, nowMs } = request;
  readScope(scope);
  const before = readPause(database, scope);
  if (!endPauseByOperator(database, scope)) {
    const paused = readPauses(database).map((pause) => pause.scope);
    throw new OrderSyncError('NOT_ALLOWED', `${scope} is not paused`, {
      hint: paused.length === 0 ? 'nothing is paused' : `paused are: ${paused.join(', ')}`,
    });
  }
  // An operator who resumes a family that waits for its first delivered order takes the connector
  // for right.
  const unproven = before?.reason === connectorUnproven ? scopeFrom(scope) : null;
  if (unproven?.kind === 'family') proveConnector(database, unproven.family, nowMs);
  recordAudit(database, {
    ...request,
    action: 'resume',
    subject: scope,
    detail: { before, after: null },
  });
}

export interface AcknowledgeRequest extends AuditedRequest {
  readonly which: Omit<AttentionFilter, 'canAcknowledge'>;
}

type Acknowledged = ResultOf<'acknowledged'>;
type NotAcknowledged = Acknowledged['refused'][number];

const updateOf = (table: string, key: string) =>
  statementOf<{ nowMs: number; key: string }, never>(
    `UPDATE ${table} SET acknowledged_at_ms = :nowMs WHERE ${key}`,
  );
const updates = new Map([
  ['entry', updateOf('entries', 'reference = :key')],
  ['line', updateOf('rejections', 'id = CAST(:key AS INTEGER)')],
  ['file', updateOf('files', 'id = :key')],
  [
    'delivery',
    updateOf(
      'deliveries',
      "request_id = CAST(:key AS INTEGER) AND sink = substr(:key, instr(:key, ':') + 1)",
    ),
  ],
]);

function acknowledge(outbox: Outbox, request: AcknowledgeRequest): Acknowledged {
  const { database } = outbox;
  const { which } = request;
  const found = readSomeAttention(database, acknowledgedAtOnce, {
    ...which,
    canAcknowledge: which.ids === undefined ? true : undefined,
  });
  const rows = found.filter((row) => row.canAcknowledge);
  for (const row of rows) endRow(outbox, row, request);
  const ended = new Set(rows.map(({ id }) => id));
  const others = (which.ids ?? []).filter((id) => !ended.has(id));
  return { acknowledged: [...ended], refused: others.map((id) => refusalOf(database, id, found)) };
}

function endRow(outbox: Outbox, row: Attention, request: AcknowledgeRequest): void {
  const { id, kind, code, source, orderId, lineId, since } = row;
  // The id of a row that is no entry is its kind and its key.
  const colon = id.indexOf(':');
  const [table, key] =
    row.reference === null ? [id.slice(0, colon), id.slice(colon + 1)] : ['entry', id];
  const update = updates.get(table);
  assert(update !== undefined, `${id} is of a kind that can be acknowledged`);
  const { nowMs } = request;
  assert(update(outbox.database).run({ key, nowMs }).changes === 1, `${id} is one row`);
  if (code === 'other_worker') releaseHeldForOther(outbox, source ?? '', nowMs);
  const subject =
    row.reference ?? (source === null || orderId === null ? id : `${source}/${orderId}`);
  const detail = { id, kind, code, line_id: lineId, since };
  recordAudit(outbox.database, { ...request, action: 'acknowledge', subject, detail });
}

function refusalOf(database: Sqlite, id: string, found: readonly Attention[]): NotAcknowledged {
  const row = found.find((it) => it.id === id);
  const entry = findActingRow(database).get(id);
  if (entry !== undefined) {
    const { state } = entry;
    const actions = allowedActions(actionSubjectOf(database, entry));
    const why = row === undefined ? 'is not in the attention list' : 'needs a decision';
    const hint =
      actions.length === 0
        ? 'no action is possible for this entry'
        : `what can be done: ${actions.join(', ')}`;
    return {
      id,
      code: 'NOT_ALLOWED',
      message: `${id} is ${state} and ${why}: this entry cannot be acknowledged`,
      hint,
    };
  }
  if (row !== undefined) {
    return {
      id,
      code: 'NOT_ALLOWED',
      message: `${id} needs a decision, so the row cannot be acknowledged`,
      hint: row.whatToDo,
    };
  }
  const hint = '`order-sync queue status` shows the rows of this list with their ids';
  return {
    id,
    code: 'NOT_FOUND',
    message: `The attention list has no row with the id "${id}"`,
    hint,
  };
}
