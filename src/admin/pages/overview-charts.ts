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
  /** At most four; those of `bars` lie on top of each other. */
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  /** A value that is drawn as a line across: a limit. */
  readonly limit?: { readonly name: string; readonly value: number };
}

const width = 300;
const height = 130;
const left = 34;
const bottom = 18;
const top = 6;
const plotWidth = width - left - 4;
const plotHeight = height - bottom - top;

/** A chart as a picture with a title, and the same numbers as a table. */
function chart({ title, unit, labels, column, series, kind, limit }: Chart): Html {
  const totals = labels.map((_, at) =>
    kind === 'bars'
      ? series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
      : Math.max(0, ...series.map(({ values }) => values[at] ?? 0)),
  );
  const most = niceMost(Math.max(1, limit?.value ?? 0, ...totals));
  const y = (value: number): number => round(top + plotHeight * (1 - value / most));
  const step = plotWidth / Math.max(1, labels.length);
  const shapes = kind === 'bars' ? bars(series, labels.length, step, y) : lines(series, step, y);
  const summary = series.map(({ name, values }) => `${name}: ${lastOf(values)} in the last column`).join('; ');
  return html`<figure class="chart"><figcaption><strong>${title}</strong> <span class="faint">${unit}</span>
${series.map(({ name }, at) => html`<span class="key series-${at}">${name}</span> `)}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title} (${unit}). ${summary}.">
<title>${title} (${unit}). ${summary}.</title>
<line class="axis" x1="${left}" x2="${width - 4}" y1="${y(0)}" y2="${y(0)}"/>
<text x="${left - 4}" y="${y(0)}" text-anchor="end">0</text>
<text x="${left - 4}" y="${y(most) + 8}" text-anchor="end">${most}</text>
${limit === undefined ? null : html`<line class="limit" x1="${left}" x2="${width - 4}" y1="${y(limit.value)}" y2="${y(limit.value)}"/>`}
${shapes}
<text x="${left}" y="${height - 4}">${labels[0] ?? ''}</text>
<text x="${width - 4}" y="${height - 4}" text-anchor="end">${labels.at(-1) ?? ''}</text>
</svg>
${limit === undefined ? null : html`<p class="faint">The dashed line: ${limit.name}, ${limit.value}</p>`}
<details><summary>As a table</summary><div class="scroll" role="region" aria-label="${title} as a table" tabindex="0"><table>
<caption>${title} (${unit})</caption>
<thead><tr><th scope="col">${column}</th>${series.map(({ name }) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${labels.map((label, at) => html`<tr><th scope="row">${label}</th>${series.map(({ values }) => html`<td>${values[at] ?? '-'}</td>`)}</tr>`)}</tbody>
</table></div></details></figure>`;
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

/** Lines, interrupted where there is no value; a value between two gaps is a dot. */
function lines(series: readonly Series[], step: number, y: (value: number) => number): Html[] {
  return series.flatMap(({ values }, index) => {
    const points = values.map((value, at) =>
      value === null ? null : ([round(left + (at + 0.5) * step), y(value)] as const),
    );
    const dots = points.flatMap((point) =>
      point === null ? [] : [html`<circle class="series-${index}" cx="${point[0]}" cy="${point[1]}" r="2"/>`],
    );
    const path = points
      .map((point, at) =>
        point === null ? '' : `${at > 0 && points[at - 1] !== null ? 'L' : 'M'}${point[0]} ${point[1]}`,
      )
      .join('');
    return [html`<path class="series-${index}" d="${path}"/>`, ...dots];
  });
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function niceMost(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value) ?? value;
}

function lastOf(values: readonly (number | null)[]): string {
  return String(values.at(-1) ?? 'none');
}

const hourMs = 3_600_000;
const shownHours = 24;
const shownMinutes = 60;
const spendingDays = 7;

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms / 100) / 10);

/** The events of the last day, by hour, and the calls of the last hour against the budget. */
export function overviewCharts({ read, clock, callsPerMinute }: PageSources): Html {
  const nowMs = clock.wallMs();
  const hours = read.hourStatistics({ fromMs: nowMs - (shownHours - 1) * hourMs, untilMs: nowMs + 1 });
  const minutes = read.minuteCalls({ fromMs: nowMs - (shownMinutes - 1) * 60_000, untilMs: nowMs + 1 });
  const labels = hours.map(({ hour }) => hour.slice(11, 16));
  const column = 'Hour (UTC)';
  const others = finalStates.filter((state) => !['fulfilled', 'rejected'].includes(state));
  const allowed = callsPerMinute();
  return html`<section aria-labelledby="charts"><h2 id="charts">The last day</h2><div class="charts">
${chart({
  title: 'Orders received',
  unit: 'orders an hour',
  kind: 'bars',
  column,
  labels,
  series: [{ name: 'received', values: hours.map(({ received }) => received) }],
})}
${chart({
  title: 'Outcomes',
  unit: 'entries settled in an hour',
  kind: 'bars',
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
  unit: 'seconds',
  kind: 'lines',
  column,
  labels,
  series: [
    { name: 'median', values: hours.map(({ latency }) => seconds(latency?.medianMs)) },
    { name: '95 %', values: hours.map(({ latency }) => seconds(latency?.p95Ms)) },
  ],
})}
${chart({
  title: 'Calls against the budget',
  unit: 'calls a minute, of the last hour',
  kind: 'bars',
  column: 'Minute (UTC)',
  labels: minutes.map(({ minute }) => minute.slice(11, 16)),
  series: [
    { name: 'orders', values: minutes.map(({ submit }) => submit) },
    { name: 'lookups', values: minutes.map(({ lookup }) => lookup) },
  ],
  ...(allowed === null ? {} : { limit: { name: 'the budget for all calls of all keys', value: allowed } }),
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
