import { html } from 'hono/html';
import type { QueueExplanation } from '../../core/entry/queue-explanation.ts';
import { entryStates } from '../../core/entry/states.ts';
import type { Attention } from '../../store/read/attention.ts';
import type { PauseEffect } from '../../store/read/pause-effects.ts';
import type { FormContext } from './action-forms.ts';
import type { Html } from './html.ts';
import type { PageSources } from './page-sources.ts';
import { table } from './table.ts';
import { longText, orderLink, timeOfMs, timeText } from './text.ts';

const shownAttention = 10;
const shownPauses = 20;

/** What needs a person first, then how far the worker is. */
export function overviewPage(sources: PageSources, context: FormContext): Html {
  const { read, clock, forms } = sources;
  const nowMs = clock.wallMs();
  const queue = sources.explainQueue();
  return html`${attentionSection(read.attention(shownAttention), nowMs)}
${pauseSection(read.pauses(), sources, context)}
${sinkSection(sources)}
<section aria-labelledby="queue"><h2 id="queue">Sending</h2>
${queueFacts(queue, nowMs)}
${forms.queue(context)}
</section>
${countsSection(sources, nowMs)}`;
}

function attentionSection(rows: readonly Attention[], nowMs: number): Html {
  if (rows.length === 0) {
    return html`<section aria-labelledby="attention"><h2 id="attention">Attention</h2><p class="good">Nothing needs a person.</p></section>`;
  }
  const header = ['What', 'Order', 'Since', 'What happened', 'What to do'];
  const cells = rows.map((row) => [
    row.kind,
    row.scope ?? orderLink(row.source, row.orderId),
    timeText(row.since, nowMs),
    longText([row.code, row.message].filter((it) => it !== null && it !== '').join(': ')),
    row.whatToDo,
  ]);
  return html`<section class="attention" aria-labelledby="attention"><h2 id="attention">Attention</h2>
${table('What needs a person', header, cells)}
<p><a href="/attention">The whole list</a></p></section>`;
}

function pauseSection(
  pauses: readonly PauseEffect[],
  { clock, forms }: PageSources,
  context: FormContext,
): Html | null {
  if (pauses.length === 0) return null;
  const nowMs = clock.wallMs();
  const shown = pauses.toSorted((a, b) => b.holdsUp - a.holdsUp).slice(0, shownPauses);
  const rows = shown.map((pause) => [
    pause.scope,
    longText(pause.message === '' ? pause.reason : `${pause.reason}: ${pause.message}`),
    pause.openedBy,
    timeOfMs(pause.sinceMs, nowMs),
    pause.holdsUp,
    pause.probeAtMs === null ? 'only when a person resumes it' : timeOfMs(pause.probeAtMs, nowMs),
    forms.pause(pause, context),
  ]);
  const header = ['Scope', 'Reason', 'By', 'Since', 'Entries held up', 'Tried again', 'Decide'];
  const more =
    pauses.length > shown.length ? html`<p>${pauses.length - shown.length} more are in the attention list.</p>` : null;
  return html`<section class="attention" aria-labelledby="pauses"><h2 id="pauses">Paused</h2>
${table('Paused scopes', header, rows)}${more}</section>`;
}

function sinkSection({ read, clock }: PageSources): Html | null {
  const sinks = read.sinkPauses();
  if (sinks.length === 0) return null;
  const nowMs = clock.wallMs();
  const rows = sinks.map(({ sink, reason, message, sinceMs, probeAtMs, waiting }) => [
    sink,
    longText(`${reason}: ${message}`),
    timeOfMs(sinceMs, nowMs),
    waiting,
    timeOfMs(probeAtMs, nowMs),
  ]);
  const header = ['Sink', 'Reason', 'Since', 'Results waiting', 'Tried again'];
  return html`<section class="attention" aria-labelledby="sinks"><h2 id="sinks">Sinks that take no results</h2>
${table('Paused sinks', header, rows)}</section>`;
}

function queueFacts(queue: QueueExplanation, nowMs: number): Html {
  const { limits, reasons, notes, keys } = queue;
  const drained = queue.drained_at ?? queue.unpaused_drained_at;
  return html`${reasons.map((reason) => html`<p class="problem">Nothing new is bought: ${reason}</p>`)}
${notes.map((note) => html`<p class="warning">${note}</p>`)}
<dl class="facts">
<div><dt>To send</dt><dd>${queue.to_send}${queue.to_send_paused > 0 ? `, ${queue.to_send_paused} of them paused` : ''}</dd></div>
<div><dt>Outcome unknown</dt><dd>${queue.outcome_unknown}</dd></div>
<div><dt>${queue.drained_at === null && drained !== null ? 'All sent but what is paused' : 'All sent'}</dt><dd>${drained === null ? '-' : timeText(drained, nowMs)}</dd></div>
</dl>
<div class="gauges">${limits.map(
    ({ limit, used, capacity, next_free_at: nextFreeAt }) => html`<div class="gauge">
<p><strong>${limit}</strong>: ${used} of ${capacity} used</p>
<meter min="0" max="${Math.max(1, capacity)}" value="${used}" aria-label="${limit} used of the budget">${used} of ${capacity}</meter>
<p>next free slot: ${nextFreeAt === null ? 'unknown' : timeText(nextFreeAt, nowMs)}</p></div>`,
  )}</div>
${table(
  'API keys',
  ['Key', 'State', 'Until', 'Orders used', 'Requests used'],
  keys.map((key) => [key.name, key.state, timeText(key.until, nowMs), key.orders_used, key.requests_used]),
)}`;
}

function countsSection({ read }: PageSources, nowMs: number): Html {
  const counts = read.counts();
  const { open, oldestOpenMs, dueDeliveries } = read.backlog();
  const oldest = oldestOpenMs === null ? null : html`, the oldest since ${timeOfMs(oldestOpenMs, nowMs)}`;
  return html`<section aria-labelledby="counts"><h2 id="counts">Entries</h2>
<p>${open} open${oldest}. ${dueDeliveries} results are to be delivered.</p>
<ul class="counts">${entryStates
    .filter((state) => counts[state] > 0)
    .map(
      (state) =>
        html`<li><a href="/orders?state=${state}"><span class="number">${counts[state]}</span> ${state}</a></li>`,
    )}</ul></section>`;
}
