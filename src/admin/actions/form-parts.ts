import { randomBytes } from 'node:crypto';
import { html } from 'hono/html';
import type { FormContext } from '../pages/action-forms.ts';
import type { Html } from '../pages/html.ts';

/** One thing that a person may do. */
export interface OfferedAction {
  /** What the link says that opens the form, and its button. */
  readonly title: string;
  /** What it will do. */
  readonly what: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Fields for the person to fill in, besides the reason. */
  readonly inputs?: Html | null;
  /** False where nothing is decided yet: a preview asks for no reason. */
  readonly needsReason?: boolean;
}

/** A form that is closed until somebody opens it. It works without JavaScript. */
export function foldedForm(action: OfferedAction, context: FormContext): Html {
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

export function textInput(name: string, label: string, attributes: { required?: boolean; value?: string } = {}): Html {
  return html`<label>${label}<br><input name="${name}" value="${attributes.value ?? ''}" maxlength="400" autocomplete="off"${attributes.required === true ? html` required` : null}></label>`;
}

export function choiceInput(name: string, label: string, choices: readonly (readonly [string, string])[]): Html {
  return html`<label>${label}<br><select name="${name}">${choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select></label>`;
}
