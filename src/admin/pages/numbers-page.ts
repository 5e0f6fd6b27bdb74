import { stringify } from 'csv-stringify/sync';
import { html } from 'hono/html';
import { isoTime } from '../../core/clock.ts';
import { counted } from '../../core/counts.ts';
import type { Numbers } from '../../store/read/numbers.ts';
import { chart, round } from '../html/chart.ts';
import type { Html } from '../html/document.ts';
import type { PageSources } from './page-sources.ts';
import {
  answerCard,
  asked,
  card,
  dayMs,
  dayOf,
  filtered,
  money,
  shopLinks,
  table,
} from './parts.ts';

/** So many columns have the charts; the sums are those of all days. */
const mostDrawn = 31;
const shownRows = 20;

/** The numbers of the days, the shop and the product that the address names; else of seven days. */
function numbersAt({ read, clock }: PageSources, url: URL) {
  const untilMs = (dayOf(url, 'to') ?? Math.floor(clock.wallMs() / dayMs) * dayMs) + dayMs;
  const count = Math.ceil((untilMs - (dayOf(url, 'from') ?? untilMs - 7 * dayMs)) / dayMs);
  const fromMs = untilMs - Math.max(1, count) * dayMs;
  const drawn = Math.min(mostDrawn, Math.max(1, count));
  const days = Array.from({ length: drawn }, (_, at) => dayText(untilMs - (drawn - at) * dayMs));
  const filter = { fromMs, untilMs, source: asked(url, 'source'), product: asked(url, 'product') };
  return { ...read.numbers(filter), days, since: dayText(fromMs) };
}

const dayText = (ms: number): string => isoTime(ms).slice(0, 10);
const seconds = (ms: number | null): number | null => ms && round(ms / 1000);
const amounts = (sums: Numbers['spent']): string | null =>
  sums.map(({ amount, currency }) => money(amount, currency)).join(', ') || null;

/** The numbers besides money, each with its title, its unit and where it stands. */
const counts: readonly (readonly [string, string, (of: Numbers) => number | null])[] = [
  ['Orders', 'a day', ({ orders }) => orders],
  ['Lines bought', 'a day', ({ bought }) => bought],
  ['Lines refused', 'a day', ({ refused }) => refused],
  ['Median time to the code', 'seconds', ({ medianMs }) => seconds(medianMs)],
];
const names = ['Spent', ...counts.map(([title]) => title)];
const valuesOf = (of: Numbers) => [amounts(of.spent), ...counts.map(([, , value]) => value(of))];

const none: Numbers = {
  orders: 0,
  bought: 0,
  refused: 0,
  spent: [],
  uncounted: 0,
  refunded: [],
  refundsUnknown: 0,
  medianMs: null,
};

/** What the sums leave out; empty where that is nothing. */
const leftOut = ({ uncounted, refunded, refundsUnknown }: Numbers): string =>
  [
    refunded.length === 0 ? [] : `refunds of ${amounts(refunded)}`,
    uncounted === 0 ? [] : `${counted(uncounted, 'line')} of unknown cost`,
    refundsUnknown === 0 ? [] : `${counted(refundsUnknown, 'refund')} of an unknown amount`,
  ]
    .flat()
    .join(', ');

/** What was spent, ordered and refused, and how long it took: by day, shop and product. */
export function numbersPage(sources: PageSources, url: URL): Html {
  const { isWhole, total, by, days, since } = numbersAt(sources, url);
  const found = new Map(by('day').map((it) => [it.day, it]));
  const columns = { name: 'Day (UTC)', labels: days.map((day) => day.slice(5)) };
  const drawn = (title: string, unit: string, valueOf: (day: Numbers) => number | null) => {
    const values = days.map((day) => valueOf(found.get(day) ?? none));
    return chart(title, unit, columns, { [title]: values });
  };
  const sums = (title: string, key: 'source' | 'product'): Html => {
    const rows = by(key).toSorted((a, b) => b.orders - a.orders);
    const cells = rows.slice(0, shownRows).map((it) => [it[key] ?? null, ...valuesOf(it)]);
    return card(key, title, table(`Numbers: ${title}`, [title, ...names], cells));
  };
  const list = html`<p class="head"><span>${since} to ${days.at(-1)}</span><a class="button" href="/numbers.csv${url.search}">CSV</a></p>
${isWhole ? null : html`<p class="warning">These are too many orders: only the newest are counted. Choose fewer days.</p>`}
<ul class="answers" aria-label="In all">${valuesOf(total).map((value, at) => answerCard(names[at] ?? '', html`<span class="number">${value ?? '-'}</span>${at === counts.length ? ' s' : null}`))}</ul>
<section class="card charts" aria-label="Charts">
${total.spent.map(({ currency }) => drawn('Spent', `${currency} a day`, ({ spent }) => Number(spent.find((it) => it.currency === currency)?.amount ?? 0)))}
${counts.map((count) => drawn(...count))}</section>
${sums('By shop', 'source')}
${sums('By product', 'product')}
<p class="faint">A line counts on the day (UTC) on which its order came in. Not in what was spent: ${leftOut(total) || 'nothing'}.</p>`;
  const ago = (count: number) => dayText(sources.clock.wallMs() - (count - 1) * dayMs);
  const links = {
    from: ['Since', ['', '7 days'], [ago(31), '31 days'], [ago(365), '365 days']],
    source: shopLinks(sources.read.sources()),
  } as const;
  const fields = { product: 'Product', from: 'From day (UTC)', to: 'To day (UTC)' };
  return filtered(url, { links, fields }, list);
}

/** The same sums by day, shop, product and currency. */
export function numbersCsv(sources: PageSources, url: URL): string {
  const keys = ['day', 'source', 'product', 'currency'] as const;
  const rows = numbersAt(sources, url)
    .by(...keys)
    .map(({ spent: [spent], refunded: [refunded], medianMs, ...it }) => ({
      ...it,
      spent: spent?.amount ?? (it.uncounted > 0 ? null : '0.00'),
      refunded: refunded?.amount ?? (it.refundsUnknown > 0 ? null : '0.00'),
      refunds_unknown: it.refundsUnknown,
      median_s: seconds(medianMs),
    }));
  const columns = [
    ...keys,
    'orders',
    'bought',
    'refused',
    'spent',
    'uncounted',
    'refunded',
    'refunds_unknown',
    'median_s',
  ];
  // A name of a shop or a product must not become a formula of a spreadsheet.
  return stringify(rows, { header: true, columns, escape_formulas: true });
}
