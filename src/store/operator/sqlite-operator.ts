import type { Unit } from '../../core/answers/order-answer.ts';
import { readScope, scopeFrom } from '../../core/scopes/scope.ts';
import type { BulkFilter } from '../../core/operator/bulk.ts';
import { decideAction, type OperatorFacts } from '../../core/operator/operator-decision.ts';
import { familyOf } from '../../core/order/operation.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { type ShopHolds, whyVanished } from '../storefronts/shop-holds.ts';
import type { AfterLoss } from '../submission/after-loss.ts';
import { connectorUnproven, type ConnectorCanary } from '../submission/connector-canary.ts';
import type { EntryChanges } from '../submission/entry-changes.ts';
import { entryOfEsim, originOf, rememberEsim } from '../submission/esim-origins.ts';
import { pausedByPerson, readPauses } from '../submission/paused-scopes.ts';
import type { Replacements } from '../submission/replacements.ts';
import type { SettlementDelays } from '../submission/settlement-delays.ts';
import type { Pause } from '../submission/submission.ts';
import { checkedAuditedRequest, recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { auditedFields, auditedResolution } from './audited-fields.ts';
import { actOnEach, notFitting } from './act-on-each.ts';
import type { LineTable } from '../intake/accept-lines.ts';
import type { AcceptedLine } from '../intake/intake.ts';
import { stillFitting } from '../read/bulk-entries.ts';
import type { Redelivery } from '../results/results.ts';
import type { SqliteResults } from '../results/sqlite-results.ts';
import { FlaggedSkus } from './flagged-skus.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type {
  Acknowledged,
  AcknowledgeRequest,
  AfterLossRequest,
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
  readonly #entries: EntryChanges;
  readonly #replacements: Replacements;
  readonly #results: SqliteResults;
  readonly #afterLoss: AfterLoss;
  readonly #settlementDelays: SettlementDelays;
  readonly #canary: ConnectorCanary;
  readonly #acknowledgements: Acknowledgements;
  readonly #shopHolds: ShopHolds;
  readonly #flaggedSkus: FlaggedSkus;
  readonly #units: SealedUnits;
  readonly #statements;

  constructor(
    database: Sqlite,
    parts: {
      entries: EntryChanges;
      replacements: Replacements;
      results: SqliteResults;
      afterLoss: AfterLoss;
      settlementDelays: SettlementDelays;
      canary: ConnectorCanary;
      shopHolds: ShopHolds;
      lines: LineTable;
      units: SealedUnits;
    },
  ) {
    this.#database = database;
    this.#entries = parts.entries;
    this.#replacements = parts.replacements;
    this.#results = parts.results;
    this.#afterLoss = parts.afterLoss;
    this.#settlementDelays = parts.settlementDelays;
    this.#canary = parts.canary;
    this.#acknowledgements = new Acknowledgements(database);
    this.#shopHolds = parts.shopHolds;
    this.#units = parts.units;
    this.#flaggedSkus = new FlaggedSkus(database, parts);
    this.#statements = {
      find: database.prepare<[string], EntryRow>('SELECT * FROM entries WHERE reference = ?'),
      others: database.prepare<[number, number]>(
        'SELECT 1 FROM entries WHERE line_id = ? AND replaced = 0 AND id <> ?',
      ),
      openCall: database
        .prepare<[number], number>('SELECT 1 FROM attempts WHERE entry_id = ? AND closed_at_ms IS NULL')
        .pluck(),
      // No probe may end a pause that a person opened, also where the worker had opened it before.
      pause: database.prepare(
        `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_at_ms)
         VALUES (:scope, '${pausedByPerson}', :reason, :actor, :nowMs, NULL)
         ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, message = excluded.message, since_ms = excluded.since_ms,
           opened_by = excluded.opened_by, probe_at_ms = NULL, probes = 0
         WHERE pauses.reason <> '${pausedByPerson}'`,
      ),
      hasOtherId: database
        .prepare<[number], number>('SELECT 1 FROM lines WHERE id = ? AND same_as IS NOT NULL')
        .pluck(),
      resume: database.prepare('DELETE FROM pauses WHERE scope = ?'),
      forgetEvidence: database.prepare('DELETE FROM scope_evidence WHERE scope = ?'),
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
    const newReference = move.reorders ? this.#replacements.reorder(row, as, nowMs) : null;
    const resolvedBy = order.action === 'resolve' ? command.actor : null;
    if (!move.reorders) this.#entries.applyCommand(row, { ...move, reviewReason, resolvedBy }, nowMs);
    if (order.action === 'release') this.#shopHolds.lift(row);
    const isOwn = order.action === 'release' || (order.action === 'decide_change' && order.isAnother);
    for (const { reference: subject } of isOwn ? this.#shopHolds.makeOwn(row, nowMs) : [])
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
    return inTransaction(this.#database, () => this.#flaggedSkus.take(request));
  }

  async acknowledge(given: AcknowledgeRequest): Promise<Acknowledged> {
    const request = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => this.#acknowledgements.acknowledge(request));
  }

  async redeliver(given: AuditedRequest & { which: Redelivery; afterId: number }) {
    const request = checkedAuditedRequest(given);
    const { which, afterId, nowMs } = request;
    return inTransaction(this.#database, () => {
      const done = this.#results.redeliver(which, afterId, nowMs);
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
      const before = this.#pauseOf(scope);
      if (this.#statements.pause.run({ scope, reason, actor, nowMs }).changes !== 1) {
        throw new OrderSyncError('REFUSED', `${scope} is paused already, by ${before?.openedBy}`, {
          hint: 'resume it with `order-sync queue resume`',
        });
      }
      const detail = { before, after: this.#pauseOf(scope) };
      recordAudit(this.#database, { ...request, action: 'pause', subject: scope, detail });
    });
  }

  async resumeScope(given: AuditedRequest & { scope: string }): Promise<void> {
    const request = checkedAuditedRequest(given);
    const { scope, nowMs } = request;
    readScope(scope);
    inTransaction(this.#database, () => {
      const before = this.#pauseOf(scope);
      if (this.#statements.resume.run(scope).changes !== 1) {
        const paused = readPauses(this.#database).map((pause) => pause.scope);
        throw new OrderSyncError('REFUSED', `${scope} is not paused`, {
          hint: paused.length === 0 ? 'nothing is paused' : `paused are: ${paused.join(', ')}`,
        });
      }
      // Otherwise the next failure would pause it again, whatever the person has mended.
      this.#statements.forgetEvidence.run(scope);
      this.#liftCanary(before, nowMs);
      recordAudit(this.#database, { ...request, action: 'resume', subject: scope, detail: { before, after: null } });
    });
  }

  /** Who resumes a family that waits for its first delivered order takes the connector for right. */
  #liftCanary(pause: Pause | null, nowMs: number): void {
    const scope = pause?.reason === connectorUnproven ? scopeFrom(pause.scope) : null;
    if (scope?.kind === 'family') this.#canary.prove(scope.family, nowMs);
  }

  #pauseOf(scope: string): Pause | null {
    return readPauses(this.#database).find((pause) => pause.scope === scope) ?? null;
  }

  async beginAfterLoss(request: AfterLossRequest): Promise<void> {
    this.#afterLoss.begin(request);
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
      ...this.#afterLoss.purchaseFactsOf(row),
      reference: row.reference,
      operation: row.operation,
      heldFrom: row.held_from,
      replaced: row.replaced === 1,
      unitsMissing: row.units_missing,
      nextStep: row.next_step,
      dueAtMs: row.due_at_ms,
      settlementDelayEndMs: row.settlement_delay_end_ms,
      settlementDelayLeftMs: this.#settlementDelays.leftOf(row, command),
      notAfterMs: row.not_after_ms,
      units: this.#units.of(row),
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
