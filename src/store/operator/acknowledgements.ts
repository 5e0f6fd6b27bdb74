import { allowedActions } from '../../core/entry/states.ts';
import { acknowledgedAtOnce, type ResultOf } from '../../core/operator/operator-command.ts';
import { assert } from '../../core/order-sync-error.ts';
import { readSomeAttention, type Attention, type AttentionFilter } from '../read/attention.ts';
import { actionSubjectOf, findActingRow } from '../read/order-detail.ts';
import { recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { releaseHeldForOther } from '../submission/shop-holds.ts';

export interface AcknowledgeRequest extends AuditedRequest {
  readonly which: Omit<AttentionFilter, 'canAcknowledge'>;
}

export type Acknowledged = ResultOf<'acknowledged'>;
type Refusal = Acknowledged['refused'][number];

const updateOf = (table: string, key: string) =>
  statementOf<{ nowMs: number; key: string }, never>(`UPDATE ${table} SET acknowledged_at_ms = :nowMs WHERE ${key}`);
const updates = new Map([
  ['entry', updateOf('entries', 'reference = :key')],
  ['line', updateOf('rejections', 'id = CAST(:key AS INTEGER)')],
  ['file', updateOf('files', 'id = :key')],
  [
    'delivery',
    updateOf('deliveries', "request_id = CAST(:key AS INTEGER) AND sink = substr(:key, instr(:key, ':') + 1)"),
  ],
]);

export function acknowledge(outbox: Outbox, request: AcknowledgeRequest): Acknowledged {
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
  const [table, key] = row.reference === null ? [id.slice(0, colon), id.slice(colon + 1)] : ['entry', id];
  const update = updates.get(table);
  assert(update !== undefined, `${id} is of a kind that can be acknowledged`);
  const { nowMs } = request;
  assert(update(outbox.database).run({ key, nowMs }).changes === 1, `${id} is one row`);
  if (code === 'other_worker') releaseHeldForOther(outbox, source ?? '', nowMs);
  const subject = row.reference ?? (source === null || orderId === null ? id : `${source}/${orderId}`);
  const detail = { id, kind, code, line_id: lineId, since };
  recordAudit(outbox.database, { ...request, action: 'acknowledge', subject, detail });
}

function refusalOf(database: Sqlite, id: string, found: readonly Attention[]): Refusal {
  const row = found.find((it) => it.id === id);
  const entry = findActingRow(database).get(id);
  if (entry !== undefined) {
    const { state } = entry;
    const actions = allowedActions(actionSubjectOf(database, entry));
    const why = row === undefined ? 'is not in the attention list' : 'needs a decision';
    const hint = actions.length === 0 ? 'nothing can be done to it' : `what can be done: ${actions.join(', ')}`;
    return { id, code: 'REFUSED', message: `${id} is ${state} and ${why}: it cannot be acknowledged`, hint };
  }
  if (row !== undefined) {
    return { id, code: 'REFUSED', message: `${id} needs a decision: it cannot be acknowledged`, hint: row.whatToDo };
  }
  const hint = '`order-sync queue status` shows what is in it, each with its id';
  return { id, code: 'NOT_FOUND', message: `Nothing in the attention list is called "${id}"`, hint };
}
