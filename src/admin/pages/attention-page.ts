import { html } from 'hono/html';
import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import { attentionActions, whatToDo, type AttentionAction } from '../../core/operator/attention.ts';
import { placeOf, type Attention, type AttentionFilter } from '../../store/read/attention.ts';
import type { EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import { callTexts } from '../entry-text.ts';
import { actionForms } from './action-forms.ts';
import { mayDecide, type FormContext, type PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { entryCard, notAccepted } from './order-page.ts';
import {
  asked,
  countsText,
  factList,
  filterForm,
  longText,
  orderLink,
  orderPath,
  paging,
  reviewPath,
  section,
  table,
  timeText,
} from './parts.ts';

const shownRows = 100;
/** The counts by kind end here. */
const mostCounted = 10_000;
const shownCalls = 50;

const attentionFilter = (url: URL): AttentionFilter => ({ code: asked(url, 'code'), source: asked(url, 'source') });

/** Everything that needs a person, beginning with the rows that hold up others. */
export function attentionPage({ read, clock }: PageSources, context: FormContext, url: URL): Html {
  const filter = attentionFilter(url);
  const { rows, next } = read.attentionPage(filter, { limit: shownRows, after: asked(url, 'after') });
  return html`${filterForm(url, { code: 'Code', source: 'Shop' })}
<p>${countsText(read.attentionCounts(filter, mostCounted))}</p>
${attentionTable(rows, context, clock.wallMs(), listOf(url))}
${paging(url, next)}
${actionForms.attentionList(url.searchParams, context)}`;
}

/** Rows of the attention list. @param list the filter of the list, as it stands in its address */
export function attentionTable(found: readonly Attention[], context: FormContext, nowMs: number, list = ''): Html {
  if (found.length === 0) return html`<p class="good">Nothing needs a person.</p>`;
  const rows = found.map((row) => [
    html`<a href="${reviewPath(row.id, list)}">${row.kind}</a>`,
    row.scope ?? orderLink(row.source, row.orderId),
    timeText(row.since, nowMs),
    html`<a href="/attention?code=${encodeURIComponent(row.code)}">${row.code}</a>${row.message ? html`: ${longText(row.message)}` : null}`,
    longText(adviceText(row, context), 400),
  ]);
  return table('What needs a person', ['What', 'Concerns', 'Since', 'What happened', 'What to do'], rows);
}

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
function adviceText({ kind, code, reason, whatToDo: byCommands }: Attention, context: FormContext): string {
  const advice = mayDecide(context)
    ? whatToDo(reason, (action) => onPages[action] ?? `\`${attentionActions[action]}\``)
    : byCommands;
  const bySupplier = kind === 'rejected' ? clientActionFor(code) : null;
  return bySupplier === null ? advice : `the supplier advises: "${bySupplier}" Otherwise ${advice}`;
}

/** One row of the attention list with its evidence, what may be decided, and the way to the next row. */
export function reviewPage(sources: PageSources, context: FormContext, url: URL): Html {
  const { read, clock } = sources;
  const id = asked(url, 'id') ?? '';
  const [row] = read.attention(1, { ids: [id] });
  const after = row === undefined ? undefined : placeOf(row);
  const [next] = read.attentionPage(attentionFilter(url), { limit: 1, after }).rows;
  const list = html`<nav class="paging" aria-label="Attention list"><a href="/attention${listOf(url)}">The whole list</a>
${next === undefined ? html`<span class="faint">This is the last row.</span>` : html`<a href="${reviewPath(next.id, listOf(url))}" rel="next">Next: ${next.kind} ${next.scope ?? [next.source, next.orderId].filter(Boolean).join('/')}</a>`}</nav>`;
  if (row === undefined) return html`<p class="good">"${id}" is not in the attention list any more.</p>${list}`;
  const { source, orderId, lineId } = row;
  const order = source === null || orderId === null ? null : read.showOrder(source, orderId);
  return html`${factList([
    ['What', `${row.kind}: ${row.code}`],
    ['Since', timeText(row.since, clock.wallMs())],
    ['Concerns', row.scope ?? html`${orderLink(source, orderId)}${lineId === null ? null : ` line ${lineId}`}`],
    ['Holds up', row.holdsUp],
  ])}
${row.message ? html`<p class="problem">${longText(row.message, 1000)}</p>` : null}
<p><strong>What to do:</strong> ${adviceText(row, context)}</p>
${actionForms.attention(row, context)}
${order === null ? null : section('evidence', 'Evidence', evidence(row, order, sources, context))}
${list}`;
}

function evidence(row: Attention, order: OrderDetail, sources: PageSources, context: FormContext): Html {
  // A line that was not accepted has no entry; entries of other lines do not matter here.
  const isRefused = row.id.startsWith('line:');
  const entries = order.entries.filter(({ reference }) => row.reference === null || reference === row.reference);
  return html`${isRefused ? notAccepted(order) : entries.map((entry) => html`${entryCard(entry, sources, context)}${callTable(entry, sources)}`)}
<p><a href="${orderPath(order.source, order.orderId)}">The whole order</a></p>`;
}

function callTable({ reference, attempts }: EntryDetail, { clock }: PageSources): Html {
  if (attempts.length === 0) return html`<p>It was never sent.</p>`;
  const rows = attempts.slice(-shownCalls).map((call) => {
    const { outcome, httpStatus, took, answer } = callTexts(call);
    const openedAt = timeText(call.openedAt, clock.wallMs());
    return [call.number, openedAt, call.purpose, outcome, httpStatus, took, longText(answer)];
  });
  return table(`Calls for ${reference}`, ['Call', 'Opened', 'Purpose', 'Outcome', 'HTTP', 'Took', 'Answer'], rows);
}

/** The filter of the list, as it stands in the address. */
function listOf(url: URL): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(attentionFilter(url))) if (value !== undefined) values.set(name, value);
  return values.size === 0 ? '' : `?${values.toString()}`;
}
