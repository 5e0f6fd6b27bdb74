import { html } from 'hono/html';
import { recheckText } from '../../core/operator/queue-explanation.ts';
import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import { isMaybeBought } from '../../core/entry/may-be-bought.ts';
import { allowedActions, commandOf } from '../../core/entry/states.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import { folderSinkName } from '../../store/results/due-results.ts';
import type { AuditDetail, DeliveryDetail, EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import { actionForms } from './action-forms.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { asked, paging } from './list-parts.ts';
import { longText, reviewPath, timeText } from './text.ts';
import type { TimelineEvent, TimelineKind } from '../../store/read/timeline.ts';

const shownEvents = 200;

/** Everything about one order: the request, its outcome, its events in order, and the possible decisions. */
export function orderPage(sources: PageSources, order: OrderDetail, context: FormContext, url: URL): Html {
  const nowMs = sources.clock.wallMs();
  const { document } = sources.read.resultDocument(order.id);
  const after = asked(url, 'after');
  const ids = order.entries.map(({ reference }) => reference);
  const needPerson = new Set(sources.read.attention(ids.length, { ids }).map(({ id }) => id));
  const events = sources.read.timeline(order.id, { limit: shownEvents, after });
  return html`<dl class="facts">
<div><dt>Shop</dt><dd><a href="/orders?source=${encodeURIComponent(order.source)}">${order.source}</a></dd></div>
<div><dt>Result</dt><dd>${document.state}</dd></div>
<div><dt>Lines</dt><dd>${lineCounts(document)}</dd></div>
<div><dt>Received</dt><dd>${timeText(order.receivedAt, nowMs)}</dd></div>
<div><dt>Changed</dt><dd>${timeText(order.updatedAt, nowMs)}</dd></div>
</dl>
<section aria-labelledby="lines"><h2 id="lines">What was asked, and what became of it</h2>
${order.entries.map((entry) => html`${entryCard(entry, sources, context)}${reviewLink(entry, needPerson)}`)}
${notAccepted(order)}
</section>
<section aria-labelledby="results"><h2 id="results">Results</h2>${deliveryTable(order, document.state, sources, context, nowMs)}</section>
<section aria-labelledby="timeline"><h2 id="timeline">What happened</h2>
${timelineTable(events.rows, nowMs)}
${paging(url, 'after', events.next, { first: 'From the beginning', next: 'Later' })}</section>
<section aria-labelledby="decisions"><h2 id="decisions">Decisions of people and callers</h2>${decisionTable(order.audit, nowMs)}</section>
<section aria-labelledby="received"><h2 id="received">Data of the shop</h2>${shopData(document)}</section>`;
}

/** One entry: its state with the evidence, and what may be decided. */
export function entryCard(entry: EntryDetail, { clock }: PageSources, context: FormContext): Html {
  const nowMs = clock.wallMs();
  const action = entry.errorCode === null || entry.state === 'held' ? null : clientActionFor(entry.errorCode);
  const error = [entry.errorCode, entry.errorMessage].filter((text) => text !== null && text !== '').join(': ');
  const facts: readonly (readonly [string, Html | string | null])[] = [
    ['Asked', entry.asked],
    ['Next', nextText(entry, nowMs)],
    ['Waits', entry.awaitsRecheck === null ? null : recheckText(entry.awaitsRecheck)],
    ['Supplier', supplierText(entry)],
    ['Units', unitText(entry)],
    ['What the supplier advises', action],
  ];
  const allowed = allowedActions(entry);
  return html`<article class="card" id="${entry.reference}" aria-label="Entry ${entry.reference}">
<h3><span class="code">${entry.reference}</span>: ${stateText(entry)}</h3>
<p>Line ${entry.lineId}, ${entry.operation}${entry.replaced ? ', replaced by another entry' : ''}</p>
${entry.reviewReason === null ? null : html`<p class="warning">${entry.state === 'held' ? 'Held' : 'For review'}: ${longText(entry.reviewReason)}</p>`}
${error === '' ? null : html`<p class="problem">${longText(error)}${entry.attempts.at(-1)?.sent === false ? ' The supplier got nothing.' : ''}</p>`}
${expectedText(entry)}
${entry.pausedBy.map(({ scope, reason, since }) => html`<p class="warning">Held up: ${scope} is paused, ${timeText(since, nowMs)}: ${reason}</p>`)}
<dl class="facts">${facts.map(([name, text]) => (text === null ? null : html`<div><dt>${name}</dt><dd>${text}</dd></div>`))}</dl>
${actionForms.entry(entry, context) ?? html`<p class="faint">May be decided: ${allowed.length === 0 ? 'nothing' : allowed.map(commandOf).join(', ')}</p>`}
</article>`;
}

/** The next step of an entry for which nobody has to do anything. */
function expectedText({ state, mayBeBought, pausedBy }: EntryDetail): Html | null {
  const when = pausedBy.length === 0 ? 'The worker sends it by itself' : 'The worker sends it when nothing holds it up';
  if ((state === 'pending' || state === 'waiting') && !mayBeBought)
    return html`<p>Nothing of it is bought yet. ${when}, with the same reference each time, so it is not bought twice.</p>`;
  if (state !== 'unknown') return null;
  return html`<p>It may be bought: the worker asks the supplier by itself, and does not buy it twice.</p>`;
}

/** An entry leaves the attention list where all evidence stands beside the button. */
function reviewLink({ reference }: EntryDetail, needPerson: ReadonlySet<string>): Html | null {
  if (!needPerson.has(reference)) return null;
  return html`<p>It needs a person: <a href="${reviewPath(reference)}">review it, or acknowledge it there</a>.</p>`;
}

/** `3: 1 fulfilled, 1 rejected, 1 not accepted`. */
function lineCounts({ lines }: Pick<ResultDocument, 'lines'>): string {
  const counts = Map.groupBy(lines, ({ state, entries }) => (entries.length === 0 ? 'not accepted' : state));
  return `${lines.length}: ${[...counts].map(([state, of]) => `${of.length} ${state}`).join(', ')}`;
}

function nextText({ nextAttemptAt, nextStep, pausedBy }: EntryDetail, nowMs: number): Html | null {
  if (nextAttemptAt === null) return null;
  const step = nextStep === 'send' ? 'ordered at the supplier' : 'looked up at the supplier';
  if (pausedBy.length > 0) return html`${step}, when what holds it up is not paused any more`;
  return html`${step}, due ${timeText(nextAttemptAt, nowMs)}`;
}

function stateText(entry: EntryDetail): string {
  const { state, outcomeUnknown, unitsMissing } = entry;
  if (unitsMissing > 0) return `${state}, and ${unitsMissing} of its units are to be delivered by hand`;
  if (outcomeUnknown) return `${state}, an attempt may have been processed`;
  return isMaybeBought(entry) ? `${state}, and may have been bought` : state;
}

function supplierText({ orderNumber, cost, currency }: EntryDetail): string | null {
  if (orderNumber === null) return null;
  return `order ${orderNumber}${cost === null ? '' : `, ${cost} ${currency ?? ''}`}`;
}

/** How many, never which: a code is shown by an action that the audit log records. */
function unitText({ unitCount, shreddedAt }: EntryDetail): string | null {
  if (unitCount === 0) return null;
  return `${unitCount} delivered${shreddedAt === null ? ', not shown here' : `, shredded at ${shreddedAt}`}`;
}

export function notAccepted({ source, rejections }: OrderDetail): Html | null {
  if (rejections.length === 0) return null;
  const rows = rejections.map(({ lineNumber, lineId, code, field, rule, value }) => [
    [lineId, lineNumber === null ? null : `line ${lineNumber} of the file`].filter((text) => text !== null).join(', '),
    code,
    longText(`${field ?? 'line'} ${rule}`),
    value === null ? null : longText(value),
  ]);
  const list = `/attention?source=${encodeURIComponent(source)}`;
  return html`${table('Lines that were not accepted', ['Line', 'Code', 'Rule', 'Value'], rows)}
<p>Correct them in the shop and send the order again: what was accepted is not bought twice. What nobody corrects stays in the <a href="${list}">attention list of this shop</a> until a person ends it there.</p>`;
}

function deliveryTable(
  order: OrderDetail,
  state: ResultDocument['state'],
  sources: PageSources,
  context: FormContext,
  nowMs: number,
): Html {
  if (order.deliveries.length === 0)
    return html`<p>${state === 'in_progress' ? 'There is no result yet.' : 'No sink takes the results of this shop.'}</p>`;
  const file = sources.read.resultFile(order);
  const rows = order.deliveries.map((delivery) => [
    delivery.sink === folderSinkName ? html`${delivery.sink}: <span class="code">${file}</span>` : delivery.sink,
    deliveryText(delivery, nowMs),
    delivery.lastError === null ? null : longText(delivery.lastError),
    actionForms.delivery(delivery.sink, order, context),
  ]);
  return table('Results by sink', ['Sink', 'State', 'Last error', 'Decide'], rows);
}

function deliveryText({ done, doneAt, lastError, givenUpAt }: DeliveryDetail, nowMs: number): Html {
  if (givenUpAt !== null) return html`given up ${timeText(givenUpAt, nowMs)}`;
  if (done && doneAt !== null) return html`delivered ${timeText(doneAt, nowMs)}`;
  return lastError === null ? html`due` : html`failed, is tried again`;
}

function decisionTable(audit: readonly AuditDetail[], nowMs: number): Html {
  if (audit.length === 0) return html`<p>Nobody has decided anything.</p>`;
  const rows = audit.map(({ at, actor, action, subject, reason }) => [
    timeText(at, nowMs),
    actor,
    action,
    longText(subject),
    longText(reason),
  ]);
  return table('Decisions', ['When', 'Who', 'What', 'Subject', 'Reason'], rows);
}

interface ShopData {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly lines: readonly { readonly line_id: string | null; readonly extra?: Readonly<Record<string, string>> }[];
}

/** Further data of the shop. It may name the customer, so it is opened on purpose. */
function shopData({ metadata, lines }: ShopData): Html {
  const extras = lines.filter(({ extra }) => extra !== undefined && Object.keys(extra).length > 0);
  if (Object.keys(metadata).length === 0 && extras.length === 0) return html`<p>The shop sent nothing else along.</p>`;
  const lineData = extras.map(({ line_id, extra }) => ({ line_id, extra }));
  const shown = extras.length === 0 ? { metadata } : { metadata, lines: lineData };
  return html`<details><summary>Show it: it may name the customer</summary><pre class="text">${JSON.stringify(shown, null, 2)}</pre></details>`;
}

const kinds: Readonly<Record<TimelineKind, string>> = {
  received: 'received',
  entry: 'entry made',
  call: 'call begun',
  answer: 'answer',
  pause: 'pause',
  decision: 'decision',
  not_accepted: 'not accepted',
  corrected: 'corrected',
  settled: 'settled',
  delivered: 'result delivered',
  given_up: 'delivery given up',
};

/** The events of an order, the first one first, with every answer word for word. */
function timelineTable(events: readonly TimelineEvent[], nowMs: number): Html {
  if (events.length === 0) return html`<p>Nothing more.</p>`;
  const rows = events.map((event) => [
    timeText(event.at, nowMs),
    kinds[event.kind],
    longText(subjectOf(event)),
    event.reference === null ? null : html`<a class="code" href="#${event.reference}">${event.reference}</a>`,
    html`${factsOf(event)}${event.message === null || event.message === '' ? null : html` <q>${longText(event.message)}</q>`}`,
  ]);
  return table('Timeline', ['When', 'What', 'Which', 'Entry', 'Details'], rows);
}

function subjectOf({ kind, code, subject, lineId }: TimelineEvent): string {
  if (kind === 'pause') return `${subject ?? ''}: ${code === 'pause' ? 'paused' : 'resumed'}`;
  if (kind === 'answer' && subject === 'not_sent') return `${code}: the supplier got nothing`;
  if (kind === 'not_accepted' || kind === 'corrected')
    return [`line ${lineId ?? '-'}`, subject, code].filter(Boolean).join(', ');
  return kind === 'settled' && subject !== null ? `${code}, order ${subject}` : code;
}

function factsOf({ actor, number, keyName, httpStatus, durationMs, errorCode }: TimelineEvent): string {
  return [
    actor === null ? '' : `by ${actor}`,
    number === null ? '' : `call ${number}`,
    keyName === null ? '' : `key ${keyName}`,
    httpStatus === null ? '' : `HTTP ${httpStatus}`,
    durationMs === null ? '' : `${durationMs} ms`,
    errorCode ?? '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}
