import { html } from 'hono/html';
import { isoTime } from '../../core/clock.ts';
import { finalStates } from '../../core/entry/states.ts';
import { chart } from './chart.ts';
import type { Html } from './html.ts';
import type { PageSources } from './page-sources.ts';
import { table } from './table.ts';

const hourMs = 3_600_000;
const shownHours = 24;
const shownMinutes = 60;
const spendingDays = 7;

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms / 100) / 10);

/** What happened in the last day, by hour, and the calls of the last hour against the budget. */
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

/** What was bought, by day and balance. */
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
