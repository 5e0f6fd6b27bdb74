import { html } from 'hono/html';
import { sentence } from '../../core/message-text.ts';
import { balanceText } from '../../core/operator/balance.ts';
import { affectedText } from '../../core/operator/affected.ts';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import type { AttentionGroup } from '../../store/read/attention.ts';
import { chart, round, type Series } from '../html/chart.ts';
import type { Html } from '../html/document.ts';
import { actionForms } from './action-forms.ts';
import { attentionGroups } from './attention-page.ts';
import { firstOrder } from './first-order.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import {
  card,
  answerCard,
  counted,
  dayMs,
  foldedSection,
  forText,
  longText,
  money,
  dueText,
  timeText,
} from './parts.ts';
import {
  adviceOn,
  headlineOfPause,
  keyPlaces,
  pausedScopes,
  pausedSinks,
} from './paused-sections.ts';

const shownCauses = 12;
const mostCounted = 10_000;
/** The money of so many rows is added up. */
const mostSummed = 1000;
const hourMs = 3_600_000;
const shownHours = 24;

/**
 * Whether anything is wrong, since when and what to do first; then the numbers of today, what needs
 * an operator, what is paused, and the last day.
 */
export function overviewPage(
  sources: PageSources,
  context: FormContext,
  troubles: readonly string[],
): Html {
  const { read, clock } = sources;
  const nowMs = clock.wallMs();
  const queue = sources.explainQueue();
  const groups = read.attentionGroups({}, { limit: mostCounted, atMost: mostCounted });
  // Pauses have a section of their own.
  const causes = groups.filter(({ kind }) => kind !== 'pause');
  const more = causes.length - shownCauses;
  const isEmpty = read.sources().length === 0 && groups.length === 0;
  const balances = read.balances().map((balance) => balanceText(balance));
  const sending = html`${queueFacts(queue, nowMs)}
<p>Balance: ${balances.join('; ') || 'not known'}.</p>${actionForms.balance(context)}
${keyPlaces(sources, context)}`;
  const paused = html`${pausedScopes(sources, context)}
${lastPause(sources, nowMs)}
${actionForms.queue(knownScopes(sources, queue), context)}`;
  return html`${statusBar(sources, context, groups, queue)}
${[...troubles, ...queue.notes].map((note) => html`<p class="warning">${sentence(note)}</p>`)}
${isEmpty ? firstOrder(sources) : todayCards(sources)}
<div class="cols"><div>${card(
    'attention',
    'Needs you',
    html`${attentionGroups(causes.slice(0, shownCauses), context, nowMs)}
${more > 0 ? html`<p><a href="/attention">${counted(more, 'more cause')}</a></p>` : null}`,
    html`<a href="/attention">The list</a>`,
  )}</div>
<div>${card('pauses', 'Paused', paused)}
${pausedSinks(sources, context)}
${foldedSection('queue', 'Sending and balance', sending)}</div></div>`;
}

/** The first sentence that somebody reads who was woken up, and the button for it. */
function statusBar(
  { read, clock }: PageSources,
  context: FormContext,
  groups: readonly AttentionGroup[],
  { pauses, reasons }: QueueExplanation,
): Html {
  const nowMs = clock.wallMs();
  const { open, oldestOpenAtMs } = read.backlog();
  const waiting = html`${counted(open, 'line')} wait${open === 1 ? 's' : ''}${oldestOpenAtMs === null ? null : html`, the oldest for ${forText(oldestOpenAtMs, nowMs)}`}`;
  const account = pauses.find(({ scope }) => scope === 'account');
  const [reason] = reasons;
  if (account !== undefined) {
    const { since, probe_at: probeAt, opened_by: by, reason: code, message } = account;
    const headline = headlineOfPause(read, account);
    const held = read.pauses().find(({ scope }) => scope === 'account');
    const affected = affectedText(held?.affects() ?? null, nowMs);
    return bar(
      'problem',
      html`Buying is stopped: ${headline.charAt(0).toLowerCase()}${headline.slice(1)}`,
      html`For ${forText(since, nowMs)}. ${affected === '' ? waiting : `Waiting: ${affected}`}. ${probeAt === null ? 'An operator resumes it.' : html`Tried again ${dueText(probeAt, nowMs)}: buying then resumes by itself.`} Nothing is lost. ${adviceOn(read, 'pause:account', context)} <span class="faint"><code>account</code> ${code} by ${by}: ${longText(message, 200)}</span>`,
      actionForms.pause('account', context),
    );
  }
  if (reason !== undefined)
    return bar(
      'problem',
      html`Buying is stopped`,
      html`${reasons.map((text) => html`${sentence(text)} `)}${waiting}.`,
    );
  const count = groups.length;
  const [oldest] = groups.map(({ since }) => since).toSorted((a, b) => a.localeCompare(b));
  if (oldest === undefined)
    return bar(
      'good',
      html`Everything is in order`,
      html`Buying is on, and nothing needs you. ${waiting}.`,
    );
  const rows = groups.reduce((sum, group) => sum + group.count, 0);
  const references = read.attention(mostSummed).flatMap(({ reference }) => reference ?? []);
  const affected = affectedText(read.affected(references, mostSummed), nowMs);
  return bar(
    'warning',
    html`${counted(count, 'cause')} need${count === 1 ? 's' : ''} you`,
    html`${rows} in all, the oldest for ${forText(oldest, nowMs)}${affected === '' ? null : html`. Affected: ${affected}`}. Buying is on${pauses.length === 0 ? null : html`, <a href="#pauses">${counted(pauses.length, 'scope')} paused</a>`}. ${waiting}.`,
    html`<a class="button primary" href="/attention">Look at ${count === 1 ? 'it' : 'them'}</a>`,
  );
}

const bar = (meaning: string, headline: Html, more: Html, actions: Html | null = null): Html =>
  html`<section class="status is-${meaning}" aria-label="State"><p><strong>${headline}</strong> ${more}</p>${actions}</section>`;

/** What was bought, spent and waits today, and how long a customer waits for a code; with the last day by hour. */
function todayCards({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const day = { fromMs: nowMs - (shownHours - 1) * hourMs, untilMs: nowMs + 1 };
  const hours = read.hourStatistics(day);
  const latency = read.latency(day);
  const { open, oldestOpenAtMs, dueDeliveries } = read.backlog();
  const spent = read.spending({ fromMs: nowMs, untilMs: nowMs + 1 });
  const amounts = spent.map(
    ({ currency, spent: amount, uncounted, refunded, refunds_unknown: unknown }) =>
      html`<span class="number">${money(amount, '')}</span>${currency}${uncounted > 0 ? ` without ${counted(uncounted, 'order')}` : null}${Number(refunded) > 0 ? `, ${refunded} refunded` : null}${unknown > 0 ? `, ${counted(unknown, 'refund')} of an unknown amount` : null}<br>`,
  );
  // The chart is that of the first balance; the others have theirs among the numbers.
  const { currency = '-' } = spent.at(-1) ?? {};
  const byHour = { name: 'Hour (UTC)', labels: hours.map(({ hour }) => hour.slice(11, 16)) };
  const by = (title: string, unit: string, of: Series) => chart(title, unit, byHour, of);
  return html`<ul class="answers" aria-label="Today">
${answerCard(
  'Bought today (UTC)',
  html`<span class="number">${spent.reduce((sum, it) => sum + it.orders, 0)}</span> orders`,
  by('Lines', 'settled an hour', {
    bought: hours.map(({ settled }) => settled.fulfilled),
    'taken back': hours.map(({ settled }) => settled.cancelled + settled.refunded),
    'not bought': hours.map(({ settled }) => settled.rejected + settled.expired),
  }),
)}
${answerCard(
  'Spent today (UTC)',
  amounts.length === 0 ? html`<span class="number">0</span>` : html`${amounts}`,
  by('Spent', `${currency} an hour`, {
    [currency]: hours.map((hour) => round(hour.spent[currency] ?? 0)),
  }),
)}
${answerCard(
  'From order to code, 24 h',
  html`<span class="number">${secondsOf(latency?.medianMs) ?? '-'} s</span> median`,
  by('Seconds', 'median, and what 95 % need at most', {
    median: hours.map((hour) => secondsOf(hour.latency?.medianMs)),
    'up to 95 %': hours.map(({ latency: of }) => of && secondsOf(of.p95Ms - of.medianMs)),
  }),
)}
${answerCard('Waiting', html`<span class="number">${open}</span> ${open === 1 ? 'line' : 'lines'}${oldestOpenAtMs === null ? null : html`, oldest ${timeText(oldestOpenAtMs, nowMs)}`}; <a href="/deliveries">${counted(dueDeliveries, 'result')} due</a>`, by('Lines', 'not settled', { waiting: read.waiting(hours) }))}
</ul>`;
}

const secondsOf = (ms: number | undefined): number | null =>
  ms === undefined ? null : round(ms / 1000);

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

/** The pause that ended last: after an outage it is what people ask for. */
function lastPause({ read }: PageSources, nowMs: number): Html | null {
  const [ended] = read.auditLog({ action: 'resume' }, { limit: 1 }).rows;
  if (ended === undefined) return null;
  return html`<p>Paused last: ${ended.subject}, until ${timeText(ended.at, nowMs)} (${longText(ended.reason)}). All pauses: <a href="/audit?action=resume">audit log</a>.</p>`;
}

function queueFacts(queue: QueueExplanation, nowMs: number): Html {
  const { limits, keys, outcome_unknown: unknown } = queue;
  const {
    to_send: toSend,
    to_send_paused: paused,
    to_send_waiting: later,
    drained_at: drained,
  } = queue;
  const rest = paused + later > 0 ? 'the rest of them' : 'all';
  return html`<p>${toSend === 0 ? 'Nothing waits to be sent' : html`${toSend} to send; ${rest} sent ${drained === null ? 'at a time not known' : timeText(drained, nowMs)}`}. Outcome unknown: ${unknown}${unknown > 0 ? ', may be bought: the worker asks the supplier' : ''}.</p>
<div class="gauges">${limits.map(
    ({ limit, used, capacity, next_free_at: nextFreeAt }) => html`<div class="gauge">
<p><strong>${limit}</strong> of all keys: ${used} of ${capacity} used</p>
<meter min="0" max="${Math.max(1, capacity)}" value="${used}" aria-label="${limit}: ${used} of ${capacity} used">${used} of ${capacity}</meter>
<p>next free slot: ${nextFreeAt === null ? 'not known' : timeText(nextFreeAt, nowMs)}</p></div>`,
  )}</div>
${keys.map((key) => html`<p>Key ${key.name}: ${key.state.replaceAll('_', ' ')}${key.until === null ? null : html` until ${timeText(key.until, nowMs)}`}, ${key.orders_used} orders and ${key.requests_used} requests used</p>`)}`;
}
