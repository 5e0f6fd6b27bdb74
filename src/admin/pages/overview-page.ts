import { html } from 'hono/html';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import { entryStates } from '../../core/entry/states.ts';
import { actionForms } from './action-forms.ts';
import { attentionTable } from './attention-page.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { overviewCharts, spentSection } from './overview-charts.ts';
import { factList, longText, section, table, timeText } from './parts.ts';
import { pausedScopes, pausedSinks } from './paused-sections.ts';

const shownAttention = 10;

/** Attention first, then the progress of the worker. */
export function overviewPage(sources: PageSources, context: FormContext): Html {
  const { read, clock } = sources;
  const nowMs = clock.wallMs();
  const attention = html`${attentionTable(read.attention(shownAttention), context, nowMs)}
<p><a href="/attention">The whole attention list</a>. Orders that the worker tries again by itself are not in it.</p>`;
  const sending = html`${queueFacts(sources.explainQueue(), nowMs)}
${actionForms.queue(context)}
${lastPause(sources, nowMs)}`;
  return html`${section('attention', 'Attention', attention)}
${pausedScopes(sources, context)}
${pausedSinks(sources)}
${section('queue', 'Sending', sending)}
${section('counts', 'Entries', entryCounts(sources, nowMs))}
${spentSection(sources)}
${overviewCharts(sources)}`;
}

/** The pause that ended last: after an outage it is what people ask for. */
function lastPause({ read }: PageSources, nowMs: number): Html | null {
  const [ended] = read.auditLog({ action: 'resume' }, { limit: 1 }).rows;
  if (ended === undefined) return null;
  return html`<p>Paused last: ${ended.subject}, until ${timeText(ended.at, nowMs)} (${longText(ended.reason)}). All pauses: <a href="/audit?action=resume">audit log</a>.</p>`;
}

function queueFacts(queue: QueueExplanation, nowMs: number): Html {
  const { limits, reasons, notes, pauses, keys, outcome_unknown: unknown, drained_at: drained } = queue;
  const { to_send: toSend, to_send_paused: paused, to_send_waiting: waiting } = queue;
  const isStopped = pauses.some(({ scope }) => scope === 'account');
  const noEstimate = toSend === 0 ? 'nothing waits' : 'not known';
  return html`${reasons.map((reason) => html`<p class="problem">Nothing new is bought: ${reason}</p>`)}
${notes.map((note) => html`<p class="warning">${note}</p>`)}
${factList([
  ['To send', `${toSend}${paused > 0 ? `, ${paused} of them paused` : ''}`],
  ['Outcome unknown', `${unknown}${unknown > 0 ? ', may be bought: the worker asks the supplier' : ''}`],
  [
    `${paused + waiting > 0 ? 'The rest is sent' : 'All sent'}, about`,
    drained === null ? noEstimate : timeText(drained, nowMs),
  ],
])}
<div class="gauges">${limits.map(
    ({ limit, used, capacity, next_free_at: nextFreeAt }) => html`<div class="gauge">
<p><strong>${limit}</strong> of all keys: ${used} of ${capacity} used</p>
<meter min="0" max="${Math.max(1, capacity)}" value="${used}" aria-label="${limit}: ${used} of ${capacity} used">${used} of ${capacity}</meter>
<p>next free slot: ${isStopped ? 'unused while the account is paused' : nextFreeAt === null ? 'not known' : timeText(nextFreeAt, nowMs)}</p></div>`,
  )}</div>
${keys.length === 0 ? null : keyTable(queue, isStopped, nowMs)}`;
}

function keyTable({ keys, limits }: QueueExplanation, isStopped: boolean, nowMs: number): Html {
  // Only keys that may be used count in the limits, and each has the same share of them.
  const usable = Math.max(1, keys.filter(({ state }) => state !== 'paused').length);
  const usage = (name: 'orders' | 'requests', used: number): string => {
    const capacity = limits.find(({ limit }) => limit === name)?.capacity ?? 0;
    return `${used} of ${Math.max(1, capacity / usable)}`;
  };
  const rows = keys.map((key) => [
    key.name,
    key.state === 'ready' && isStopped ? 'ready, but the account is paused' : key.state,
    timeText(key.until, nowMs),
    usage('orders', key.orders_used),
    usage('requests', key.requests_used),
  ]);
  return table('API keys', ['Key', 'State', 'Until', 'Orders', 'Requests'], rows);
}

function entryCounts({ read }: PageSources, nowMs: number): Html {
  const counts = read.counts();
  const { open, oldestOpenMs, dueDeliveries } = read.backlog();
  const oldest = oldestOpenMs === null ? null : html`, the oldest since ${timeText(oldestOpenMs, nowMs)}`;
  const states = entryStates.filter((state) => counts[state] > 0);
  return html`<p>${open} open${oldest}. Results that still have to reach the shop: <a href="/deliveries">${dueDeliveries}</a>.</p>
<ul class="counts">${states.map((state) => html`<li><a href="/orders?state=${state}"><span class="number">${counts[state]}</span> ${state}</a></li>`)}</ul>`;
}
