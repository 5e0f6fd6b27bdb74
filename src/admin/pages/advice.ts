import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import { attentionActions, whatToDo, type AttentionAction } from '../../core/operator/attention.ts';
import type { Attention } from '../../store/read/attention.ts';
import { mayDecide, type FormContext } from './page-sources.ts';

/** What the pages call an action that they have: a button in quotes. Any other is named as its command. */
const onPages: Readonly<Partial<Record<AttentionAction, string>>> = {
  ack: '"Acknowledge"',
  another: '"It is another purchase"',
  cancel: '"Cancel"',
  enter_units: '"Enter the missing units"',
  release: '"Release"',
  reorder: '"Order again"',
  resolve: '"Resolve"',
  resume: '"Resume"',
  retry: '"Retry now"',
  rewrite: '"Deliver again"',
  same: '"It is the same purchase"',
  show: 'the page of the order',
};

/**
 * The advice for a row of the attention list, beginning with the supplier's advice about its error. It names buttons where the
 * visitor has them, else commands.
 */
export function adviceText({ kind, code, reason, whatToDo: byCommands }: Attention, context: FormContext): string {
  const advice = mayDecide(context)
    ? whatToDo(reason, (action) => onPages[action] ?? `\`${attentionActions[action]}\``)
    : byCommands;
  const bySupplier = kind === 'rejected' ? clientActionFor(code) : null;
  return bySupplier === null ? advice : `the supplier advises: "${bySupplier}" Otherwise ${advice}`;
}
