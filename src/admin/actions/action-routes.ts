import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import {
  type CommandResult,
  type OperatorCommand,
  mostInRun,
  readTopups,
  type ResultOf,
  type BulkAction,
} from '../../core/operator/operator-command.ts';
import { affectedText } from '../../core/operator/affected.ts';
import { reloadedTexts, type ReloadReport } from '../../config/reload-plan.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { previewBulk, requireCount, runBulk, type BulkPreview, statesOf } from '../bulk-run.ts';
import { statusOf } from '../control-routes.ts';
import type { Html } from '../html/document.ts';
import { actionForms, countInput, openForm } from '../pages/action-forms.ts';
import type { ShowPage } from '../pages/layout.ts';
import type { FormContext, PageSources } from '../pages/page-sources.ts';
import { ownPath } from '../sign-in/guard-pages.ts';
import { type PageAccess, requireOperator } from '../sign-in/page-access.ts';
import type { PageEnv } from '../sign-in/visitor.ts';
import {
  type FormFields,
  type FormRequest,
  readForm,
  type AcknowledgeFilter,
} from './read-form.ts';
import type { Unit } from '../../core/answers/order-answer.ts';
import { labelledFields } from '../../core/answers/unit-fields.ts';
import { countsText, totalOf } from '../../core/counts.ts';
import type { BulkResult } from '../../store/operator/entry-command.ts';
import type { OrderDetail } from '../../store/read/order-detail.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { copied, factList, orderLink, table } from '../pages/parts.ts';

interface ActionOptions {
  readonly sources: Pick<PageSources, 'read' | 'clock'>;
  /** Performs a command as the control API does. */
  readonly perform: (command: OperatorCommand) => Promise<CommandResult>;
  readonly reload: (asked: string) => Promise<ReloadReport>;
  readonly draining: () => boolean;
  readonly page: ShowPage;
  readonly access: PageAccess;
}

/**
 * The report of a form, kept because its page may be asked for again. Null: the page of the form
 * shows what became of it.
 */
type Report = { readonly main: Html; readonly returnTo: string } | null;

const mostKept = 500;

/**
 * Performs what the forms of the pages ask for, as an operator who is signed in. `guardPages` has
 * checked the sender and the session before. The outcome is shown after a redirect, so that
 * reloading does nothing.
 */
export function actionRoutes(options: ActionOptions): Hono<PageEnv> {
  const { access, draining, sources } = options;
  const routes = new Hono<PageEnv>();
  const once = performOnce();
  const show = (context: Context<PageEnv>, title: string, main: Html, returnTo: string): Html =>
    options.page(
      context,
      title,
      html`${main}<p><a href="${returnTo}">Back to the page</a></p>`,
      returnTo,
    );
  routes.post('/actions', requireOperator, async (context) => {
    const { visitor } = context.var;
    const fields = fieldsOf(await context.req.parseBody({ all: true }));
    const returnTo = ownPath(fields.get('return_to'));
    const form: FormContext = { visitor, returnTo };
    try {
      if (draining())
        throw new OrderSyncError('UNREACHABLE', 'The worker is stopping. Try again when it runs.');
      // No name of a token can be that of a part of the program.
      const actor = `page:${visitor.name ?? ''}`;
      if (fields.get('action') === 'reload') {
        access.tell(context, `Done: ${reloadedTexts(await options.reload(actor)).join('; ')}.`);
        return context.redirect(returnTo, 303);
      }
      const request = readForm(fields, actor, sources.clock.wallMs());
      const shown = await shownAtOnce(request, options, form);
      if (shown !== null)
        return await context.html(show(context, shown.title, shown.main, returnTo));
      const id = fields.get('form') ?? '';
      if (!/^[\w-]{16}$/.test(id))
        throw new OrderSyncError('INVALID_INPUT', 'The form has no id: open its page again');
      const report = await once.perform(`${visitor.csrf} ${id}`, async () => {
        const main = await perform(request, fields, options);
        return main === null ? null : { main, returnTo };
      });
      if (report === null && request.kind === 'command')
        access.tell(context, doneText(request.command));
      return context.redirect(report === null ? returnTo : `/actions/${id}`, 303);
    } catch (error) {
      if (!(error instanceof OrderSyncError)) throw error;
      const status = error.code === 'UNREACHABLE' ? 503 : statusOf[error.code];
      if (status === undefined) throw error;
      return await context.html(
        show(context, 'Not done', refusal(error, fields, options, form), returnTo),
        status,
      );
    }
  });
  routes.get('/actions/:id', async (context) => {
    const report = await once.find(`${context.var.visitor.csrf} ${context.req.param('id')}`);
    if (report === null)
      throw new OrderSyncError(
        'NOT_FOUND',
        'This report is not kept any more. The audit log shows what was done.',
      );
    return await context.html(show(context, 'What was done', report.main, report.returnTo));
  });
  return routes;
}

/** A form that is submitted twice is performed once. Its id has that of its session in it. */
function performOnce() {
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
 * A page that is shown without a redirect: a preview changes nothing, and codes are kept nowhere.
 * Null: something is to be done.
 */
async function shownAtOnce(
  request: FormRequest,
  { sources, perform: send }: ActionOptions,
  form: FormContext,
) {
  const { read, clock } = sources;
  if (request.kind === 'command') {
    const { command } = request;
    if (command.action !== 'reveal' && command.action !== 'read_catalogue') return null;
    const result = await send(command);
    if (command.action === 'read_catalogue')
      return result.kind === 'catalogue'
        ? { title: 'Top-up plans', main: topupPlans(command.iccid, result) }
        : null;
    const units = result.kind === 'revealed' ? result.units : [];
    const { reference } = command;
    return {
      title: 'Delivered codes',
      main: revealedUnits(reference, units, read.showEntry(reference)),
    };
  }
  if (request.isConfirmed) return null;
  const main =
    request.kind === 'bulk'
      ? bulkPreview(request, previewBulk(read, request), form, clock.wallMs())
      : acknowledgePreview(request.which, read, form);
  return { title: 'Before it is done', main };
}

function doneText(command: OperatorCommand): string {
  switch (command.action) {
    case 'pause':
    case 'resume':
      return `Done: ${command.scope} is ${command.action}d.`;
    case 'acknowledge':
      return 'Done: the row has left the attention list.';
    case 'rewrite_results':
      return 'Done: the result will be delivered again.';
    default:
      return 'reference' in command ? `Done: ${command.action}, ${command.reference}.` : 'Done.';
  }
}

/** Returns what a report says. Null: the page that the form came from shows what became of it. */
async function perform(
  request: FormRequest,
  fields: FormFields,
  { sources, perform: send }: ActionOptions,
) {
  if (request.kind === 'command') {
    throwIfNothingDone(await send(request.command));
    return null;
  }
  const who = { actor: request.actor, reason: fields.get('reason') ?? '' };
  if (request.kind === 'bulk') {
    const { order, which } = request;
    const preview = previewBulk(sources.read, request);
    const { matched, references } = preview;
    if (order === 'reorder') requireCount(preview, request.count);
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
  if (refused !== undefined)
    throw new OrderSyncError(refused.code, refused.message, { hint: refused.hint });
  if (result.kind === 'results' && result.due === 0) {
    throw new OrderSyncError('NOT_FOUND', 'There is no such result yet.', {
      hint: 'the worker writes a result when the order is settled or needs review',
    });
  }
}

/** Why it was not done, and for an entry what can be done instead, as it is now. */
function refusal(
  error: OrderSyncError,
  fields: FormFields,
  { sources }: ActionOptions,
  form: FormContext,
): Html {
  const reference = fields.get('reference');
  const order = reference === undefined ? null : sources.read.showEntry(reference);
  const entry = order?.entries.find((it) => it.reference === reference);
  return html`<p class="problem">${error.message}</p>
${error.hint === undefined ? null : html`<p>${error.hint}</p>`}
${entry === undefined ? null : html`<h2>What can be done instead</h2><p>${code(entry.reference)} is ${entry.state}.</p>${actionForms.entry(entry, form) ?? html`<p>Nothing can be done to it.</p>`}`}`;
}

/**
 * How many entries of each state a preview names, and how many rows of the attention list it
 * counts.
 */
const shown = 20;
const mostCounted = 10_000;
const titles = {
  retry: 'Retry',
  hold: 'Hold',
  release: 'Release',
  cancel: 'Cancel',
  reorder: 'Order again',
} as const;

function bulkPreview(
  { order, which }: Extract<FormRequest, { kind: 'bulk' }>,
  preview: BulkPreview,
  context: FormContext,
  nowMs: number,
): Html {
  const { matched, references, affects } = preview;
  if (matched === 0) return html`<p>No entry fits any more.</p>`;
  const { state = '', source = '', code = '', product = '', orders = [], untilMs } = which;
  const filter = { state, source, code, product, orders: orders.join(',') };
  const form = {
    title: `${titles[order]}: ${references.length} entries`,
    what: 'The worker checks each entry again before it acts, and the audit log gets a row for each.',
    inputs: order === 'reorder' ? countInput(references.length) : undefined,
    fields: { action: 'bulk', order, ...filter, seen_ms: String(untilMs), confirmed: 'yes' },
  };
  return html`<p>${matched} entries match: ${countsText(statesOf(preview))}.</p>
<p><strong>${affectedText(affects, nowMs)}</strong></p>
${matched > mostInRun ? html`<p class="warning">One run takes ${mostInRun} of them. Repeat it for the others.</p>` : null}
<details><summary>The first of them</summary><ul>${references.slice(0, shown).map((reference) => html`<li class="code">${reference}</li>`)}</ul></details>
${openForm(form, context)}`;
}

function bulkReport(order: BulkAction, matched: number, { changed, refused }: BulkResult): Html {
  const left = matched - changed.length - refused.length;
  const rows = refused.map(({ reference, message, hint }) => [reference, message, hint]);
  return html`<p class="good">${titles[order]}: ${changed.length} of ${matched} entries are done.</p>
${left > 0 ? html`<p class="warning">${left} are left: repeat it for them.</p>` : null}
${refused.length === 0 ? null : html`<p class="warning">${refused.length} were refused and are as they were.</p>${table('Refused', ['Entry', 'Why', 'What to do'], rows)}`}`;
}

function acknowledgePreview(
  filter: AcknowledgeFilter,
  read: Pick<OutboxReader, 'attentionCounts'>,
  context: FormContext,
): Html {
  const counts = read.attentionCounts({ ...filter, canAcknowledge: true }, mostCounted);
  const total = totalOf(counts);
  const kept = totalOf(read.attentionCounts({ ...filter, canAcknowledge: false }, mostCounted));
  if (total === 0)
    return html`<p>No row of this list can be acknowledged: each needs a decision.</p>`;
  const { kind = '', code = '', subject = '', source = '', beforeMs } = filter;
  const which = { kind, code, subject, source };
  const fields = { action: 'acknowledge', ...which, seen_ms: String(beforeMs), confirmed: 'yes' };
  const form = {
    title: `Acknowledge ${total} rows`,
    what: 'Nothing is bought, sent or cancelled.',
    fields,
  };
  return html`<p>${total} rows would leave the list: ${countsText(counts)}.</p>
${kept > 0 ? html`<p>${kept} other rows need a decision and stay.</p>` : null}
${openForm(form, context)}`;
}

const customerAdvice =
  "If a customer says that a code does not work: compare the code, its PIN and its expiry with this page. If they are the same, tell the supplier the number of the supplier's order. If not, the shop showed something else: deliver the result again on the page of the order. A replacement is a new order in the shop, which costs again.";

const code = (text: string): Html => html`<span class="code">${text}</span>`;

function topupPlans(iccid: string | undefined, found: ResultOf<'catalogue'>): Html {
  const rows = readTopups(iccid, found).map(({ plan, currencies }) => [
    plan,
    currencies.join(', '),
  ]);
  const what =
    rows.length === 0
      ? html`<p>The supplier shows no plan for it.</p>`
      : table('Plans', ['Plan', 'Currencies'], rows);
  return html`<p>eSIM ${code(iccid ?? '')}: order one as ${code('esim_topup')}, with this ICCID.</p>${what}`;
}

/** A value of a unit with a button that copies it; a link, such as that which installs an eSIM, can be opened. */
const unitValue = (value: string): Html =>
  /^https:\/\/[^\s]+$/.test(value)
    ? html`<a href="${value}" rel="noreferrer" data-copy>${value}</a>`
    : copied(value);

/** Codes in clear. Nothing keeps this page. */
export function revealedUnits(
  reference: string,
  units: readonly Unit[],
  order: OrderDetail | null,
): Html {
  const entry = order?.entries.find((it) => it.reference === reference);
  return html`<p class="warning">The audit log has that you saw them. This page is not kept: to see them again, press "Show the codes" again.</p>
${factList([
  ['Entry', code(reference)],
  [
    'Order',
    entry === undefined
      ? null
      : html`${orderLink(order?.source ?? null, order?.orderId ?? null)} line ${entry.lineId}`,
  ],
  ['Asked', entry?.asked ?? null],
  ["Supplier's order", entry?.orderNumber ?? null],
])}
${units.map((unit, index) => html`<section class="card"><h2>Unit ${index + 1}</h2>${factList(labelledFields(unit).map(({ label, value }) => [label, unitValue(value)]))}</section>`)}
<p>${units.length === 0 ? 'There are no units.' : customerAdvice}</p>`;
}
