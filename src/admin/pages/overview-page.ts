import { html } from 'hono/html';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import type { AttentionGroup } from '../../store/read/attention.ts';
import { actionForms } from './action-forms.ts';
import { attentionGroups } from './attention-page.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { overviewCharts, spentSection } from './overview-charts.ts';
import { dayMs, foldedSection, longText, section, table, timeText } from './parts.ts';
import { keyPlaces, pausedScopes, pausedSinks } from './paused-sections.ts';

const shownCauses = 10;
const mostCounted = 10_000;

/** The answers to what a person asks first, then what needs one, what is paused, and the progress of the worker. */
export function overviewPage(sources: PageSources, context: FormContext, troubles: readonly string[]): Html {
  const { read, clock } = sources;
  const nowMs = clock.wallMs();
  const queue = sources.explainQueue();
  const groups = read.attentionGroups({}, { limit: mostCounted, atMost: mostCounted });
  // Pauses have a section of their own.
  const causes = groups.filter(({ kind }) => kind !== 'pause');
  const attention = html`${attentionGroups(causes.slice(0, shownCauses), context, nowMs)}
${causes.length > shownCauses ? html`<p><a href="/attention">${causes.length - shownCauses} more causes</a></p>` : null}`;
  const sending = html`${queueFacts(queue, nowMs)}
${keyPlaces(sources, context)}
${lastPause(sources, nowMs)}`;
  return html`${[...troubles, ...queue.notes].map((note) => html`<p class="warning">${note}</p>`)}
${firstAnswers(sources, groups, queue)}
<form class="line find" action="/find" role="search"><input type="search" name="search" required size="24" maxlength="200" aria-label="Search orders" placeholder="E-mail, SKU, code, order"> <button type="submit">Search</button></form>
${section('attention', 'Attention', attention)}
${pausedScopes(sources, context)}
${pausedSinks(sources, context)}
${actionForms.queue(knownScopes(sources, queue), context)}
${foldedSection('queue', 'Sending', sending)}
${spentSection(sources)}
${overviewCharts(sources)}`;
}

/** Is anything wrong and since when, is anything bought, what was spent today, and what is still open. */
function firstAnswers({ read, clock }: PageSources, groups: readonly AttentionGroup[], queue: QueueExplanation): Html {
  const nowMs = clock.wallMs();
  const waiting = groups.reduce((sum, { count }) => sum + count, 0);
  const [oldest = null] = groups.map(({ since }) => since).toSorted((a, b) => a.localeCompare(b));
  const paused = queue.pauses.length;
  const isStopped = queue.pauses.some(({ scope }) => scope === 'account');
  const { open, oldestOpenMs, dueDeliveries } = read.backlog();
  const spent = read.spending({ fromMs: nowMs, untilMs: nowMs + 1 });
  const amounts = spent.map(
    ({ currency, spent: amount, refunded }) =>
      html`<span class="number">${amount}</span> ${currency}${Number(refunded) > 0 ? `, ${refunded} refunded` : null}<br>`,
  );
  const orders = spent.reduce((sum, it) => sum + it.orders, 0);
  return html`<ul class="answers" aria-label="Now">
${answerCard('Needs a person', waiting === 0 ? 'good' : 'problem', html`<a href="/attention"><span class="number">${waiting}</span> ${waiting === 0 ? 'nothing' : `of ${groups.length} causes`}</a>`, oldest === null ? null : html`since ${timeText(oldest, nowMs)}`)}
${answerCard('Buying', isStopped ? 'problem' : paused > 0 ? 'warning' : 'good', html`<span class="number">${isStopped ? 'Stopped' : 'On'}</span>${paused > 0 ? html` <a href="#pauses">${paused} paused</a>` : null}`, allSentText(queue, nowMs))}
${answerCard('Spent today (UTC)', 'good', amounts.length === 0 ? html`<span class="number">0</span>` : html`${amounts}`, html`${orders} orders charged`)}
${answerCard('Open', 'good', html`<span class="number">${open}</span> entries, <a href="/deliveries">${dueDeliveries} results due</a>`, oldestOpenMs === null ? null : html`oldest ${timeText(oldestOpenMs, nowMs)}`)}
</ul>`;
}

/** The scopes that are not products, for whoever wants to pause one. */
function knownScopes({ read, clock }: PageSources, { keys }: QueueExplanation): readonly string[] {
  const nowMs = clock.wallMs();
  const balances = new Set(
    read.spending({ fromMs: nowMs - 30 * dayMs, untilMs: nowMs }).map(({ currency }) => currency),
  );
  return [
    'account',
    'family:gift_card',
    'family:esim',
    ...[...balances].map((currency) => `balance:${currency}`),
    ...keys.map(({ name }) => `key:${name}`),
  ];
}

const answerCard = (title: string, meaning: string, answer: Html, more: Html | null): Html =>
  html`<li class="card is-${meaning}"><strong>${title}</strong><p>${answer}</p><p class="faint">${more}</p></li>`;

/** When everything is sent. */
function allSentText(queue: QueueExplanation, nowMs: number): Html {
  const { to_send: toSend, to_send_paused: paused, to_send_waiting: waiting, drained_at: drained } = queue;
  if (toSend === 0) return html`nothing waits to be sent`;
  const rest = paused + waiting > 0 ? 'the rest of them' : 'all';
  return html`${toSend} to send; ${rest} sent ${drained === null ? 'at a time not known' : timeText(drained, nowMs)}`;
}

/** The pause that ended last: after an outage it is what people ask for. */
function lastPause({ read }: PageSources, nowMs: number): Html | null {
  const [ended] = read.auditLog({ action: 'resume' }, { limit: 1 }).rows;
  if (ended === undefined) return null;
  return html`<p>Paused last: ${ended.subject}, until ${timeText(ended.at, nowMs)} (${longText(ended.reason)}). All pauses: <a href="/audit?action=resume">audit log</a>.</p>`;
}

function queueFacts(queue: QueueExplanation, nowMs: number): Html {
  const { limits, keys, outcome_unknown: unknown } = queue;
  const rows = keys.map((key) => [key.name, key.state, timeText(key.until, nowMs), key.orders_used, key.requests_used]);
  return html`<p>Outcome unknown: ${unknown}${unknown > 0 ? ', may be bought: the worker asks the supplier' : ''}.</p>
<div class="gauges">${limits.map(
    ({ limit, used, capacity, next_free_at: nextFreeAt }) => html`<div class="gauge">
<p><strong>${limit}</strong> of all keys: ${used} of ${capacity} used</p>
<meter min="0" max="${Math.max(1, capacity)}" value="${used}" aria-label="${limit}: ${used} of ${capacity} used">${used} of ${capacity}</meter>
<p>next free slot: ${nextFreeAt === null ? 'not known' : timeText(nextFreeAt, nowMs)}</p></div>`,
  )}</div>
${keys.length === 0 ? null : table('API keys', ['Key', 'State', 'Until', 'Orders used', 'Requests used'], rows)}`;
}
