import {
  type BulkAction,
  bulkActions,
  type BulkFilter,
  type OperatorCommand,
  operatorCommandSchema,
  topupsOf,
} from '../../core/operator/operator-command.ts';
import { readAmount } from '../../core/operator/balance.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { entryStates } from '../../core/entry/states.ts';
import type { AttentionFilter } from '../../store/read/attention.ts';
import { readEnteredUnits } from '../../core/operator/units-by-operator.ts';

/** The fields of a form; those that were left empty are not there. */
export type FormFields = ReadonlyMap<string, string>;

export type FormRequest =
  | { readonly kind: 'command'; readonly command: OperatorCommand }
  /** Many entries: first a preview, then with `isConfirmed` the run. */
  | ({
      readonly kind: 'bulk';
      readonly order: BulkAction;
      readonly which: BulkFilter;
      readonly count: string;
    } & ForMany)
  | ({ readonly kind: 'acknowledge'; readonly which: AcknowledgeFilter } & ForMany);

interface ForMany {
  readonly actor: string;
  readonly isConfirmed: boolean;
}

export type AcknowledgeFilter = Pick<AttentionFilter, 'kind' | 'code' | 'subject' | 'source'> & {
  readonly beforeMs: number;
};

const named = (fields: FormFields): object => ({ reference: fields.get('reference') });
const scoped = (fields: FormFields): object => ({ scope: fields.get('scope') });

/**
 * The fields of the commands that a form may ask for, besides actor and reason. Others never come
 * from a page.
 */
const contents = new Map<string, (fields: FormFields) => object>([
  ...['hold', 'release', 'cancel', 'retry', 'reveal'].map((action) => [action, named] as const),
  [
    'resolve',
    (fields) => ({
      ...named(fields),
      as: fields.get('as'),
      orderNumber: fields.get('order_number') ?? null,
      note: fields.get('note') ?? null,
      ...unitsOf(fields),
    }),
  ],
  ['reorder', (fields) => ({ ...named(fields), confirm: fields.get('confirm') ?? '' })],
  ['acknowledge', (fields) => ({ which: { ids: [fields.get('id')] } })],
  ['pause', scoped],
  ['resume', scoped],
  ['set_balance', (fields) => readAmount(`${fields.get('amount')} ${fields.get('currency')}`)],
  ['read_catalogue', (fields) => topupsOf(fields.get('iccid') ?? '')],
  [
    'rewrite_results',
    (fields) => {
      const [sink, source, orderId] = ['sink', 'source', 'order_id'].map((it) => fields.get(it));
      return { which: { sink, source, orderId }, afterId: 0 };
    },
  ],
]);

/**
 * Reads a form.
 * @throws OrderSyncError INVALID_INPUT with the field and what is wrong with it
 */
export function readForm(fields: FormFields, actor: string, nowMs: number): FormRequest {
  const action = fields.get('action') ?? '';
  const isConfirmed = fields.get('confirmed') === 'yes';
  // Nobody has seen the entries that came in after the preview.
  const seenMs = Number(fields.get('seen_ms') ?? nowMs);
  if (!Number.isFinite(seenMs)) throw invalid('has no time');
  const [code, source, product] = ['code', 'source', 'product'].map((name) => fields.get(name));
  if (action === 'acknowledge' && !fields.has('id')) {
    const which = {
      kind: fields.get('kind'),
      code,
      subject: fields.get('subject'),
      source,
      beforeMs: seenMs,
    };
    return { kind: 'acknowledge', which, actor, isConfirmed };
  }
  if (action === 'bulk') {
    const order = bulkActions.find((it) => it === fields.get('order'));
    const state = entryStates.find((it) => it === fields.get('state'));
    const orders = fields.get('orders')?.split(',').map(Number);
    if (
      order === undefined ||
      [state, source, code, product, orders].every((it) => it === undefined)
    ) {
      throw invalid('names no action, or does not say for which entries');
    }
    if (orders?.every(Number.isSafeInteger) === false)
      throw invalid('names an order that does not exist');
    return {
      kind: 'bulk',
      order,
      which: { state, source, code, product, orders, untilMs: seenMs },
      count: fields.get('count') ?? '',
      actor,
      isConfirmed,
    };
  }
  const content = contents.get(action);
  if (content === undefined) throw invalid('names no action');
  // A read has no row in the audit log.
  const who = action === 'read_catalogue' ? {} : { actor, reason: fields.get('reason') ?? '' };
  const parsed = operatorCommandSchema.safeParse({ action, ...content(fields), ...who });
  if (parsed.success) return { kind: 'command', command: parsed.data };
  const [issue] = parsed.error.issues;
  throw invalid(`is not complete: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
}

const invalid = (why: string): OrderSyncError =>
  new OrderSyncError('INVALID_INPUT', `The form ${why}`, {
    hint: 'open its page again, and repeat what you did',
  });

/** Absent: the operator did not say; none: they know of none. */
function unitsOf(fields: FormFields): { units?: readonly object[] } {
  const text = fields.get('units');
  if (text !== undefined) return { units: readEnteredUnits(text) };
  return fields.get('no_units') === 'yes' ? { units: [] } : {};
}
