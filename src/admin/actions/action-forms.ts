import { html } from 'hono/html';
import { mayDecide, type ActionForms, type FormContext } from '../pages/action-forms.ts';
import type { Html } from '../pages/html.ts';
import { entryActions } from './entry-actions.ts';
import { foldedForm, type OfferedAction } from './form-parts.ts';
import {
  acknowledgeAction,
  attentionListActions,
  orderListAction,
  pauseAction,
  resumeAction,
  rewriteAction,
} from './list-actions.ts';

function forms(actions: readonly OfferedAction[], context: FormContext): Html | null {
  if (!mayDecide(context) || actions.length === 0) return null;
  return html`<div class="actions">${actions.map((action) => foldedForm(action, context))}</div>`;
}

/** The forms of an operator. A viewer gets none. */
export const actionForms: ActionForms = {
  entry: (entry, _order, context) => forms(entryActions(entry), context),
  attention: ({ id, kind, scope, canAcknowledge }, context) => {
    if (canAcknowledge) return forms([acknowledgeAction(id)], context);
    // A sink is resumed by its next delivery, not by a person.
    return kind === 'pause' && scope !== null && id === `pause:${scope}` ? forms([resumeAction(scope)], context) : null;
  },
  attentionList: (filter, context) => forms(attentionListActions(filter), context),
  orderList: (filter, context) => {
    const action = orderListAction(filter);
    return action === null ? null : forms([action], context);
  },
  pause: ({ scope }, context) => forms([resumeAction(scope)], context),
  queue: (context) => forms([pauseAction()], context),
  delivery: ({ sink }, { source, orderId }, context) => forms([rewriteAction(sink, source, orderId)], context),
};
