import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import type { CommandResult, OperatorCommand } from '../../core/operator/operator-command.ts';
import { reloadedTexts, type ReloadReport } from '../../config/reload-plan.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { previewBulk, runBulk } from '../bulk-run.ts';
import { statusOf } from '../control-routes.ts';
import type { Html } from '../html/document.ts';
import { actionForms } from '../pages/action-forms.ts';
import type { ShowPage } from '../pages/layout.ts';
import type { FormContext, PageSources } from '../pages/page-sources.ts';
import { ownPath } from '../sign-in/guard-pages.ts';
import { type PageAccess, requireOperator } from '../sign-in/page-access.ts';
import type { PageEnv } from '../sign-in/visitor.ts';
import { acknowledgePreview, bulkPreview, bulkReport, revealedUnits } from './outcome-pages.ts';
import { type FormFields, type FormRequest, readForm } from './read-form.ts';

interface ActionOptions {
  readonly sources: Pick<PageSources, 'read' | 'clock'>;
  /** Performs a command as the control API does. */
  readonly perform: (command: OperatorCommand) => Promise<CommandResult>;
  readonly reload: (asked: string) => Promise<ReloadReport>;
  /** The worker is stopping, and decides nothing more. */
  readonly draining: () => boolean;
  readonly page: ShowPage;
  readonly access: PageAccess;
}

/** The report of a form, kept because its page may be asked for again. Null: the page of the form shows what became of it. */
type Report = { readonly main: Html; readonly returnTo: string } | null;

/** So many forms are remembered, the last ones. */
const mostKept = 500;

/**
 * Performs what the forms of the pages ask for, as an operator who is signed in. `guardPages` has checked the sender and the
 * session before. The outcome is shown after a redirect, so that reloading does nothing.
 */
export function actionRoutes(options: ActionOptions): Hono<PageEnv> {
  const { access, draining, sources } = options;
  const routes = new Hono<PageEnv>();
  const once = performOnce();
  const show = (context: Context<PageEnv>, title: string, main: Html, returnTo: string): Html =>
    options.page(context, title, html`${main}<p><a href="${returnTo}">Back to the page</a></p>`, returnTo);
  routes.post('/actions', requireOperator, async (context) => {
    const { visitor } = context.var;
    const fields = fieldsOf(await context.req.parseBody({ all: true }));
    const returnTo = ownPath(fields.get('return_to'));
    const form: FormContext = { visitor, returnTo };
    try {
      if (draining()) throw new OrderSyncError('UNREACHABLE', 'The worker is stopping. Try again when it runs.');
      // No name of a token can be that of a part of the program.
      const actor = `page:${visitor.name ?? ''}`;
      if (fields.get('action') === 'reload') {
        access.tell(context, `Done: ${reloadedTexts(await options.reload(actor)).join('; ')}.`);
        return context.redirect(returnTo, 303);
      }
      const request = readForm(fields, actor, sources.clock.wallMs());
      const shown = await shownAtOnce(request, options, form);
      if (shown !== null) return await context.html(show(context, shown.title, shown.main, returnTo));
      const id = fields.get('form') ?? '';
      if (!/^[\w-]{16}$/.test(id)) throw new OrderSyncError('INVALID_INPUT', 'The form has no id of its own');
      const report = await once.perform(`${visitor.csrf} ${id}`, async () => {
        const main = await perform(request, fields, options);
        return main === null ? null : { main, returnTo };
      });
      if (report === null && request.kind === 'command') access.tell(context, doneText(request.command));
      return context.redirect(report === null ? returnTo : `/actions/${id}`, 303);
    } catch (error) {
      if (!(error instanceof OrderSyncError)) throw error;
      const status = error.code === 'UNREACHABLE' ? 503 : statusOf[error.code];
      if (status === undefined) throw error;
      return await context.html(show(context, 'Not done', refusal(error, fields, options, form), returnTo), status);
    }
  });
  routes.get('/actions/:id', async (context) => {
    const report = await once.find(`${context.var.visitor.csrf} ${context.req.param('id')}`);
    if (report === null)
      throw new OrderSyncError('NOT_FOUND', 'This report is not kept any more. The audit log has what was done.');
    return await context.html(show(context, 'What was done', report.main, report.returnTo));
  });
  return routes;
}

/** A form that is submitted twice is performed once. Its id has that of its session in it. */
function performOnce() {
  /** The form that was submitted first comes first. */
  const kept = new Map<string, Promise<Report>>();
  return {
    find: async (id: string): Promise<Report> => (await kept.get(id)) ?? null,
    perform: (id: string, first: () => Promise<Report>): Promise<Report> => {
      const known = kept.get(id);
      if (known !== undefined) return known;
      const outcome = first();
      kept.set(id, outcome);
      // A refused or failed command may be tried again with the same form.
      outcome.catch(() => kept.delete(id));
      const [oldest] = kept.keys();
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
      return outcome;
    },
  };
}

function fieldsOf(body: Readonly<Record<string, unknown>>): FormFields {
  return new Map(
    Object.entries(body).flatMap(([name, value]): [string, string][] => {
      // Check boxes of one name: those that are set.
      const text = Array.isArray(value) ? value.join(',') : value;
      return typeof text === 'string' && text.trim() !== '' ? [[name, text.trim()]] : [];
    }),
  );
}

/**
 * A page that is shown without a redirect: a preview changes nothing, and codes are kept nowhere. Null: something is to be
 * done.
 */
async function shownAtOnce(request: FormRequest, { sources, perform: send }: ActionOptions, form: FormContext) {
  const { read } = sources;
  if (request.kind === 'command') {
    if (request.command.action !== 'reveal') return null;
    const result = await send(request.command);
    const units = result.kind === 'revealed' ? result.units : [];
    const { reference } = request.command;
    return { title: 'Delivered codes', main: revealedUnits(reference, units, read.showEntry(reference)) };
  }
  if (request.isConfirmed) return null;
  const main =
    request.kind === 'bulk'
      ? bulkPreview(request.order, request.which, previewBulk(read, request), form)
      : acknowledgePreview(request.which, read, form);
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
    default:
      return 'reference' in command ? `Done: ${command.action}, ${command.reference}.` : 'Done.';
  }
}

/** Returns what a report says. Null: the page that the form came from shows what became of it. */
async function perform(request: FormRequest, fields: FormFields, { sources, perform: send }: ActionOptions) {
  if (request.kind === 'command') {
    throwIfNothingDone(await send(request.command));
    return null;
  }
  const who = { actor: request.actor, reason: fields.get('reason') ?? '' };
  if (request.kind === 'bulk') {
    const { order, which } = request;
    const { matched, references } = previewBulk(sources.read, request);
    return bulkReport(order, matched, await runBulk({ order, which, ...who }, references, send));
  }
  let count = 0;
  for (let found = -1; found !== 0; count += found) {
    const step = await send({ action: 'acknowledge', which: request.which, ...who });
    found = step.kind === 'acknowledged' ? step.acknowledged.length : 0;
  }
  return html`<p class="good">${count} rows left the attention list.</p>`;
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
  return html`<p class="problem">${error.message}</p>
${error.hint === undefined ? null : html`<p>${error.hint}</p>`}
${entry === undefined ? null : html`<h2>What can be done instead</h2><p><span class="code">${entry.reference}</span> is ${entry.state}.</p>${actionForms.entry(entry, form) ?? html`<p>Nothing can be done to it.</p>`}`}`;
}
