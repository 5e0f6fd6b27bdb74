import { html } from 'hono/html';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import type { AttentionGroup } from '../../store/read/attention.ts';
import { actionForms } from './action-forms.ts';
import { attentionGroups } from './attention-page.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { dayMs, foldedSection, longText, section, table, timeText } from './parts.ts';
import { keyPlaces, pausedScopes, pausedSinks } from './paused-sections.ts';
import { isoTime } from '../../core/clock.ts';
import { finalStates } from '../../core/entry/states.ts';

const shownCauses = 10;
const mostCounted = 10_000;

/**
 * The answers to what a person asks first, then what needs one, what is paused, and the progress of
 * the worker.
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

/**
 * Is anything wrong and since when, is anything bought, what was spent today, and what is still
 * open.
 */
function firstAnswers(
  { read, clock }: PageSources,
  groups: readonly AttentionGroup[],
  queue: QueueExplanation,
): Html {
  const nowMs = clock.wallMs();
  const waiting = groups.reduce((sum, { count }) => sum + count, 0);
  const [oldest = null] = groups.map(({ since }) => since).toSorted((a, b) => a.localeCompare(b));
  const paused = queue.pauses.length;
  const isStopped = queue.pauses.some(({ scope }) => scope === 'account');
  const { open, oldestOpenAtMs, dueDeliveries } = read.backlog();
  const spent = read.spending({ fromMs: nowMs, untilMs: nowMs + 1 });
  const amounts = spent.map(
    ({ currency, spent: amount, uncounted, refunded }) =>
      html`<span class="number">${amount}</span> ${currency}${uncounted > 0 ? ` without ${uncounted} orders` : null}${Number(refunded) > 0 ? `, ${refunded} refunded` : null}<br>`,
  );
  const orders = spent.reduce((sum, it) => sum + it.orders, 0);
  return html`<ul class="answers" aria-label="Now">
${answerCard('Needs attention', waiting === 0 ? 'good' : 'problem', html`<a href="/attention"><span class="number">${waiting}</span> ${waiting === 0 ? 'nothing' : `of ${groups.length} causes`}</a>`, oldest === null ? null : html`since ${timeText(oldest, nowMs)}`)}
${answerCard('Buying', isStopped ? 'problem' : paused > 0 ? 'warning' : 'good', html`<span class="number">${isStopped ? 'Stopped' : 'On'}</span>${paused > 0 ? html` <a href="#pauses">${paused} paused</a>` : null}`, allSentText(queue, nowMs))}
${answerCard('Spent today (UTC)', 'good', amounts.length === 0 ? html`<span class="number">0</span>` : html`${amounts}`, html`${orders} orders charged`)}
${answerCard('Open', 'good', html`<span class="number">${open}</span> entries, <a href="/deliveries">${dueDeliveries} results due</a>`, oldestOpenAtMs === null ? null : html`oldest ${timeText(oldestOpenAtMs, nowMs)}`)}
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

function allSentText(queue: QueueExplanation, nowMs: number): Html {
  const {
    to_send: toSend,
    to_send_paused: paused,
    to_send_waiting: waiting,
    drained_at: drained,
  } = queue;
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
  const rows = keys.map((key) => [
    key.name,
    key.state,
    timeText(key.until, nowMs),
    key.orders_used,
    key.requests_used,
  ]);
  return html`<p>Outcome unknown: ${unknown}${unknown > 0 ? ', may be bought: the worker asks the supplier' : ''}.</p>
<div class="gauges">${limits.map(
    ({ limit, used, capacity, next_free_at: nextFreeAt }) => html`<div class="gauge">
<p><strong>${limit}</strong> of all keys: ${used} of ${capacity} used</p>
<meter min="0" max="${Math.max(1, capacity)}" value="${used}" aria-label="${limit}: ${used} of ${capacity} used">${used} of ${capacity}</meter>
<p>next free slot: ${nextFreeAt === null ? 'not known' : timeText(nextFreeAt, nowMs)}</p></div>`,
  )}</div>
${keys.length === 0 ? null : table('API keys', ['Key', 'State', 'Until', 'Orders used', 'Requests used'], rows)}`;
}

/** The label of each column, for example an hour. */
interface Columns {
  readonly name: string;
  readonly labels: readonly string[];
}

/**
 * Numbers by their name, one for each column; null: there is none. At most three names; they lie on
 * top of each other.
 */
type Series = Readonly<Record<string, readonly (number | null)[]>>;

const width = 300;
const height = 130;
const left = 34;
const bottom = 18;
const top = 6;
const plotWidth = width - left - 4;
const plotHeight = height - bottom - top;

/**
 * A chart as a picture with a title, and the same numbers as a table. @param unit of the numbers,
 * for example `seconds`
 */
function chart(
  title: string,
  unit: string,
  { name: column, labels }: Columns,
  series: Series,
): Html {
  const names = Object.keys(series);
  const values = Object.values(series);
  const most = niceMost(
    Math.max(1, ...labels.map((_, at) => values.reduce((sum, of) => sum + (of[at] ?? 0), 0))),
  );
  const y = (value: number): number => round(top + plotHeight * (1 - value / most));
  const summary = names
    .map((name) => `${name}: ${series[name]?.at(-1) ?? 'none'} in the last column`)
    .join('; ');
  const rows = labels.map((label, at) => [label, ...values.map((of) => of[at] ?? null)]);
  return html`<figure class="chart"><figcaption><strong>${title}</strong> <span class="faint">${unit}</span>
${names.map((name, at) => html`<span class="key series-${at}">${name}</span> `)}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title} (${unit}). ${summary}.">
<title>${title} (${unit}). ${summary}.</title>
<line class="axis" x1="${left}" x2="${width - 4}" y1="${y(0)}" y2="${y(0)}"/>
<text x="${left - 4}" y="${y(0)}" text-anchor="end">0</text>
<text x="${left - 4}" y="${y(most) + 8}" text-anchor="end">${most}</text>
${labels.map((_, at) => bars(values, at, plotWidth / labels.length, y))}
<text x="${left}" y="${height - 4}">${labels[0] ?? ''}</text>
<text x="${width - 4}" y="${height - 4}" text-anchor="end">${labels.at(-1) ?? ''}</text>
</svg>
<details><summary>As a table</summary>${table(`${title} (${unit})`, [column, ...names], rows)}</details></figure>`;
}

/** The bars of one column, on top of each other. */
function bars(
  values: readonly Series[string][],
  at: number,
  step: number,
  y: (value: number) => number,
) {
  let below = 0;
  return values.map((of, index) => {
    const value = of[at] ?? 0;
    const from = below;
    below += value;
    if (value === 0) return null;
    const x = round(left + at * step + step * 0.1);
    return html`<rect class="series-${index}" x="${x}" y="${y(below)}" width="${round(step * 0.8)}" height="${round(y(from) - y(below))}"/>`;
  });
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function niceMost(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value) ?? value;
}

const hourMs = 3_600_000;
const shownHours = 24;
const spendingDays = 7;

function overviewCharts({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const hours = read.hourStatistics({
    fromMs: nowMs - (shownHours - 1) * hourMs,
    untilMs: nowMs + 1,
  });
  const byHour = { name: 'Hour (UTC)', labels: hours.map(({ hour }) => hour.slice(11, 16)) };
  const others = finalStates.filter((state) => !['fulfilled', 'rejected'].includes(state));
  const charts = html`<div class="charts">
${chart('Orders received', 'orders an hour', byHour, { received: hours.map(({ received }) => received) })}
${chart('Outcomes', 'entries settled in an hour', byHour, {
  fulfilled: hours.map(({ settled }) => settled.fulfilled),
  rejected: hours.map(({ settled }) => settled.rejected),
  others: hours.map(({ settled }) => others.reduce((sum, state) => sum + settled[state], 0)),
})}
${chart('From intake to delivery of the code', 'seconds, of 95 % at most', byHour, {
  '95 %': hours.map(({ latency }) => latency && round(latency.p95Ms / 1000)),
})}
${chart('Calls', 'calls an hour', byHour, {
  orders: hours.map(({ calls }) => calls.submit),
  lookups: hours.map(({ calls }) => calls.lookup),
})}
</div>`;
  return foldedSection('charts', 'The last day', charts);
}

function spentSection({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const days = read.spending({
    fromMs: nowMs - (spendingDays - 1) * 24 * hourMs,
    untilMs: nowMs + 1,
  });
  const today = isoTime(nowMs).slice(0, 10);
  const rows = days.map(({ day, currency, orders, spent, uncounted, refunded }) => {
    return [day === today ? `${day} (today)` : day, currency, orders, spent, uncounted, refunded];
  });
  const header = [
    'Day (UTC)',
    'Currency',
    'Orders charged',
    'Spent',
    'Orders of unknown cost',
    'Refunded',
  ];
  const main =
    rows.length === 0
      ? html`<p>Nothing in the last ${spendingDays} days.</p>`
      : html`${table(`The last ${spendingDays} days`, header, rows)}<p class="faint">A day begins at 00:00 UTC. Refunds are not taken off what was spent. Free orders, such as the cancel of an eSIM, are not counted.</p>`;
  return foldedSection('spent', 'Spent', main);
}
