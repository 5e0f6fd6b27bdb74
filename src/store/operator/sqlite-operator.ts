import { decideAction, type OperatorFacts } from '../../core/entry/operator-decision.ts';
import { readPauseScope } from '../../core/decision/pause-scope.ts';
import { familyOf } from '../../core/order/operation.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { outcomeRowFrom } from '../../core/decision/outcome.ts';
import { checkedAuditedRequest, type AuditTable } from './audit.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { EntryChanges } from '../submission/entry-changes.ts';
import type { AfterLoss } from '../submission/after-loss.ts';
import type { SettlementDelays } from '../submission/settlement-delays.ts';
import { unitsFrom, type EntryRow } from '../sqlite/rows.ts';
import { pausedByPerson, readPauses } from '../submission/paused-scopes.ts';
import type { Pause } from '../submission/submission.ts';
import type { AuditedRequest, EntryCommand, EntryCommandResult, Operator } from './operator.ts';

/** What people decide: read, judged, written and recorded in one transaction. */
export class SqliteOperator implements Operator {
  readonly #database: Sqlite;
  readonly #entries: EntryChanges;
  readonly #audit: AuditTable;
  readonly #afterLoss: AfterLoss;
  readonly #settlementDelays: SettlementDelays;
  readonly #statements;

  constructor(
    database: Sqlite,
    rooms: { entries: EntryChanges; audit: AuditTable; afterLoss: AfterLoss; settlementDelays: SettlementDelays },
  ) {
    this.#database = database;
    this.#entries = rooms.entries;
    this.#audit = rooms.audit;
    this.#afterLoss = rooms.afterLoss;
    this.#settlementDelays = rooms.settlementDelays;
    this.#statements = {
      find: database.prepare<[string], EntryRow>('SELECT * FROM entries WHERE reference = ?'),
      openCall: database
        .prepare<[number], number>('SELECT 1 FROM attempts WHERE entry_id = ? AND closed_at_ms IS NULL')
        .pluck(),
      ownerOf: database.prepare<[string], { id: number; reference: string }>(
        'SELECT e.id, e.reference FROM esims s JOIN entries e ON e.id = s.entry_id WHERE s.iccid = ?',
      ),
      rememberEsim: database.prepare(
        'INSERT INTO esims (iccid, entry_id) VALUES (?, ?) ON CONFLICT (iccid) DO NOTHING',
      ),
      // The same as what a lookup is made by: an order whose money came back tells nothing about a cancel of its eSIM.
      origin: database
        .prepare<[string], number>(
          "SELECT 1 FROM esims s JOIN entries e ON e.id = s.entry_id WHERE s.iccid = +? AND e.state = 'fulfilled'",
        )
        .pluck(),
      // A pause of the worker becomes the person's: it must not end by a probe any more.
      takeOverPause: database.prepare(
        `INSERT INTO pauses (scope, reason, message, opened_by, since_ms, probe_at_ms)
         VALUES (:scope, '${pausedByPerson}', :message, :openedBy, :nowMs, NULL)
         ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, message = excluded.message, since_ms = excluded.since_ms,
           opened_by = excluded.opened_by, probe_at_ms = NULL, probes = 0
         WHERE pauses.reason <> '${pausedByPerson}'`,
      ),
      endPause: database.prepare('DELETE FROM pauses WHERE scope = ?'),
    };
  }

  async actOnEntry(given: EntryCommand): Promise<EntryCommandResult> {
    const act = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => {
      const row = this.#statements.find.get(act.reference);
      if (row === undefined) {
        throw new OrderSyncError('NOT_FOUND', `No reference "${act.reference}" is in the outbox`, {
          hint: 'look for it with `order-sync orders list --search`',
        });
      }
      const verdict = decideAction(this.#factsOf(row, act), act.order, act);
      if (!verdict.ok) throw new OrderSyncError('REFUSED', verdict.why, { hint: verdict.hint });
      const { move } = verdict;
      const newReference = move.reorders ? this.#entries.reorder(row, act.nowMs) : null;
      if (!move.reorders) this.#entries.moveByPerson(row, this.#explained(move, act), act.nowMs);
      if (act.order.action === 'resolve') this.#rememberEsims(row, act.order.iccids ?? []);
      this.#audit.record({
        ...act,
        action: act.order.action,
        subject: row.reference,
        detail: {
          before: shown(row),
          after: shown(this.#statements.find.get(act.reference) ?? row),
          ...(act.order.action === 'resolve'
            ? { as: act.order.as, note: act.order.note, iccids: act.order.iccids ?? [] }
            : {}),
          ...(newReference === null ? {} : { new_reference: newReference }),
        },
      });
      return { reference: row.reference, before: row.state, after: move.state, newReference };
    });
  }

  async pauseScope(given: AuditedRequest & { scope: string }): Promise<void> {
    const pause = checkedAuditedRequest(given);
    readPauseScope(pause.scope);
    inTransaction(this.#database, () => {
      const before = this.#pauseOf(pause.scope);
      const { changes } = this.#statements.takeOverPause.run({
        scope: pause.scope,
        message: pause.reason,
        openedBy: pause.actor,
        nowMs: pause.nowMs,
      });
      if (changes !== 1) {
        throw new OrderSyncError('REFUSED', `${pause.scope} stands still already, stopped by ${before?.openedBy}`, {
          hint: 'let it go on with `order-sync queue resume`',
        });
      }
      this.#audit.record({
        ...pause,
        action: 'pause',
        subject: pause.scope,
        detail: { before, after: this.#pauseOf(pause.scope) },
      });
    });
  }

  async resumeScope(given: AuditedRequest & { scope: string }): Promise<void> {
    const resume = checkedAuditedRequest(given);
    readPauseScope(resume.scope);
    inTransaction(this.#database, () => {
      const before = this.#pauseOf(resume.scope);
      const { changes } = this.#statements.endPause.run(resume.scope);
      if (changes !== 1) {
        const still = readPauses(this.#database).map((it) => it.scope);
        throw new OrderSyncError('REFUSED', `${resume.scope} does not stand still`, {
          hint: still.length === 0 ? 'nothing stands still' : `what stands still: ${still.join(', ')}`,
        });
      }
      this.#audit.record({ ...resume, action: 'resume', subject: resume.scope, detail: { before, after: null } });
    });
  }

  #pauseOf(scope: string): Pause | null {
    return readPauses(this.#database).find((it) => it.scope === scope) ?? null;
  }

  async beginAfterLoss(request: AuditedRequest & { untilMs: number }): Promise<void> {
    this.#afterLoss.begin(request);
  }

  /** A wrong order of an eSIM would answer for its cancel, so what an answer of the API said is never replaced. */
  #rememberEsims(row: EntryRow, iccids: readonly string[]): void {
    for (const iccid of iccids) {
      const owner = this.#statements.ownerOf.get(iccid);
      if (owner !== undefined && owner.id !== row.id) {
        throw new OrderSyncError('REFUSED', `The eSIM ${iccid} came with the order ${owner.reference}`, {
          hint: 'compare the ICCIDs with the list of the supplier; nothing was changed',
        });
      }
      this.#statements.rememberEsim.run(iccid, row.id);
    }
  }

  /** Whoever meets a held entry reads why. */
  #explained<T extends { state: string; reviewReason: string | null }>(move: T, act: EntryCommand): T {
    return move.state === 'held' ? { ...move, reviewReason: act.reason } : move;
  }

  #factsOf(row: EntryRow, act: EntryCommand): OperatorFacts {
    return {
      reference: row.reference,
      operation: row.operation,
      state: row.state,
      // What an outbox that was lost may have sent is as much in doubt as what this one did.
      outcomeUnknown: row.outcome_unknown === 1 || this.#afterLoss.appliesTo(row),
      heldFrom: row.held_from,
      replaced: row.replaced === 1,
      nextStep: row.next_step,
      dueAtMs: row.due_at_ms,
      settlementDelayEndMs: row.settlement_delay_end_ms,
      settlementDelayLeftMs: this.#settlementDelays.leftOf(row, act),
      row: outcomeRowFrom(row.outcome_row),
      firstSentAtMs: row.first_sent_at_ms,
      notAfterMs: row.not_after_ms,
      orderNumber: row.order_number,
      errorCode: row.error_code,
      unitCount: unitsFrom(row.units).length,
      quantity: row.quantity,
      reviewReason: row.review_reason,
      callOpen: this.#statements.openCall.get(row.id) !== undefined,
      canLookUp: act.lookupFamilies.includes(familyOf(row.operation)) && this.#originKnown(row),
    };
  }

  /** What became of a cancel is told by the order that its eSIM came from. */
  #originKnown(row: EntryRow): boolean {
    if (row.operation !== 'esim_cancel') return true;
    return row.iccid !== null && this.#statements.origin.get(row.iccid) !== undefined;
  }
}

/** What the audit log keeps of an entry before and after. */
function shown(row: EntryRow): Record<string, unknown> {
  return {
    state: row.state,
    next_step: row.next_step,
    due_at_ms: row.due_at_ms,
    outcome_unknown: row.outcome_unknown === 1,
    held_from: row.held_from,
    replaced: row.replaced === 1,
    order_number: row.order_number,
    error_code: row.error_code,
    review_reason: row.review_reason,
  };
}
