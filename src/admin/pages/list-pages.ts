import { html } from 'hono/html';
import type { ConfigValue } from '../../config/config.ts';
import { entryStates } from '../../core/entry/states.ts';
import type { OrderSummary } from '../../store/read/list-orders.ts';
import type { Html } from '../html/document.ts';
import { actionForms } from './action-forms.ts';
import { mayDecide, type FormContext, type PageSources } from './page-sources.ts';
import {
  addressWith,
  asked,
  dayMs,
  dayOf,
  dueText,
  filterForm,
  longText,
  oneOf,
  orderLink,
  paging,
  stateMark,
  table,
  timeText,
} from './parts.ts';
import { keyPlaces, pausedSinks } from './paused-sections.ts';

const shownRows = 40;

/**
 * The decisions of people, the last one first; those of the worker and of shops where the address
 * asks for them.
 */
export function auditPage({ read, clock }: PageSources, url: URL): Html {
  const [actor, action, subject] = ['actor', 'action', 'subject'].map((name) => asked(url, name));
  const byPeople = asked(url, 'who') !== 'all' && actor === undefined && action === undefined;
  const sinceMs = dayOf(url, 'day');
  const period = sinceMs === undefined ? {} : { sinceMs, untilMs: sinceMs + dayMs };
  const place = { limit: shownRows, after: asked(url, 'after') };
  const { rows, next } = read.auditLog({ actor, byPeople, action, subject, ...period }, place);
  const cells = rows.map((row) => [
    timeText(row.at, clock.wallMs()),
    row.actor,
    row.action,
    longText(row.subject),
    longText(row.reason),
    Object.keys(row.detail).length === 0 ? null : longText(JSON.stringify(row.detail), 60),
  ]);
  return html`${filterForm(url, {
    who: ['Decided by', ['', 'people'], ['all', 'people, the worker and shops']],
    actor: 'Who',
    action: 'What, for example hold',
    subject: 'Subject: a reference, shop/order, a scope',
    day: 'Day (UTC)',
  })}
${rows.length === 0 ? html`<p>No decision fits this filter.</p>` : table('Decisions, the last one first', ['When', 'Who', 'What', 'Subject', 'Reason', 'Changed'], cells)}
${paging(url, next)}`;
}

const fingerprintLength = 8;

/**
 * The configuration in use: every value and where it came from. A secret is shown as the beginning
 * of its digest.
 */
export function configPage(sources: PageSources, context: FormContext, url: URL): Html {
  const inUse = sources.configInUse();
  if (inUse === null)
    return html`<p>This worker was started without a file that can be read again, as the demo is.</p>`;
  const wanted = asked(url, 'key')?.toLowerCase() ?? '';
  const shown = inUse.values.filter(({ path }) => path.toLowerCase().includes(wanted));
  const rows = shown.map((value) => [
    html`<span class="code">${value.path}</span>`,
    valueText(value, inUse.digests.get(value.path)),
    value.place === '' ? value.source : longText(value.place),
  ]);
  return html`<p>These values are in use. Change them in the file, and apply them with a reload or a restart.</p>
${keyPlaces(sources, context)}
${filterForm(url, { key: 'Key' })}
${rows.length === 0 ? html`<p>No key fits this filter.</p>` : table('Configuration', ['Key', 'Value', 'From'], rows)}`;
}

function valueText({ value }: ConfigValue, digest: string | undefined): Html {
  // Secrets are masked already.
  if (value === '***')
    return html`secret${digest === undefined ? null : html`, fingerprint <span class="code">${digest.slice(0, fingerprintLength)}</span>`}`;
  return longText(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Results that no sink has yet: those that are tried, and those that were given up. */
export function deliveriesPage(sources: PageSources, context: FormContext, url: URL): Html {
  const { read, clock } = sources;
  const status = oneOf(asked(url, 'status'), ['given_up']) ?? 'open';
  const isOpen = status === 'open';
  const place = { limit: shownRows, after: asked(url, 'after') };
  const { rows, next } = read.deliveries({ status, sink: asked(url, 'sink') }, place);
  const cells = rows.map((row) => [
    row.file ?? orderLink(row.source, row.orderId),
    row.sink,
    row.tries,
    row.lastError === null ? null : longText(row.lastError),
    isOpen ? dueText(row.dueAt, clock.wallMs()) : timeText(row.givenUpAt, clock.wallMs()),
    row.source === null || row.orderId === null
      ? null
      : actionForms.delivery(row.sink, { source: row.source, orderId: row.orderId }, context),
  ]);
  const caption = isOpen
    ? 'Results that are tried, the next one first'
    : 'Results that were given up';
  const header = [
    'Order or file',
    'Sink',
    'Tries',
    'Last error',
    isOpen ? 'Tried next' : 'Given up',
    'Decide',
  ];
  const isHeldUp = read.sinkPauses().some(({ waiting }) => waiting > 0);
  const noOpen = isHeldUp
    ? 'No other result waits.'
    : 'No result waits: every sink has what it should have.';
  const noRows = isOpen ? noOpen : 'No delivery was given up.';
  return html`${filterForm(url, {
    status: ['Show', ['open', 'those that are tried'], ['given_up', 'those that were given up']],
    sink: 'Sink, for example folder',
  })}
${pausedSinks(sources, context)}
${rows.length === 0 ? html`<p class="${isHeldUp ? '' : 'good'}">${noRows} What was delivered when stands on the page of its order.</p>` : table(caption, header, cells)}
${paging(url, next)}`;
}

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
  return html`${filterOfOrders(url, read.sources())}
<ul class="counts" aria-label="Entries by state">${facets.map((state) => {
    const isChosen = chosen === state;
    const path = addressWith(url, { state: isChosen ? null : state, before: null });
    return html`<li><a href="${path}"${isChosen ? html` aria-current="true"` : null}><span class="number">${counts[state]}</span> ${stateMark(state)}</a></li>`;
  })}</ul>
${shown.length === 0 ? html`<p>No order fits this filter. <a href="/orders">Show all orders</a>.</p>` : actionForms.selection(table('Orders', ['Order', 'Entries', 'Product', 'Customer', 'Charged', 'Received'], rows), context)}
${paging(url, next, 'before')}
${actionForms.orderList(url.searchParams, context)}`;
}

function filterOfOrders(url: URL, sources: readonly string[]): Html {
  return filterForm(url, {
    search: 'Search (id, number, SKU, e-mail, code or its end)',
    source: ['Shop', ['', 'every shop'], ...sources.map((source) => [source, source] as const)],
    state: [
      'With an entry that is',
      ['', 'in any state'],
      ...entryStates.map((state) => [state, state] as const),
    ],
    product: 'Product: a variant or a plan',
    from: 'From day (UTC)',
    to: 'To day (UTC)',
    sort: [
      'Order',
      ['', 'newest first'],
      ['oldest', 'oldest first, of the last 5,000'],
      ['amount', 'largest amount first, of the last 5,000'],
    ],
    attention: ['Attention', ['', 'all orders'], ['1', 'only those that need attention']],
  });
}
