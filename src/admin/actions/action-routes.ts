import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import type { CommandResult, OperatorCommand } from '../../core/operator/operator-command.ts';
import { OrderSyncError, type OrderSyncErrorCode } from '../../core/order-sync-error.ts';
import { previewBulk, runBulk } from '../bulk-run.ts';
import type { FormContext, PageSources } from '../pages/page-sources.ts';
import type { Html } from '../html/document.ts';
import type { Notices } from '../pages/layout.ts';
import type { ShowOutcome } from '../pages/page-routes.ts';
import { ownPath } from '../sign-in/guard-pages.ts';
import { requireOperator } from '../sign-in/page-access.ts';
import type { PageEnv } from '../sign-in/visitor.ts';
import { actionForms } from '../pages/action-forms.ts';
import { FinishedForms, type FormFields, type FormRequest, readForm } from './read-form.ts';
import { acknowledgePreview, bulkPreview, bulkReport, revealedUnits } from './outcome-pages.ts';

interface ActionOptions {
  readonly sources: Pick<PageSources, 'read' | 'clock'>;
  /** Performs a command as the control API does. */
  readonly perform: (command: OperatorCommand) => Promise<CommandResult>;
  /** The worker is stopping, and decides nothing more. */
  readonly draining: () => boolean;
  /** A whole page with this content. */
  readonly page: ShowOutcome;
  /** Tells the visitor on the next page what was done. */
  readonly notices: Notices;
}

/** The outcome of a form, kept because its page may be asked for again. */
interface Done {
  readonly title: string;
  readonly main: Html;
  readonly returnTo: string;
}

const statusOf: Partial<Record<OrderSyncErrorCode, 404 | 409 | 422 | 503>> = {
  NOT_FOUND: 404,
  REFUSED: 409,
  INVALID_INPUT: 422,
  DISK_FULL: 503,
  UNREACHABLE: 503,
};

/**
 * Performs what the forms of the pages ask for, as an operator who is signed in. `guardPages` has checked the sender and the
 * session before. The outcome is shown after a redirect, so that reloading does nothing.
 */
export function actionRoutes(options: ActionOptions): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const finished = new FinishedForms<Done | null>();
  routes.post('/actions', requireOperator, async (context) => {
    const fields = fieldsOf(await context.req.parseBody());
    const returnTo = ownPath(fields.get('return_to'));
    const form: FormContext = { visitor: context.var.visitor, returnTo };
    try {
      if (options.draining())
        throw new OrderSyncError('UNREACHABLE', 'The worker is stopping. Try again when it runs.');
      const request = readForm(fields, actorOf(context), options.sources.clock.wallMs());
      const shown = await shownAtOnce(request, options, form);
      if (shown !== null) return await context.html(options.page(context, shown.title, shown.main, returnTo));
      const id = fields.get('form') ?? '';
      if (!/^[\w-]{16}$/.test(id)) throw new OrderSyncError('INVALID_INPUT', 'The form has no id of its own');
      const done = await finished.once(`${form.visitor.csrf} ${id}`, () => perform(request, fields, options, form));
      if (done === null && request.kind === 'command') options.notices.tell(form.visitor, doneText(request.command));
      return context.redirect(done === null ? returnTo : `/actions/${id}`, 303);
    } catch (error) {
      const status = error instanceof OrderSyncError ? statusOf[error.code] : undefined;
      if (!(error instanceof OrderSyncError) || status === undefined) throw error;
      const main = refusal(error, fields, options, form);
      return await context.html(options.page(context, 'Not done', main, returnTo), status);
    }
  });
  routes.get('/actions/:id', async (context) => {
    const { visitor } = context.var;
    const done = await finished.find(`${visitor.csrf} ${context.req.param('id')}`);
    if (done === null)
      throw new OrderSyncError('NOT_FOUND', 'This report is not kept any more. The audit log has what was done.');
    return await context.html(options.page(context, done.title, done.main, done.returnTo));
  });
  return routes;
}

/** Who decides, for the audit log. No name of a token can be that of a part of the program. */
const actorOf = (context: Context<PageEnv>): string => `page:${context.var.visitor.name ?? ''}`;

function fieldsOf(body: Readonly<Record<string, unknown>>): FormFields {
  return new Map(
    Object.entries(body).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
    ),
  );
}

/**
 * A page that is shown without a redirect: a preview changes nothing, and codes are kept nowhere. Null: something is to be
 * done.
 */
async function shownAtOnce(
  request: FormRequest,
  { sources, perform: send }: ActionOptions,
  form: FormContext,
): Promise<{ title: string; main: Html } | null> {
  if (request.kind === 'command') {
    if (request.command.action !== 'reveal') return null;
    const result = await send(request.command);
    const units = result.kind === 'revealed' ? result.units : [];
    const { reference } = request.command;
    return { title: 'Delivered codes', main: revealedUnits(reference, units, sources.read.showEntry(reference), form) };
  }
  if (request.isConfirmed) return null;
  const main =
    request.kind === 'bulk'
      ? bulkPreview(request, previewBulk(sources.read, request), form)
      : acknowledgePreview(request.which, sources.read, form);
  return { title: 'Before it is done', main };
}

/** The outcome of a command, in one sentence. */
function doneText(command: OperatorCommand): string {
  switch (command.action) {
    case 'pause':
      return `Done: ${command.scope} is paused.`;
    case 'resume':
      return `Done: ${command.scope} is resumed.`;
    case 'acknowledge':
      return 'Done: the row has left the attention list.';
    case 'rewrite_results':
      return 'Done: the result will be delivered again.';
    case 'decide_change':
      return `Done: ${command.reference} is ${command.isAnother ? 'another purchase' : 'the same purchase'}.`;
    default:
      return 'reference' in command ? `Done: ${command.action}, ${command.reference}.` : 'Done.';
  }
}

/** Null: the page that the form came from shows what became of it. */
async function perform(
  request: FormRequest,
  fields: FormFields,
  { sources, perform: send }: ActionOptions,
  { returnTo }: FormContext,
): Promise<Done | null> {
  if (request.kind === 'command') {
    throwIfNothingDone(await send(request.command));
    return null;
  }
  const who = { actor: request.actor, reason: fields.get('reason') ?? '' };
  if (request.kind === 'bulk') {
    const { order, which } = request;
    const { matched, references } = previewBulk(sources.read, request);
    const result = await runBulk({ order, which, ...who }, references, { perform: send });
    return { title: 'What was done', main: bulkReport(order, matched, result, returnTo), returnTo };
  }
  let count = 0;
  for (;;) {
    const step = await send({ action: 'acknowledge', which: request.which, ...who });
    const found = step.kind === 'acknowledged' ? step.acknowledged.length : 0;
    count += found;
    if (found === 0) break;
  }
  const main = html`<p class="good">${count} rows left the attention list.</p><p><a href="${returnTo}">Back</a></p>`;
  return { title: 'What was done', main, returnTo };
}

/** For one row or one result, the answer "none" is a refusal. */
function throwIfNothingDone(result: CommandResult): void {
  const [refused] = result.kind === 'acknowledged' ? result.refused : [];
  if (refused !== undefined) throw new OrderSyncError(refused.code, refused.message, { hint: refused.hint });
  if (result.kind === 'results' && result.due === 0) {
    throw new OrderSyncError('NOT_FOUND', 'There is no such result yet.', {
      hint: 'it is written when the order has one',
    });
  }
}

/** Why it was not done, and for an entry what can be done instead, as it is now. */
function refusal(error: OrderSyncError, fields: FormFields, { sources }: ActionOptions, form: FormContext): Html {
  const reference = fields.get('reference');
  const order = reference === undefined ? null : sources.read.showEntry(reference);
  const entry = order?.entries.find((it) => it.reference === reference);
  const instead = order === null || entry === undefined ? null : actionForms.entry(entry, form);
  return html`<p class="problem">${error.message}</p>
${error.hint === undefined ? null : html`<p>${error.hint}</p>`}
${entry === undefined ? null : html`<h2>What can be done instead</h2><p><span class="code">${entry.reference}</span> is ${entry.state}.</p>${instead ?? html`<p>Nothing can be done to it.</p>`}`}
<p><a href="${form.returnTo}">Back to the page</a></p>`;
}
