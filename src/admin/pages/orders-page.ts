import { html } from 'hono/html';
import { entryStates } from '../../core/entry/states.ts';
import { stateCounts, type OrderFilter } from '../../store/read/list-orders.ts';
import { actionForms } from './action-forms.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { addressWith, asked, filterForm, oneOf, paging } from './list-parts.ts';
import { orderLink, timeText } from './text.ts';

const shownOrders = 50;

/** The filter in an address, without the place in the list. */
function orderFilter(url: URL): Omit<OrderFilter, 'limit'> {
  const before = Number(asked(url, 'before'));
  return {
    state: oneOf(asked(url, 'state'), entryStates),
    source: asked(url, 'source'),
    search: asked(url, 'search'),
    attention: asked(url, 'attention') !== undefined || undefined,
    beforeId: Number.isSafeInteger(before) && before > 0 ? before : undefined,
  };
}

/** The orders that fit the filter in the address, the newest first. */
export function ordersPage({ read, clock }: PageSources, context: FormContext, url: URL): Html {
  const filter = orderFilter(url);
  const nowMs = clock.wallMs();
  const found = read.listOrders({ ...filter, limit: shownOrders + 1 });
  const shown = found.slice(0, shownOrders);
  const last = found.length > shownOrders ? (shown.at(-1)?.id ?? null) : null;
  const counts = read.counts();
  const rows = shown.map((order) => [
    orderLink(order.source, order.orderId),
    stateCounts(order).join(', '),
    order.lines + order.rejectedLines,
    timeText(order.receivedAt, nowMs),
    timeText(order.updatedAt, nowMs),
  ]);
  const facets = entryStates.filter((state) => counts[state] > 0);
  return html`${filterForm('/orders', [
    {
      kind: 'search',
      name: 'search',
      label: 'Search (id, number, SKU, e-mail, end of a code)',
      value: filter.search ?? '',
    },
    { kind: 'text', name: 'source', label: 'Shop', value: filter.source ?? '' },
    {
      kind: 'choice',
      name: 'state',
      label: 'With an entry that is',
      value: filter.state ?? '',
      choices: [['', 'in any state'], ...entryStates.map((state) => [state, state] as const)],
    },
    {
      kind: 'choice',
      name: 'attention',
      label: 'Attention',
      value: filter.attention === true ? '1' : '',
      choices: [
        ['', 'all orders'],
        ['1', 'only those that need a person'],
      ],
    },
  ])}
<ul class="counts" aria-label="Entries by state">${facets.map((state) => {
    const isChosen = filter.state === state;
    const path = addressWith(url, { state: isChosen ? null : state, before: null });
    return html`<li><a href="${path}"${isChosen ? html` aria-current="true"` : null}><span class="number">${counts[state]}</span> ${state}</a></li>`;
  })}</ul>
${shown.length === 0 ? html`<p>No order fits this filter. <a href="/orders">Show all orders</a>.</p>` : table('Orders, the newest first', ['Order', 'Entries', 'Lines', 'Received', 'Changed'], rows)}
${paging(url, 'before', last === null ? null : String(last), { first: 'Newest', next: 'Older' })}
${actionForms.orderList(url.searchParams, context)}`;
}
