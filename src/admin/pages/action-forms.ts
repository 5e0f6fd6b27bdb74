import { randomBytes } from 'node:crypto';
import { html } from 'hono/html';
import { type FormContext, mayDecide } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { allowedActions, type EntryActionName } from '../../core/entry/states.ts';
import type { Attention } from '../../store/read/attention.ts';
import type { EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import { bulkActions, resolutions, statesFor } from '../../core/operator/operator-command.ts';

/** One thing that a person may do. */
interface OfferedAction {
  /** The text of the link that opens the form, and of its button. */
  readonly title: string;
  /** The effect of the action. */
  readonly what: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Fields for the person to fill in, besides the reason. */
  readonly inputs?: Html | null;
  /** False where nothing is decided yet: a preview asks for no reason. */
  readonly needsReason?: boolean;
}

/** A form that is closed until somebody opens it. It works without JavaScript. */
function foldedForm(action: OfferedAction, context: FormContext): Html {
  return html`<details class="action"><summary>${action.title}</summary>
${openForm(action, context)}</details>`;
}

/** A form. Its id makes a second submit of the same form harmless. */
export function openForm(
  { title, what, fields, inputs = null, needsReason = true }: OfferedAction,
  { visitor, returnTo }: FormContext,
): Html {
  const hidden = {
    csrf: visitor.csrf ?? '',
    return_to: returnTo,
    form: randomBytes(12).toString('base64url'),
    ...fields,
  };
  return html`<form class="stack" method="post" action="/actions">
${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p>${what}</p>
${inputs}
${needsReason ? html`<label>Why, for the audit log (at least 3 characters)<br><input name="reason" required minlength="3" maxlength="500" autocomplete="off"></label>` : null}
<div><button type="submit">${title}</button></div>
</form>`;
}

function textInput(name: string, label: string, attributes: { required?: boolean; value?: string } = {}): Html {
  return html`<label>${label}<br><input name="${name}" value="${attributes.value ?? ''}" maxlength="400" autocomplete="off"${attributes.required === true ? html` required` : null}></label>`;
}

function choiceInput(name: string, label: string, choices: readonly (readonly [string, string])[]): Html {
  return html`<label>${label}<br><select name="${name}">${choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select></label>`;
}

/** The actions that `allowedActions` allows for an entry now, as forms. */
function entryActions(entry: EntryDetail): readonly OfferedAction[] {
  const offered = allowedActions(entry).flatMap((action) => offerOf(action, entry));
  return entry.unitCount > 0 && entry.shreddedAt === null ? [...offered, revealOf(entry)] : offered;
}

function offerOf(action: EntryActionName, entry: EntryDetail): readonly OfferedAction[] {
  const { reference, state, heldFrom } = entry;
  const fields = { action, reference };
  switch (action) {
    case 'hold':
      return [{ title: 'Hold', what: 'It is not sent until somebody releases it.', fields }];
    case 'release':
      return [{ title: 'Release', what: `It becomes ${heldFrom ?? 'pending'} again, as before it was held.`, fields }];
    case 'cancel':
      return [
        { title: 'Cancel', what: 'It ends as cancelled: nothing is bought for it, and the shop is told so.', fields },
      ];
    case 'retry':
      return [{ title: 'Retry now', what: retryText(state), fields }];
    case 'decide_change':
      return [
        {
          title: 'It is the same purchase',
          what: 'The line is the one that vanished under another id: nothing is bought for it.',
          fields: { ...fields, is_another: 'no' },
        },
        {
          title: 'It is another purchase',
          what: 'The line is a purchase of its own: it is bought, too.',
          fields: { ...fields, is_another: 'yes' },
        },
      ];
    case 'reorder':
      return [
        {
          title: 'Order again',
          what: "A new entry takes its place. Its new reference can buy once more, so first look for the old one in the supplier's list of orders. After a correction of a SKU map use `orders reorder --remap`.",
          fields,
          inputs: textInput('confirm', `Type the old reference to confirm: ${reference}`, { required: true }),
        },
      ];
    case 'resolve':
      return [resolveOf(entry)];
  }
}

function retryText(state: EntryDetail['state']): string {
  return state === 'waiting'
    ? 'The worker sends it as soon as the budget allows, with the same reference.'
    : 'The worker looks it up now, or sends it again with the same reference: it is not bought twice.';
}

function resolveOf({ reference, state }: EntryDetail): OfferedAction {
  const ends = state === 'fulfilled' ? (['fulfilled'] as const) : resolutions;
  return {
    title: state === 'fulfilled' ? 'Enter the missing units' : 'Resolve',
    what: 'You settle it as you found it at the supplier. The shop gets the result, with your name.',
    fields: { action: 'resolve', reference },
    inputs: html`${choiceInput(
      'as',
      'What you found',
      ends.map((end) => [end, end]),
    )}
${textInput('order_number', "The supplier's number of the order")}
${textInput('note', 'A sentence for the result that the shop gets')}
<label>The delivered units, one code a line<br><textarea name="units" rows="3" maxlength="40000" autocomplete="off"></textarea></label>
<label><input type="checkbox" name="no_units" value="yes"> The units are not known: the result asks for delivery by hand</label>`,
  };
}

function revealOf({ reference, unitCount }: EntryDetail): OfferedAction {
  return {
    title: 'Show the codes',
    what: `The next page shows what was delivered (${unitCount} ${unitCount === 1 ? 'unit' : 'units'}) in full, and what to do if a customer says that it does not work. The audit log keeps who saw it, when and why.`,
    fields: { action: 'reveal', reference },
  };
}

const titles = { retry: 'retry now', hold: 'hold', release: 'release', cancel: 'cancel' } as const;

/** A value of the address of a list; empty: it is not filtered by that. */
const given = (filter: URLSearchParams, name: string): string => filter.get(name)?.trim() ?? '';

/**
 * The action that is offered for the entries of a list of orders. None where the list is of no state and no shop, or where its
 * filter says more than a command can.
 */
function orderListActions(filter: URLSearchParams): readonly OfferedAction[] {
  const [state, source] = [given(filter, 'state'), given(filter, 'source')];
  if ((state === '' && source === '') || given(filter, 'search') !== '' || given(filter, 'attention') !== '') return [];
  const choices = bulkActions.filter((action) => state === '' || statesFor(action).some((it) => it === state));
  if (choices.length === 0) return [];
  const of = [state === '' ? [] : [`in the state ${state}`], source === '' ? [] : [`of the shop ${source}`]].flat();
  return [
    {
      title: 'Decide on all of them',
      what: `Shows first how many entries ${of.join(', ')} it would concern.`,
      fields: { action: 'bulk', state, source, code: '' },
      inputs: choiceInput(
        'order',
        'What to do',
        choices.map((action) => [action, titles[action]]),
      ),
      needsReason: false,
    },
  ];
}

/** The actions that are offered for the filtered attention list. */
function attentionListActions(filter: URLSearchParams): readonly OfferedAction[] {
  const [code, source] = [given(filter, 'code'), given(filter, 'source')];
  const fields = { code, source };
  return [
    {
      title: 'Acknowledge all of them',
      what: 'Shows first how many rows of this list, as it is filtered, need no decision any more and would leave it.',
      fields: { action: 'acknowledge', ...fields },
      needsReason: false,
    },
    {
      title: 'Retry everything that needs review',
      what: 'Shows first how many entries, as the list is filtered, would be tried again with the same reference.',
      fields: { action: 'bulk', order: 'retry', state: 'needs_review', ...fields },
      needsReason: false,
    },
  ];
}

const pauseAction: OfferedAction = {
  title: 'Pause buying',
  what: 'Nothing new is bought for the scope until somebody resumes it. Orders still come in and wait, and calls that are under way end. While the account is paused, nothing is looked up either.',
  fields: { action: 'pause' },
  inputs: textInput(
    'scope',
    'Scope: account (everything), key:NAME, balance:USD, family:gift_card, family:esim, variant:ID or plan:ID',
    { required: true, value: 'account' },
  ),
};

const resumeAction = (scope: string): OfferedAction => ({
  title: 'Resume',
  what: `Orders that wait for ${scope} are bought again.`,
  fields: { action: 'resume', scope },
});

const acknowledgeAction = (id: string): OfferedAction => ({
  title: 'Acknowledge',
  what: 'The row leaves the attention list. Nothing is bought, sent or cancelled by that.',
  fields: { action: 'acknowledge', id },
});

const rewriteAction = (sink: string, source: string, orderId: string): OfferedAction => ({
  title: 'Deliver again',
  what: `${sink} gets the same result once more. Nothing is bought.`,
  fields: { action: 'rewrite_results', sink, source, order_id: orderId },
});

function forms(actions: readonly OfferedAction[], context: FormContext): Html | null {
  if (!mayDecide(context) || actions.length === 0) return null;
  return html`<div class="actions">${actions.map((action) => foldedForm(action, context))}</div>`;
}

/** The forms for what a person may decide; null: there is nothing to decide, or the visitor is no operator. */
export const actionForms = {
  entry: (entry: EntryDetail, context: FormContext) => forms(entryActions(entry), context),
  attention: ({ id, kind, scope, canAcknowledge }: Attention, context: FormContext) => {
    if (canAcknowledge) return forms([acknowledgeAction(id)], context);
    // A sink is resumed by its next delivery, not by a person.
    return kind === 'pause' && scope !== null && id === `pause:${scope}` ? forms([resumeAction(scope)], context) : null;
  },
  attentionList: (filter: URLSearchParams, context: FormContext) => forms(attentionListActions(filter), context),
  /** For the orders that a list shows, all pages of it. */
  orderList: (filter: URLSearchParams, context: FormContext) => forms(orderListActions(filter), context),
  pause: (scope: string, context: FormContext) => forms([resumeAction(scope)], context),
  queue: (context: FormContext) => forms([pauseAction], context),
  delivery: (sink: string, { source, orderId }: Pick<OrderDetail, 'source' | 'orderId'>, context: FormContext) =>
    forms([rewriteAction(sink, source, orderId)], context),
};
