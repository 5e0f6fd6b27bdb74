import { html } from 'hono/html';
import type { Html } from '../html/document.ts';
import { isoTime } from '../../core/clock.ts';
import { finalStates } from '../../core/entry/states.ts';
import type { PageSources } from './page-sources.ts';
import { foldedSection, table } from './parts.ts';

/** The label of each column, for example an hour. */
interface Columns {
  readonly name: string;
  readonly labels: readonly string[];
}

/** Numbers by their name, one for each column; null: there is none. At most three names; they lie on top of each other. */
type Series = Readonly<Record<string, readonly (number | null)[]>>;

const width = 300;
const height = 130;
const left = 34;
const bottom = 18;
const top = 6;
const plotWidth = width - left - 4;
const plotHeight = height - bottom - top;

/** A chart as a picture with a title, and the same numbers as a table. @param unit of the numbers, for example `seconds` */
function chart(title: string, unit: string, { name: column, labels }: Columns, series: Series): Html {
  const names = Object.keys(series);
  const values = Object.values(series);
  const most = niceMost(Math.max(1, ...labels.map((_, at) => values.reduce((sum, of) => sum + (of[at] ?? 0), 0))));
  const y = (value: number): number => round(top + plotHeight * (1 - value / most));
  const summary = names.map((name) => `${name}: ${series[name]?.at(-1) ?? 'none'} in the last column`).join('; ');
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
function bars(values: readonly Series[string][], at: number, step: number, y: (value: number) => number) {
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

/** The events of the last day, by hour. */
export function overviewCharts({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const hours = read.hourStatistics({ fromMs: nowMs - (shownHours - 1) * hourMs, untilMs: nowMs + 1 });
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

/** Spending by day and balance. */
export function spentSection({ read, clock }: PageSources): Html {
  const nowMs = clock.wallMs();
  const days = read.spending({ fromMs: nowMs - (spendingDays - 1) * 24 * hourMs, untilMs: nowMs + 1 });
  const today = isoTime(nowMs).slice(0, 10);
  const rows = days.map(({ day, currency, orders, spent, refunded }) => {
    return [day === today ? `${day} (today)` : day, currency, orders, spent, refunded];
  });
  const header = ['Day (UTC)', 'Currency', 'Orders charged', 'Spent', 'Refunded'];
  const main =
    rows.length === 0
      ? html`<p>Nothing in the last ${spendingDays} days.</p>`
      : html`${table(`The last ${spendingDays} days`, header, rows)}<p class="faint">A day begins at 00:00 UTC. Refunds are not taken off what was spent. What costs nothing, such as the cancel of an eSIM, is not counted.</p>`;
  return foldedSection('spent', 'Spent', main);
}
