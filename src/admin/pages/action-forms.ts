import { randomBytes } from 'node:crypto';
import { html } from 'hono/html';
import { type FormContext, mayDecide } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { allowedActions, type EntryActionName } from '../../core/entry/states.ts';
import type { Attention, AttentionGroup } from '../../store/read/attention.ts';
import type { EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import {
  type BulkAction,
  bulkActions,
  resolutions,
  statesFor,
} from '../../core/operator/operator-command.ts';

interface OfferedAction {
  /** The text of the link that opens the form, and of its button. */
  readonly title: string;
  readonly what: string | Html;
  readonly fields: Readonly<Record<string, string>>;
  /** Fields for the operator to fill in, besides the reason. */
  readonly inputs?: Html | undefined;
  /** Nobody is asked for a reason: nothing is decided yet, or the worker's log says who it was. */
  readonly isPreview?: boolean;
}

/** The id makes a second submit of the same form harmless. */
function hiddenFields(
  { visitor, returnTo }: FormContext,
  fields: OfferedAction['fields'],
): readonly Html[] {
  const id = randomBytes(12).toString('base64url');
  const hidden = { csrf: visitor.csrf ?? '', return_to: returnTo, form: id, ...fields };
  return Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
}

export function openForm(
  { title, what, fields, inputs, isPreview = false }: OfferedAction,
  context: FormContext,
) {
  return html`<form class="stack" method="post" action="/actions">
${hiddenFields(context, fields)}
<p>${what}</p>
${inputs}
${isPreview ? null : html`<label>Why, for the audit log (at least 3 characters)<br><input name="reason" required minlength="3" maxlength="500" autocomplete="off"></label>`}
<div><button type="submit">${title}</button></div>
</form>`;
}

/** @param value of a field that must be filled in; without it, it may stay empty */
function textInput(name: string, label: string, value?: string): Html {
  return html`<label>${label}<br><input name="${name}" value="${value ?? ''}" maxlength="400" autocomplete="off"${value === undefined ? null : html` required`}></label>`;
}

export const countInput = (count: number): Html =>
  textInput(
    'count',
    `Nothing was bought under the old references; each new reference can buy its line. Type ${count} to confirm`,
    '',
  );

function choiceInput(name: string, label: string, choices: readonly string[]): Html {
  return html`<label>${label}<br><select name="${name}">${choices.map((value) => html`<option value="${value}">${value === 'retry' ? 'retry now' : value === 'reorder' ? 'order again' : value}</option>`)}</select></label>`;
}

/** The form of an action that `allowedActions` allows for an entry now. */
function offerOf(action: EntryActionName, { reference, state, heldFrom }: EntryDetail) {
  const offer = (title: string, what: string, inputs?: Html): OfferedAction => {
    return { title, what, fields: { action, reference }, inputs };
  };
  switch (action) {
    case 'hold':
      return offer('Hold', 'The line is not sent until somebody releases it.');
    case 'release':
      return offer(
        'Release',
        `The line becomes ${heldFrom ?? 'pending'} again, as before it was held.`,
      );
    case 'cancel':
      return offer(
        'Cancel',
        'The line ends as cancelled: nothing is bought for it, and the shop gets this result.',
      );
    case 'retry': {
      const waits =
        'The worker sends the line as soon as the budget allows, with the same reference.';
      const other =
        'The worker looks the line up now, or sends it again with the same reference: the line is not bought twice.';
      return offer('Retry now', state === 'waiting' ? waits : other);
    }
    case 'reorder':
      return offer(
        'Order again',
        "The line is ordered under a new reference, so it may be bought a second time. First check that the supplier's list of orders does not have the old reference. If you corrected the SKU map, use `orders reorder --remap` instead.",
        textInput('confirm', `Type the old reference to confirm: ${reference}`, ''),
      );
    case 'resolve':
      return offer(
        state === 'fulfilled' ? 'Enter the missing units' : 'Resolve',
        'You settle the line with what you found at the supplier. The shop gets the result, with your name.',
        resolutionInputs(state === 'fulfilled' ? ['fulfilled'] : resolutions),
      );
  }
}

const resolutionInputs = (
  ends: readonly string[],
): Html => html`${choiceInput('as', 'What you found', ends)}
${textInput('order_number', "The supplier's number of the order")}
${textInput('note', 'A sentence for the result that the shop gets')}
<label>The delivered units, one code per line<br><textarea name="units" rows="3" maxlength="40000" autocomplete="off"></textarea></label>
<label><input type="checkbox" name="no_units" value="yes"> The units are not known: the result asks for delivery by hand. With a sentence above, shown ones are erased</label>`;

/** Nothing is decided by it. */
const preview = (
  title: string,
  what: OfferedAction['what'],
  fields: OfferedAction['fields'],
  inputs?: Html,
): OfferedAction => ({ title, what, fields, inputs, isPreview: true });

const topupsAction = (iccids: readonly string[]): OfferedAction =>
  preview(
    'Top-up plans',
    'Asks the supplier with which plans the eSIM can be topped up. Nothing is bought.',
    { action: 'read_catalogue' },
    choiceInput('iccid', 'eSIM', iccids),
  );

function entryActions(entry: EntryDetail): readonly OfferedAction[] {
  const { reference, unitCount, shreddedAt, iccids } = entry;
  const offered = [
    ...allowedActions(entry).map((action) => offerOf(action, entry)),
    ...(iccids.length === 0 ? [] : [topupsAction(iccids)]),
  ];
  if (unitCount === 0 || shreddedAt !== null) return offered;
  const what = `The next page shows what was delivered (${unitCount} ${unitCount === 1 ? 'unit' : 'units'}) in full, and what to do if a customer says that a code does not work. The audit log records who saw it, when and why.`;
  return [...offered, { title: 'Show the codes', what, fields: { action: 'reveal', reference } }];
}

/** A value of the address of a list; empty: it is not filtered by that. */
const given = (filter: URLSearchParams, name: string): string => filter.get(name)?.trim() ?? '';

/**
 * The action that is offered for the entries of a list of orders. None where the list is of no
 * state, shop or product, or where its filter says more than a command can.
 */
function orderListActions(filter: URLSearchParams): readonly OfferedAction[] {
  const [state = '', source = '', product = ''] = ['state', 'source', 'product'].map((name) =>
    given(filter, name),
  );
  const isMore = ['search', 'attention', 'from', 'to'].some((name) => given(filter, name) !== '');
  if (isMore || [state, source, product].every((it) => it === '')) return [];
  const choices = bulkActions.filter(
    (action) => state === '' || statesFor(action).some((it) => it === state),
  );
  if (choices.length === 0) return [];
  const of = [
    state && `in the state ${state}`,
    source && `of the shop ${source}`,
    product && `of ${product}`,
  ];
  return [
    preview(
      'Decide on all of them',
      `Shows first how many entries ${of.filter(Boolean).join(', ')} would be changed.`,
      { action: 'bulk', state, source, product, code: '' },
      choiceInput('order', 'What to do', choices),
    ),
  ];
}

function attentionListActions(filter: URLSearchParams): readonly OfferedAction[] {
  const names = ['kind', 'code', 'subject', 'source'];
  const fields = Object.fromEntries(names.map((name) => [name, given(filter, name)]));
  const what =
    'Shows first how many rows of this list, as it is filtered, need no decision any more and would leave the list.';
  return [preview('Acknowledge all of them', what, { action: 'acknowledge', ...fields })];
}

/** What is decided about all rows of a kind. */
const bulkOf: Readonly<Partial<Record<string, readonly [action: BulkAction, title: string]>>> = {
  needs_review: ['retry', 'Retry'],
  held: ['release', 'Release'],
  rejected: ['reorder', 'Order again'],
  expired: ['reorder', 'Order again'],
};

/** The decisions for all rows with the same cause. */
function groupActions(group: AttentionGroup, source = ''): readonly OfferedAction[] {
  const { kind, code, count, canAcknowledge } = group;
  if (count === 1) return attentionActions(group);
  const subject = group.subject ?? '';
  const what = 'Shows first which results would be written.';
  const [order, title] = bulkOf[kind] ?? [];
  const fields = {
    action: 'bulk',
    order: order ?? '',
    state: kind,
    code,
    product: subject,
    source,
  };
  const acknowledged = { action: 'acknowledge', kind, code, subject, source };
  return [
    ...(order === undefined ? [] : [preview(`${title} all ${count}`, what, fields)]),
    ...(canAcknowledge ? [preview(`Acknowledge all ${count}`, what, acknowledged)] : []),
  ];
}

function pauseAction(scopes: readonly string[]): OfferedAction {
  return {
    title: 'Pause buying',
    what: 'Nothing new is bought for the scope until somebody resumes it. Orders still come in and wait, and calls that are under way end. While the account is paused, nothing is looked up either.',
    fields: { action: 'pause' },
    inputs: html`<label>Scope: account is everything; choose one, or type variant:ID or plan:ID<br><input name="scope" list="scopes" maxlength="200" required autocomplete="off"></label>
<datalist id="scopes">${scopes.map((scope) => html`<option value="${scope}">`)}</datalist>`,
  };
}

const balanceAction: OfferedAction = {
  title: 'Set a balance',
  what: 'Enter the balance that the supplier shows now.',
  fields: { action: 'set_balance' },
  inputs: html`${textInput('currency', 'Currency', '')}${textInput('amount', 'Amount', '')}`,
};

const resumeAction = (scope: string): OfferedAction => {
  const isSink = scope.startsWith('sink:');
  return {
    title: isSink ? 'Try now' : 'Resume',
    what: isSink
      ? `The next result is delivered to ${scope.slice(5)} at once. If it is accepted, the others follow.`
      : `The worker goes on to buy the orders that wait for ${scope}.`,
    fields: { action: 'resume', scope },
  };
};

function attentionActions({
  id,
  kind,
  scope,
  canAcknowledge,
}: Attention): readonly OfferedAction[] {
  const what = 'The row leaves the attention list. Nothing is bought, sent or cancelled.';
  if (canAcknowledge)
    return [{ title: 'Acknowledge', what, fields: { action: 'acknowledge', id } }];
  if (kind !== 'pause' || scope === null) return [];
  return [resumeAction(id === `pause:${scope}` ? scope : id)];
}

/** The form of a list with check boxes, and what may be done with those that are set. */
function selectionForm(list: Html, context: FormContext): Html {
  return html`<form method="post" action="/actions">
${hiddenFields(context, { action: 'bulk' })}
${list}
<p class="selection">${choiceInput('order', 'With the chosen orders', bulkActions)} <button type="submit">Look first</button></p>
</form>`;
}

/** What usually ends the trouble; the first of these stands out. */
const mainActions = ['reorder', 'resume', 'release', 'retry', 'resolve', 'reveal'];

/** Each is closed until somebody opens it. They work without JavaScript. */
function forms(actions: readonly OfferedAction[], context: FormContext): Html | null {
  if (!mayDecide(context) || actions.length === 0) return null;
  const main = actions.find(({ fields }) =>
    mainActions.includes(fields['order'] ?? fields['action'] ?? ''),
  );
  return html`<div class="actions">${actions.map(
    (
      action,
    ) => html`<details class="action"><summary class="button${action === main ? ' primary' : ''}">${action.title}</summary>
${openForm(action, context)}</details>`,
  )}</div>`;
}

/**
 * The forms for what an operator may decide; null: there is nothing to decide, or the visitor is no
 * operator.
 */
export const actionForms = {
  entry: (entry: EntryDetail, context: FormContext) => forms(entryActions(entry), context),
  attention: (row: Attention, context: FormContext) => forms(attentionActions(row), context),
  attentionGroup: (group: AttentionGroup, source: string | undefined, context: FormContext) =>
    forms(groupActions(group, source), context),
  attentionList: (filter: URLSearchParams, context: FormContext) =>
    forms(attentionListActions(filter), context),
  /** The list as it is for a visitor who may only look. */
  selection: (list: Html, context: FormContext) =>
    mayDecide(context) ? selectionForm(list, context) : list,
  orderList: (filter: URLSearchParams, context: FormContext) =>
    forms(orderListActions(filter), context),
  pause: (scope: string, context: FormContext) => forms([resumeAction(scope)], context),
  balance: (context: FormContext) => forms([balanceAction], context),
  reload: (places: Html, context: FormContext) => {
    const what = html`${places}<br>Write the new key there first. The worker then reads its configuration and all files of secrets again; with a mistake in them, nothing changes.`;
    return forms([preview('Reload the configuration', what, { action: 'reload' })], context);
  },
  /** @param scopes that are suggested */
  queue: (scopes: readonly string[], context: FormContext) => forms([pauseAction(scopes)], context),
  delivery: (
    sink: string,
    { source, orderId }: Pick<OrderDetail, 'source' | 'orderId'>,
    context: FormContext,
  ) => {
    const what = `${sink} gets the same result once more. Nothing is bought.`;
    const fields = { action: 'rewrite_results', sink, source, order_id: orderId };
    return forms([{ title: 'Deliver again', what, fields }], context);
  },
};
