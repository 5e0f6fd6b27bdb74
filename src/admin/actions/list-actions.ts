import { html } from 'hono/html';
import { bulkActions, statesFor } from '../../core/operator/bulk.ts';
import { entryStates } from '../../core/entry/states.ts';
import { choiceInput, textInput, type OfferedAction } from './form-parts.ts';

const titles = { retry: 'retry now', hold: 'hold', release: 'release', cancel: 'cancel' } as const;

/** A value of the address of a list; empty: it is not filtered by that. */
const given = (filter: URLSearchParams, name: string): string => filter.get(name)?.trim() ?? '';

/**
 * What may be done to the entries of a list of orders. Null where the list is of no state and no shop, or where its filter
 * says more than a command can.
 */
export function orderListAction(filter: URLSearchParams): OfferedAction | null {
  const [state, source] = [given(filter, 'state'), given(filter, 'source')];
  if ((state === '' && source === '') || given(filter, 'search') !== '' || given(filter, 'attention') !== '')
    return null;
  const choices = bulkActions.filter(
    (action) => state === '' || statesFor(action).some((it) => it === entryStates.find((name) => name === state)),
  );
  if (choices.length === 0) return null;
  const of = [state === '' ? [] : [`in the state ${state}`], source === '' ? [] : [`of the shop ${source}`]].flat();
  return {
    title: 'Decide on all of them',
    what: `Shows first how many entries ${of.join(', ')} it would concern.`,
    fields: { action: 'bulk', state, source, code: '' },
    inputs: choiceInput(
      'order',
      'What to do',
      choices.map((action) => [action, titles[action]]),
    ),
    needsReason: false,
  };
}

/** What may be done to the attention list, as it is filtered. */
export function attentionListActions(filter: URLSearchParams): readonly OfferedAction[] {
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

/** To pause a scope. */
export function pauseAction(): OfferedAction {
  return {
    title: 'Pause buying',
    what: 'Nothing new is bought for the scope until somebody resumes it. Orders still come in and wait, and calls that are under way end. While the account is paused, nothing is looked up either.',
    fields: { action: 'pause' },
    inputs: html`${textInput('scope', 'Scope: account (everything), key:NAME, balance:USD, family:gift_card, family:esim, variant:ID or plan:ID', { required: true, value: 'account' })}`,
  };
}

export const resumeAction = (scope: string): OfferedAction => ({
  title: 'Resume',
  what: `Orders that wait for ${scope} are bought again.`,
  fields: { action: 'resume', scope },
});

export const acknowledgeAction = (id: string): OfferedAction => ({
  title: 'Acknowledge',
  what: 'The row leaves the attention list. Nothing is bought, sent or cancelled by that.',
  fields: { action: 'acknowledge', id },
});

export const rewriteAction = (sink: string, source: string, orderId: string): OfferedAction => ({
  title: 'Deliver again',
  what: `${sink} gets the same result once more. Nothing is bought.`,
  fields: { action: 'rewrite_results', sink, source, order_id: orderId },
});
