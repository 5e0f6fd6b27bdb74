import { html } from 'hono/html';
import { entryStates } from '../../core/entry/states.ts';
import type { OrderSummary } from '../../store/read/list-orders.ts';
import { actionForms } from './action-forms.ts';
import { mayDecide, type FormContext, type PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import {
  addressWith,
  asked,
  dayMs,
  dayOf,
  filterForm,
  longText,
  oneOf,
  orderLink,
  paging,
  stateMark,
  table,
  timeText,
} from './parts.ts';

const shownOrders = 50;

const statesOf = ({ states, rejectedLines }: OrderSummary): Html => {
  const marks = entryStates.flatMap((state) =>
    states[state] === undefined ? [] : html`${states[state]} ${stateMark(state)} `,
  );
  return html`${marks}${rejectedLines === 0 ? null : html`${rejectedLines} <span class="mark is-problem">not accepted</span>`}`;
};

/** The orders that fit the filter in the address, the newest first. */
export function ordersPage({ read, clock }: PageSources, context: FormContext, url: URL): Html {
  const place = Number(asked(url, 'before'));
  const before = Number.isSafeInteger(place) && place > 0 ? place : undefined;
  const sort = oneOf(asked(url, 'sort'), ['oldest', 'amount']);
  const lastDayMs = dayOf(url, 'to');
  const nowMs = clock.wallMs();
  const chosen = oneOf(asked(url, 'state'), entryStates);
  const found = read.listOrders({
    state: chosen,
    source: asked(url, 'source'),
    search: asked(url, 'search'),
    product: asked(url, 'product'),
    sinceMs: dayOf(url, 'from'),
    untilMs: lastDayMs === undefined ? undefined : lastDayMs + dayMs,
    attention: asked(url, 'attention') !== undefined || undefined,
    beforeId: before,
    sort,
    limit: shownOrders + 1,
  });
  const shown = found.slice(0, shownOrders);
  const last = sort === undefined ? shown.at(-1)?.id : (before ?? 0) + shownOrders;
  const next = found.length > shownOrders && last !== undefined ? last : null;
  const counts = read.counts();
  const rows = shown.map((order) => [
    html`${mayDecide(context) ? html`<input type="checkbox" name="orders" value="${order.id}" aria-label="Choose ${order.source}/${order.orderId}"> ` : null}${orderLink(order.source, order.orderId)}`,
    statesOf(order),
    longText(order.products.join(', '), 60),
    order.customer,
    order.charged.map(({ cost, currency }) => `${cost} ${currency}`).join(', ') || null,
    timeText(order.receivedAt, nowMs),
  ]);
  const facets = entryStates.filter((state) => counts[state] > 0);
  return html`${filterForm(url, {
    search: 'Search (id, number, SKU, e-mail, code or its end)',
    source: ['Shop', ['', 'every shop'], ...read.sources().map((source) => [source, source] as const)],
    state: ['With an entry that is', ['', 'in any state'], ...entryStates.map((state) => [state, state] as const)],
    product: 'Product: a variant or a plan',
    from: 'From day (UTC)',
    to: 'To day (UTC)',
    sort: [
      'Order',
      ['', 'newest first'],
      ['oldest', 'oldest first, of the last 5,000'],
      ['amount', 'largest amount first, of the last 5,000'],
    ],
    attention: ['Attention', ['', 'all orders'], ['1', 'only those that need a person']],
  })}
<ul class="counts" aria-label="Entries by state">${facets.map((state) => {
    const isChosen = chosen === state;
    const path = addressWith(url, { state: isChosen ? null : state, before: null });
    return html`<li><a href="${path}"${isChosen ? html` aria-current="true"` : null}><span class="number">${counts[state]}</span> ${stateMark(state)}</a></li>`;
  })}</ul>
${shown.length === 0 ? html`<p>No order fits this filter. <a href="/orders">Show all orders</a>.</p>` : actionForms.selection(table('Orders', ['Order', 'Entries', 'Product', 'Customer', 'Charged', 'Received'], rows), context)}
${paging(url, next, 'before')}
${actionForms.orderList(url.searchParams, context)}`;
}
