import type { Unit } from '../../core/answers/order-answer.ts';
import { readScope, scopeFrom } from '../../core/scopes/scope.ts';
import type { BulkFilter } from '../../core/operator/operator-command.ts';
import { decideAction, type OperatorFacts } from '../../core/operator/operator-decision.ts';
import { familyOf } from '../../core/order/purchase.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { liftShopHold, makeOwnPurchase, whyVanished } from '../submission/shop-holds.ts';
import { beginAfterLoss, purchaseFactsOf, type AfterLossRequest } from '../submission/after-loss.ts';
import { connectorUnproven, proveConnector } from '../submission/connector-canary.ts';
import { applyCommand } from '../submission/entry-changes.ts';
import { entryOfEsim, originOf, rememberEsim } from '../submission/esim-origins.ts';
import { endPauseByPerson, pauseByPerson, readPause, readPauses, type Pause } from '../submission/pauses.ts';
import { reorder } from '../submission/replacements.ts';
import { settlementDelayLeftOf } from '../submission/settlement-delays.ts';
import { checkedAuditedRequest, recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { auditedFields, auditedResolution } from './audited-fields.ts';
import { actOnEach, notFitting } from './act-on-each.ts';
import type { AcceptedLine } from '../intake/accept-batch.ts';
import { stillFitting } from '../read/bulk-entries.ts';
import { type Redelivery, redeliver } from '../results/redelivery.ts';
import { takeFlagged } from './flagged-skus.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type {
  Acknowledged,
  AcknowledgeRequest,
  BulkCommand,
  BulkResult,
  EntryCommand,
  EntryCommandResult,
  Operator,
  TakeFlaggedRequest,
} from './operator.ts';

/** Reads, judges, writes and records what a person decided, in one transaction. */
export class SqliteOperator implements Operator {
  readonly #database: Sqlite;
  readonly #outbox: Outbox;
  readonly #acknowledgements: Acknowledgements;
  readonly #statements;

  constructor(outbox: Outbox) {
    const { database } = outbox;
    this.#database = database;
    this.#outbox = outbox;
    this.#acknowledgements = new Acknowledgements(database);
    this.#statements = {
      find: database.prepare<[string], EntryRow>('SELECT * FROM entries WHERE reference = ?'),
      others: database.prepare<[number, number]>(
        'SELECT 1 FROM entries WHERE line_id = ? AND replaced = 0 AND id <> ?',
      ),
      openCall: database
        .prepare<[number], number>('SELECT 1 FROM attempts WHERE entry_id = ? AND closed_at_ms IS NULL')
        .pluck(),
      hasOtherId: database
        .prepare<[number], number>('SELECT 1 FROM lines WHERE id = ? AND same_as IS NOT NULL')
        .pluck(),
    };
  }

  async actOnEntry(given: EntryCommand): Promise<EntryCommandResult> {
    const command = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => this.#act(command));
  }

  async actInBulk(given: BulkCommand): Promise<BulkResult> {
    const { references, order, which, ...command } = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => {
      const fitting = stillFitting(this.#database, order, which, references);
      return actOnEach(references, (reference) => {
        if (!fitting.has(reference)) throw notFitting(this.#statements.find.get(reference), reference);
        this.#act({ ...command, reference, order: { action: order }, inBulk: which });
      });
    });
  }

  /** Called inside a transaction. A refusal leaves everything as it was. */
  #act(command: EntryCommand & { readonly inBulk?: BulkFilter }): EntryCommandResult {
    const { reference, order, nowMs, inBulk } = command;
    const row = this.#statements.find.get(reference);
    if (row === undefined) {
      throw new OrderSyncError('NOT_FOUND', `No reference "${reference}" is in the outbox`, {
        hint: 'look for it with `order-sync orders list --search`',
      });
    }
    const verdict = decideAction(this.#factsOf(row, command), order, command);
    if (!verdict.ok) throw new OrderSyncError('REFUSED', verdict.why, { hint: verdict.hint });
    const { move } = verdict;
    // A held entry shows why it is held.
    const reviewReason = move.state === 'held' ? command.reason : move.reviewReason;
    const as = order.action === 'reorder' ? (order.as ?? null) : null;
    if (as !== null) this.#checkIsWholeLine(row);
    const newReference = move.reorders ? reorder(this.#outbox, row, as, nowMs) : null;
    const resolvedBy = order.action === 'resolve' ? command.actor : null;
    if (!move.reorders) applyCommand(this.#outbox, row, { ...move, reviewReason, resolvedBy }, nowMs);
    if (order.action === 'release') liftShopHold(this.#database, row);
    const isOwn = order.action === 'release' || (order.action === 'decide_change' && order.isAnother);
    for (const { reference: subject } of isOwn ? makeOwnPurchase(this.#outbox, row, nowMs) : [])
      recordAudit(this.#database, {
        ...command,
        reason: whyVanished,
        action: 'hold',
        subject,
        detail: { instead: reference },
      });
    if (order.action === 'resolve') this.#rememberEsims(row, [...(order.iccids ?? []), ...iccidsOf(row, move.units)]);
    recordAudit(this.#database, {
      ...command,
      action: order.action,
      subject: reference,
      detail: {
        before: auditedFields(row),
        after: auditedFields(this.#statements.find.get(reference) ?? row),
        ...(order.action === 'resolve' ? auditedResolution(order) : {}),
        ...(newReference === null ? {} : { new_reference: newReference, ...(as === null ? {} : { orders: as }) }),
        ...(inBulk === undefined ? {} : { in_bulk: inBulk }),
      },
    });
    return { reference, before: row.state, after: move.state, newReference };
  }

  /** Another request takes the place of what the whole line ordered, not of a part of it. */
  #checkIsWholeLine(row: EntryRow): void {
    if (this.#statements.others.get(row.line_id, row.id) === undefined) return;
    throw new OrderSyncError('REFUSED', `${row.reference} is a part of a line that was ordered in parts`, {
      hint: 'order the rest of the line under a new line id, then end this row with `orders ack`',
    });
  }

  async takeFlagged(given: TakeFlaggedRequest): Promise<AcceptedLine> {
    const request = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => takeFlagged(this.#outbox, request));
  }

  async acknowledge(given: AcknowledgeRequest): Promise<Acknowledged> {
    const request = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => this.#acknowledgements.acknowledge(request));
  }

  async redeliver(given: AuditedRequest & { which: Redelivery; afterId: number }) {
    const request = checkedAuditedRequest(given);
    const { which, afterId, nowMs } = request;
    return inTransaction(this.#database, () => {
      const done = redeliver(this.#outbox, which, afterId, nowMs);
      const { source, orderId } = which;
      const subject = source === undefined || orderId === undefined ? 'results' : `${source}/${orderId}`;
      const detail = { ...which, after_id: afterId, due: done.due };
      if (done.due > 0) recordAudit(this.#database, { ...request, action: 'redeliver', subject, detail });
      return done;
    });
  }

  async pauseScope(given: AuditedRequest & { scope: string }): Promise<void> {
    const request = checkedAuditedRequest(given);
    const { scope, reason, actor, nowMs } = request;
    readScope(scope);
    inTransaction(this.#database, () => {
      const before = readPause(this.#database, scope);
      if (!pauseByPerson(this.#database, { scope, reason, actor, nowMs })) {
        throw new OrderSyncError('REFUSED', `${scope} is paused already, by ${before?.openedBy}`, {
          hint: 'resume it with `order-sync queue resume`',
        });
      }
      const detail = { before, after: readPause(this.#database, scope) };
      recordAudit(this.#database, { ...request, action: 'pause', subject: scope, detail });
    });
  }

  async resumeScope(given: AuditedRequest & { scope: string }): Promise<void> {
    const request = checkedAuditedRequest(given);
    const { scope, nowMs } = request;
    readScope(scope);
    inTransaction(this.#database, () => {
      const before = readPause(this.#database, scope);
      if (!endPauseByPerson(this.#database, scope)) {
        const paused = readPauses(this.#database).map((pause) => pause.scope);
        throw new OrderSyncError('REFUSED', `${scope} is not paused`, {
          hint: paused.length === 0 ? 'nothing is paused' : `paused are: ${paused.join(', ')}`,
        });
      }
      this.#liftCanary(before, nowMs);
      recordAudit(this.#database, { ...request, action: 'resume', subject: scope, detail: { before, after: null } });
    });
  }

  /** Who resumes a family that waits for its first delivered order takes the connector for right. */
  #liftCanary(pause: Pause | null, nowMs: number): void {
    const scope = pause?.reason === connectorUnproven ? scopeFrom(pause.scope) : null;
    if (scope?.kind === 'family') proveConnector(this.#database, scope.family, nowMs);
  }

  async beginAfterLoss(request: AfterLossRequest): Promise<void> {
    beginAfterLoss(this.#database, request);
  }

  /** The order of an eSIM answers for its cancel, so what the API said about it is never replaced. */
  #rememberEsims(row: EntryRow, iccids: readonly string[]): void {
    for (const iccid of iccids) {
      const owner = entryOfEsim(this.#database, iccid);
      if (owner !== undefined && owner.id !== row.id) {
        throw new OrderSyncError('REFUSED', `The eSIM ${iccid} came with the order ${owner.reference}`, {
          hint: 'compare the ICCIDs with the list of the supplier; nothing was changed',
        });
      }
      rememberEsim(this.#database, iccid, row.id);
    }
  }

  #factsOf(row: EntryRow, command: EntryCommand): OperatorFacts {
    const isOriginKnown = row.operation !== 'esim_cancel' || originOf(this.#database, row) !== null;
    return {
      ...purchaseFactsOf(this.#database, row),
      reference: row.reference,
      operation: row.operation,
      heldFrom: row.held_from,
      replaced: row.replaced === 1,
      unitsMissing: row.units_missing,
      nextStep: row.next_step,
      dueAtMs: row.due_at_ms,
      settlementDelayEndMs: row.settlement_delay_end_ms,
      settlementDelayLeftMs: settlementDelayLeftOf(this.#outbox, row, command),
      notAfterMs: row.not_after_ms,
      units: this.#outbox.units.of(row),
      variant: row.variant,
      plan: row.plan,
      quantity: row.quantity,
      reviewReason: row.review_reason,
      hasOtherId: this.#statements.hasOtherId.get(row.line_id) !== undefined,
      callOpen: this.#statements.openCall.get(row.id) !== undefined,
      canLookUp: command.lookupFamilies.includes(familyOf(row.operation)) && isOriginKnown,
    };
  }
}

/** The eSIMs among the units of an order. */
function iccidsOf(row: EntryRow, units: readonly Unit[] | null): readonly string[] {
  if (row.operation !== 'esim_order') return [];
  return (units ?? []).flatMap(({ iccid }) => iccid ?? []);
}
