import { html } from 'hono/html';
import { resolutions } from '../../core/operator/operator-decision.ts';
import { allowedActions, type EntryActionName } from '../../core/entry/states.ts';
import type { EntryDetail } from '../../store/read/order-detail.ts';
import { choiceInput, textInput, type OfferedAction } from './form-parts.ts';

/** What a person may do to an entry now, as forms: what `allowedActions` says, and nothing else. */
export function entryActions(entry: EntryDetail): readonly OfferedAction[] {
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
