import { html } from 'hono/html';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import { entryStates } from '../../core/entry/states.ts';
import { actionForms } from './action-forms.ts';
import { attentionTable } from './attention-page.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { overviewCharts, spentSection } from './overview-charts.ts';
import { pausedScopes, pausedSinks } from './paused-sections.ts';
import { longText, timeOfMs, timeText } from './text.ts';

const shownAttention = 10;

/** Attention first, then the progress of the worker. */
export function overviewPage(sources: PageSources, context: FormContext): Html {
  const nowMs = sources.clock.wallMs();
  return html`${attentionSection(sources, context, nowMs)}
${pausedScopes(sources, context)}
${pausedSinks(sources)}
<section aria-labelledby="queue"><h2 id="queue">Sending</h2>
${queueFacts(sources.explainQueue(), nowMs)}
${actionForms.queue(context)}
${lastPause(sources, nowMs)}
</section>
${countsSection(sources, nowMs)}
${spentSection(sources)}
${overviewCharts(sources)}`;
}

function attentionSection({ read }: PageSources, context: FormContext, nowMs: number): Html {
  return html`<section aria-labelledby="attention"><h2 id="attention">Attention</h2>
${attentionTable(read.attention(shownAttention), context, nowMs)}
<p><a href="/attention">The whole attention list</a>. Orders that the worker tries again by itself are not in it.</p></section>`;
}

/** The pause that ended last: after an outage it is what people ask for. */
function lastPause({ read }: PageSources, nowMs: number): Html | null {
  const [ended] = read.auditLog({ action: 'resume' }, { limit: 1 }).rows;
  if (ended === undefined) return null;
  return html`<p>Paused last: ${ended.subject}, until ${timeText(ended.at, nowMs)} (${longText(ended.reason)}). All pauses: <a href="/audit?action=resume">audit log</a>.</p>`;
}

const isAccountPaused = ({ pauses }: QueueExplanation): boolean => pauses.some(({ scope }) => scope === 'account');

function queueFacts(queue: QueueExplanation, nowMs: number): Html {
  const { limits, reasons, notes, keys } = queue;
  const { drained_at: drained } = queue;
  const isPartial = queue.to_send_paused + queue.to_send_waiting > 0;
  const isStopped = isAccountPaused(queue);
  return html`${reasons.map((reason) => html`<p class="problem">Nothing new is bought: ${reason}</p>`)}
${notes.map((note) => html`<p class="warning">${note}</p>`)}
<dl class="facts">
<div><dt>To send</dt><dd>${queue.to_send}${queue.to_send_paused > 0 ? `, ${queue.to_send_paused} of them paused` : ''}</dd></div>
<div><dt>Outcome unknown</dt><dd>${queue.outcome_unknown}${queue.outcome_unknown > 0 ? ', may be bought: the worker asks the supplier' : ''}</dd></div>
<div><dt>${isPartial ? 'The rest is sent' : 'All sent'}, about</dt><dd>${drained === null ? (queue.to_send === 0 ? 'nothing waits' : 'not known') : timeText(drained, nowMs)}</dd></div>
</dl>
<div class="gauges">${limits.map(
    ({ limit, used, capacity, next_free_at: nextFreeAt }) => html`<div class="gauge">
<p><strong>${limit}</strong> of all keys: ${used} of ${capacity} used</p>
<meter min="0" max="${Math.max(1, capacity)}" value="${used}" aria-label="${limit}: ${used} of ${capacity} used">${used} of ${capacity}</meter>
<p>next free slot: ${isStopped ? 'unused while the account is paused' : nextFreeAt === null ? 'not known' : timeText(nextFreeAt, nowMs)}</p></div>`,
  )}</div>
${keys.length === 0 ? null : keyTable(queue, nowMs)}`;
}

function keyTable(queue: QueueExplanation, nowMs: number): Html {
  const { keys, limits } = queue;
  const isStopped = isAccountPaused(queue);
  // Only keys that may be used count in the limits, and each has the same share of them.
  const usable = Math.max(1, keys.filter(({ state }) => state !== 'paused').length);
  const capacityOf = (name: 'orders' | 'requests'): number =>
    (limits.find(({ limit }) => limit === name)?.capacity ?? 0) / usable;
  const gauge = (name: 'orders' | 'requests', key: string, used: number): Html => {
    const capacity = Math.max(1, capacityOf(name));
    return html`<meter min="0" max="${capacity}" value="${used}" aria-label="${name} of the key ${key}: ${used} of ${capacity} used">${used}</meter> ${used} of ${capacity}`;
  };
  const rows = keys.map((key) => [
    key.name,
    key.state === 'ready' && isStopped ? 'ready, but the account is paused' : key.state,
    timeText(key.until, nowMs),
    gauge('orders', key.name, key.orders_used),
    gauge('requests', key.name, key.requests_used),
  ]);
  return table('API keys', ['Key', 'State', 'Until', 'Orders', 'Requests'], rows);
}

function countsSection({ read }: PageSources, nowMs: number): Html {
  const counts = read.counts();
  const { open, oldestOpenMs, dueDeliveries } = read.backlog();
  const oldest = oldestOpenMs === null ? null : html`, the oldest since ${timeOfMs(oldestOpenMs, nowMs)}`;
  const states = entryStates.filter((state) => counts[state] > 0);
  return html`<section aria-labelledby="counts"><h2 id="counts">Entries</h2>
<p>${open} open${oldest}. Results that still have to reach the shop: <a href="/deliveries">${dueDeliveries}</a>.</p>
<ul class="counts">${states.map((state) => html`<li><a href="/orders?state=${state}"><span class="number">${counts[state]}</span> ${state}</a></li>`)}</ul></section>`;
}
