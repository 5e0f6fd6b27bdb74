import { html } from 'hono/html';
import { waitTexts } from '../../core/operator/queue-explanation.ts';
import { countsText } from '../../core/counts.ts';
import { allowedActions } from '../../core/entry/states.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import { folderSinkName } from '../../store/results/due-results.ts';
import type { DeliveryDetail, EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import type { TimelineEvent, TimelineKind } from '../../store/read/timeline.ts';
import { endOf, errorText, eventText, stateText, adviceAbout } from '../entry-text.ts';
import type { Html } from '../html/document.ts';
import { actionForms } from './action-forms.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import {
  dueText,
  asked,
  badge,
  card,
  clockText,
  copied,
  counted,
  factList,
  longText,
  orderLink,
  paging,
  reviewPath,
  stateMark,
  table,
  timeText,
} from './parts.ts';

const shownEvents = 200;

/**
 * Everything about one order: the request, its outcome, its events in order, and the possible
 * decisions.
 */
export function orderPage(
  sources: PageSources,
  order: OrderDetail,
  context: FormContext,
  url: URL,
): Html {
  const { read, clock } = sources;
  const nowMs = clock.wallMs();
  const { document } = read.resultDocument(order.id);
  const ids = order.entries.map(({ reference }) => reference);
  const needPerson = new Set(read.attention(ids.length, { ids }).map(({ id }) => id));
  const { metadata, lines } = document;
  const { state } = document;
  const mail = /([^\s"@])[^\s"@]*@([^\s"@]+)/.exec(JSON.stringify([metadata, lines]));
  return html`<p class="lead"><a href="/orders">Orders</a> / <a href="/orders?source=${encodeURIComponent(order.source)}">${order.source}</a>
${badge(state === 'completed' ? 'good' : state === 'in_progress' ? 'open' : 'problem', state.replaceAll('_', ' '))}
<span class="faint">${mail === null ? null : `${mail[1]}***@${mail[2]}, `}received ${timeText(order.receivedAt, nowMs)}, changed ${timeText(order.updatedAt, nowMs)}; ${lineCounts(document)}</span></p>
<div class="cols"><div>
${order.entries.map((entry) => html`${entryCard(entry, sources, context)}${reviewLink(entry, needPerson)}`)}
${order.esimOrders.length === 0 ? null : card('esims', 'Orders for its eSIMs', html`<ul class="rows">${order.esimOrders.map((it) => html`<li>${it.operation} of ${copied(it.iccid)}: ${orderLink(it.source, it.orderId)}, ${it.state}</li>`)}</ul>`)}
${order.rejections.length === 0 ? null : card('refused', 'Not accepted', notAccepted(order))}
${card('results', 'What the shop was told', deliveryList(order, state, sources, context))}
${card('received', 'Data of the shop', shopData(document))}
</div>
<div>${card('timeline', 'What happened', timelineOf(sources, order.id, url))}</div></div>`;
}

/** One entry: its state with the evidence, and what may be decided. */
export function entryCard(entry: EntryDetail, { clock }: PageSources, context: FormContext): Html {
  const nowMs = clock.wallMs();
  const { reference, orderNumber, cost, currency, unitCount, shreddedAt } = entry;
  const units = `${unitCount} delivered${shreddedAt === null ? ', not shown here' : `, shredded at ${shreddedAt}`}`;
  const supplier = `order ${orderNumber}${cost === null ? '' : `, ${cost} ${currency ?? ''}`}`;
  const allowed = allowedActions(entry);
  const error = errorText(entry);
  return html`<article class="card" id="${reference}" aria-label="Entry ${reference}">
<h2>${entry.asked} ${stateMark(entry.state)}</h2>
<p class="faint"><span class="code" data-copy>${reference}</span> line ${entry.lineId}${entry.replaced ? ', replaced by another entry' : ''}${stateText(entry) === entry.state ? null : `: ${stateText(entry)}`}</p>
${entry.reviewReason === null ? null : html`<p class="warning">${entry.state === 'held' ? 'Held' : 'For review'}: ${longText(entry.reviewReason)}</p>`}
${error === '' ? null : html`<p class="problem">${longText(error)}${entry.attempts.at(-1)?.sent === false ? ' The supplier got nothing.' : ''}</p>`}
${expectedText(entry)}
${entry.pausedBy.map(({ scope, reason, since }) => html`<p class="warning">Held up: ${scope} is paused, ${timeText(since, nowMs)}: ${reason}</p>`)}
${factList([
  ['Next', nextText(entry, nowMs)],
  ['Waits', waitTexts(entry).join('; ') || null],
  ['Supplier', orderNumber === null ? null : supplier],
  // How many, never which: a code is shown by an action that the audit log records.
  ['Units', unitCount === 0 ? null : units],
  [
    'eSIM (ICCID)',
    entry.iccids.length === 0
      ? null
      : html`${entry.iccids.map((iccid) => html`${copied(iccid)} `)}`,
  ],
  ['What to do', adviceAbout(entry)],
])}
${actionForms.entry(entry, context) ?? html`<p class="faint">May be decided: ${allowed.length === 0 ? 'nothing' : allowed.join(', ')}</p>`}
</article>`;
}

/** The next step of an entry for which nobody has to do anything. */
function expectedText({
  state,
  outcomeUnknown,
  mayBeBought,
  pausedBy,
  errorCode,
}: EntryDetail): Html | null {
  const when =
    pausedBy.length === 0
      ? 'The worker sends the line by itself'
      : 'The worker sends the line when nothing blocks it';
  if ((state === 'pending' || state === 'waiting') && !mayBeBought)
    return html`<p>Nothing of it is bought yet. ${when}, with the same reference each time, so it is not bought twice.</p>`;
  if (state !== 'unknown') return null;
  if (!outcomeUnknown)
    return html`<p>Before it ends (${endOf(errorCode)}), the worker asks the supplier whether it was bought all the same.</p>`;
  return html`<p>It may be bought: the worker asks the supplier by itself, and does not buy it twice.</p>`;
}

/** An entry leaves the attention list where all evidence stands beside the button. */
function reviewLink({ reference }: EntryDetail, needPerson: ReadonlySet<string>): Html | null {
  if (!needPerson.has(reference)) return null;
  return html`<p>It needs an operator: <a href="${reviewPath(reference)}">review it, or acknowledge it there</a>.</p>`;
}

/** `3 lines: 1 fulfilled, 1 rejected, 1 not accepted`. */
function lineCounts({ lines }: Pick<ResultDocument, 'lines'>): string {
  const byState = Map.groupBy(lines, ({ state, entries }) =>
    entries.length === 0 ? 'not accepted' : state.replaceAll('_', ' '),
  );
  return `${counted(lines.length, 'line')}: ${countsText(Object.fromEntries([...byState].map(([state, of]) => [state, of.length])))}`;
}

function nextText({ nextAttemptAt, nextStep, pausedBy }: EntryDetail, nowMs: number): Html | null {
  if (nextAttemptAt === null) return null;
  const step = nextStep === 'send' ? 'ordered at the supplier' : 'looked up at the supplier';
  if (pausedBy.length > 0) return html`${step}, when what holds it up is not paused any more`;
  return html`${step}, due ${dueText(nextAttemptAt, nowMs)}`;
}

export function notAccepted({ source, rejections }: OrderDetail): Html | null {
  if (rejections.length === 0) return null;
  const rows = rejections.map(({ lineNumber, lineId, code, field, rule, value }) => [
    [lineId, lineNumber === null ? null : `line ${lineNumber} of the file`]
      .filter((text) => text !== null)
      .join(', '),
    code,
    longText(`${field ?? 'line'} ${rule}`),
    value === null ? null : longText(value),
  ]);
  const list = `/attention?source=${encodeURIComponent(source)}`;
  return html`${table('Lines that were not accepted', ['Line', 'Code', 'Rule', 'Value'], rows)}
<p>Correct them in the shop and send the order again: accepted lines are not bought twice. A line that nobody corrects stays in the <a href="${list}">attention list of this shop</a> until an operator ends it there.</p>`;
}

function deliveryList(
  order: OrderDetail,
  state: ResultDocument['state'],
  { read, clock }: PageSources,
  context: FormContext,
): Html {
  if (order.deliveries.length === 0)
    return html`<p>${state === 'in_progress' ? 'There is no result yet.' : 'No sink takes the results of this shop.'}</p>`;
  const rows = order.deliveries.map(
    (
      delivery,
    ) => html`<li><p class="head"><span>${delivery.sink}${delivery.sink === folderSinkName ? html`: <span class="code">${read.resultFile(order)}</span>` : null}</span> ${deliveryBadge(delivery, clock.wallMs())}</p>
${delivery.lastError === null ? null : html`<p>${longText(delivery.lastError)}</p>`}${actionForms.delivery(delivery.sink, order, context)}</li>`,
  );
  return html`<ul class="rows">${rows}</ul>`;
}

function deliveryBadge(
  { done, doneAt, lastError, givenUpAt }: DeliveryDetail,
  nowMs: number,
): Html {
  if (givenUpAt !== null) return badge('problem', html`given up ${timeText(givenUpAt, nowMs)}`);
  if (done && doneAt !== null) return badge('good', html`delivered ${timeText(doneAt, nowMs)}`);
  return lastError === null ? badge('open', 'due') : badge('warning', 'failed, is tried again');
}

/** Further data of the shop. It may name the customer, so it is opened on purpose. */
function shopData({ metadata, lines }: ResultDocument): Html {
  const extras = lines.flatMap(({ line_id, extra = {} }) =>
    Object.keys(extra).length > 0 ? [{ line_id, extra }] : [],
  );
  if (Object.keys(metadata).length === 0 && extras.length === 0)
    return html`<p>The shop sent nothing else along.</p>`;
  const shown = { metadata, ...(extras.length === 0 ? {} : { lines: extras }) };
  return html`<details><summary>Show it: it may name the customer</summary><pre class="text">${JSON.stringify(shown, null, 2)}</pre></details>`;
}

/** What an event says first; its code stands behind it. */
const kindTexts: Readonly<Record<TimelineKind, string>> = {
  received: 'Received from',
  entry: 'Entry made:',
  call: 'Sent to the supplier:',
  answer: 'Answered:',
  pause: 'Scope',
  decision: 'Decided:',
  not_accepted: 'Not accepted:',
  corrected: 'Corrected:',
  settled: 'Ended as',
  delivered: 'Result delivered to',
  given_up: 'Result given up:',
};
const isBad = ({ kind, code, errorCode }: TimelineEvent): boolean =>
  errorCode !== null || code === 'pause' || kind === 'not_accepted' || kind === 'given_up';

/**
 * The events of an order, the first one first, with every answer word for word. @param url has the
 * place at which they continue
 */
export function timelineOf({ read, clock }: PageSources, orderId: number, url?: URL): Html {
  const after = url && asked(url, 'after');
  const { rows, next } = read.timeline(orderId, { limit: shownEvents, after });
  const entries = new Set(rows.map(({ reference }) => reference).filter(Boolean));
  let day = '';
  const events = rows.map((event) => {
    const { kind, at, message, reference } = event;
    const isNewDay = !at.startsWith(day) || day === '';
    day = at.slice(0, 10);
    return html`${isNewDay ? html`<li class="day">${day}</li>` : null}<li class="kind-${kind}${isBad(event) ? ' is-problem' : ''}">${clockText(at, clock.wallMs())}
<div>${kindTexts[kind]} ${longText(subjectOf(event))}</div>
<div class="faint">${eventText(event)}${message ? html` <q>${longText(message)}</q>` : null}${reference === null || entries.size === 1 ? null : html` <a class="code" href="#${reference}">${reference}</a>`}</div></li>
`;
  });
  return html`<ol class="timeline">${events}</ol>${url && paging(url, next)}`;
}

function subjectOf({ kind, code, subject, lineId }: TimelineEvent): string {
  if (kind === 'pause') return `${subject ?? ''}: ${code === 'pause' ? 'paused' : 'resumed'}`;
  if (kind === 'answer' && subject === 'not_sent') return `${code}: the supplier got nothing`;
  if (kind === 'not_accepted' || kind === 'corrected')
    return [`line ${lineId ?? '-'}`, subject, code].filter(Boolean).join(', ');
  return kind === 'settled' && subject !== null ? `${code}, order ${subject}` : code;
}
