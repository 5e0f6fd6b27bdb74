import { html } from 'hono/html';
import { type Html, table } from '../html/document.ts';
import { isoTime } from '../../core/clock.ts';
import { finalStates } from '../../core/entry/states.ts';
import type { PageSources } from './page-sources.ts';

/** One row of numbers, drawn in one colour. */
interface Series {
  readonly name: string;
  /** One for each label; null: there is none. */
  readonly values: readonly (number | null)[];
}

interface Chart {
  readonly title: string;
  /** The unit of the numbers, for example `seconds`. */
  readonly unit: string;
  /** The label of each column, for example an hour. */
  readonly labels: readonly string[];
  readonly column: string;
  /** At most three; they lie on top of each other. */
  readonly series: readonly Series[];
}

const width = 300;
const height = 130;
const left = 34;
const bottom = 18;
const top = 6;
const plotWidth = width - left - 4;
const plotHeight = height - bottom - top;

/** A chart as a picture with a title, and the same numbers as a table. */
function chart({ title, unit, labels, column, series }: Chart): Html {
  const totals = labels.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const most = niceMost(Math.max(1, ...totals));
  const y = (value: number): number => round(top + plotHeight * (1 - value / most));
  const step = plotWidth / Math.max(1, labels.length);
  const summary = series.map(({ name, values }) => `${name}: ${values.at(-1) ?? 'none'} in the last column`).join('; ');
  return html`<figure class="chart"><figcaption><strong>${title}</strong> <span class="faint">${unit}</span>
${series.map(({ name }, at) => html`<span class="key series-${at}">${name}</span> `)}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title} (${unit}). ${summary}.">
<title>${title} (${unit}). ${summary}.</title>
<line class="axis" x1="${left}" x2="${width - 4}" y1="${y(0)}" y2="${y(0)}"/>
<text x="${left - 4}" y="${y(0)}" text-anchor="end">0</text>
<text x="${left - 4}" y="${y(most) + 8}" text-anchor="end">${most}</text>
${bars(series, labels.length, step, y)}
<text x="${left}" y="${height - 4}">${labels[0] ?? ''}</text>
<text x="${width - 4}" y="${height - 4}" text-anchor="end">${labels.at(-1) ?? ''}</text>
</svg>
<details><summary>As a table</summary>${table(
    `${title} (${unit})`,
    [column, ...series.map(({ name }) => name)],
    labels.map((label, at) => [label, ...series.map(({ values }) => values[at] ?? null)]),
  )}</details></figure>`;
}

function bars(series: readonly Series[], count: number, step: number, y: (value: number) => number): (Html | null)[] {
  return Array.from({ length: count }, (_, at) => {
    let below = 0;
    return series.map(({ values }, index) => {
      const value = values[at] ?? 0;
      const from = below;
      below += value;
      if (value === 0) return null;
      const x = round(left + at * step + step * 0.1);
      return html`<rect class="series-${index}" x="${x}" y="${y(below)}" width="${round(step * 0.8)}" height="${round(y(from) - y(below))}"/>`;
    });
  }).flat();
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function niceMost(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value) ?? value;
}

const hourMs = 3_600_000;
const shownHours = 24;
const shownMinutes = 60;
const spendingDays = 7;

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms / 100) / 10);

/** The events of the last day, by hour, and the calls of the last hour. */
export function overviewCharts({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const hours = read.hourStatistics({ fromMs: nowMs - (shownHours - 1) * hourMs, untilMs: nowMs + 1 });
  const minutes = read.minuteCalls({ fromMs: nowMs - (shownMinutes - 1) * 60_000, untilMs: nowMs + 1 });
  const labels = hours.map(({ hour }) => hour.slice(11, 16));
  const column = 'Hour (UTC)';
  const others = finalStates.filter((state) => !['fulfilled', 'rejected'].includes(state));
  return html`<section aria-labelledby="charts"><h2 id="charts">The last day</h2><div class="charts">
${chart({
  title: 'Orders received',
  unit: 'orders an hour',
  column,
  labels,
  series: [{ name: 'received', values: hours.map(({ received }) => received) }],
})}
${chart({
  title: 'Outcomes',
  unit: 'entries settled in an hour',
  column,
  labels,
  series: [
    { name: 'fulfilled', values: hours.map(({ settled }) => settled.fulfilled) },
    { name: 'rejected', values: hours.map(({ settled }) => settled.rejected) },
    { name: 'others', values: hours.map(({ settled }) => others.reduce((sum, state) => sum + settled[state], 0)) },
  ],
})}
${chart({
  title: 'From intake to delivery of the code',
  unit: 'seconds, of 95 % at most',
  column,
  labels,
  series: [{ name: '95 %', values: hours.map(({ latency }) => seconds(latency?.p95Ms)) }],
})}
${chart({
  title: 'Calls',
  unit: 'calls a minute, of the last hour',
  column: 'Minute (UTC)',
  labels: minutes.map(({ minute }) => minute.slice(11, 16)),
  series: [
    { name: 'orders', values: minutes.map(({ submit }) => submit) },
    { name: 'lookups', values: minutes.map(({ lookup }) => lookup) },
  ],
})}
</div></section>`;
}

/** Spending by day and balance. */
export function spentSection({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const days = read.spending({ fromMs: nowMs - (spendingDays - 1) * 24 * hourMs, untilMs: nowMs + 1 });
  const today = isoTime(nowMs).slice(0, 10);
  const rows = days.map(({ day, currency, orders, spent, refunded }) => [
    day === today ? `${day} (today)` : day,
    currency,
    orders,
    spent,
    refunded,
  ]);
  const header = ['Day (UTC)', 'Currency', 'Orders charged', 'Spent', 'Refunded'];
  return html`<section aria-labelledby="spent"><h2 id="spent">Spent</h2>
${rows.length === 0 ? html`<p>Nothing in the last ${spendingDays} days.</p>` : html`${table(`The last ${spendingDays} days`, header, rows)}<p class="faint">A day begins at 00:00 UTC. Refunds are not taken off what was spent. What costs nothing, such as the cancel of an eSIM, is not counted.</p>`}</section>`;
}
