import { html } from 'hono/html';
import type { ConfigValue } from '../../config/config.ts';
import { isoTime } from '../../core/clock.ts';
import { entryStates } from '../../core/entry/states.ts';
import type { OrderSummary } from '../../store/read/list-orders.ts';
import type { Html } from '../html/document.ts';
import { actionForms } from './action-forms.ts';
import { mayDecide, type FormContext, type PageSources } from './page-sources.ts';
import {
  asked,
  dayMs,
  dayOf,
  badge,
  filtered,
  many,
  longText,
  dueText,
  oneOf,
  orderLink,
  paging,
  shopLinks,
  stateMark,
  table,
  timeText,
} from './parts.ts';
import { keyPlaces, pausedSinks } from './paused-sections.ts';

const shownRows = 40;
const mostCounted = 10_000;

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
  return filtered(
    url,
    {
      links: {
        who: ['Decided by', ['', 'People'], ['all', 'People, the worker and shops']],
      },
      fields: {
        actor: 'Who',
        action: 'What, for example hold',
        subject: 'Subject: a reference, shop/order, a scope',
        day: 'Day (UTC)',
      },
    },
    html`${rows.length === 0 ? html`<p>No decision fits this filter.</p>` : table('Decisions, the last one first', ['When', 'Who', 'What', 'Subject', 'Reason', 'Changed'], cells)}
${paging(url, next)}`,
  );
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
  return filtered(
    url,
    { fields: { key: 'Key' } },
    html`<p>These values are in use. Change them in the file, and apply them with a reload or a restart.</p>
${keyPlaces(sources, context)}
${rows.length === 0 ? html`<p>No key fits this filter.</p>` : table('Configuration', ['Key', 'Value', 'From'], rows)}`,
  );
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
  const caption = isOpen ? 'Results to deliver, the next one first' : 'Results that were given up';
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
    : 'No result waits: every sink has all its results.';
  const noRows = isOpen ? noOpen : 'No delivery was given up.';
  const givenUp = read.attentionCounts({ kind: 'delivery' }, mostCounted).delivery ?? 0;
  return filtered(
    url,
    {
      links: {
        status: [
          'Results',
          ['', 'That wait', read.backlog().dueDeliveries],
          ['given_up', 'That were given up', givenUp],
        ],
      },
      fields: { sink: 'Sink, for example folder' },
    },
    html`${pausedSinks(sources, context)}
${rows.length === 0 ? html`<p class="${isHeldUp ? '' : 'good'}">${noRows} What was delivered when stands on the page of its order.</p>` : table(caption, header, cells)}
${paging(url, next)}`,
  );
}

const shownOrders = 50;

const statesOf = ({ states, rejectedLines }: OrderSummary): Html => {
  const marks = entryStates.flatMap((state) =>
    states[state] === undefined ? [] : html`${stateMark(state, states[state])} `,
  );
  return html`${marks}${rejectedLines === 0 ? null : badge('problem', html`${many(rejectedLines)}not accepted`)}`;
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
  const rows = shown.map((order) => [
    html`${mayDecide(context) ? html`<input type="checkbox" name="orders" value="${order.id}" aria-label="Choose ${order.source}/${order.orderId}"> ` : null}${orderLink(order.source, order.orderId)}`,
    statesOf(order),
    longText(order.products.join(', '), 60),
    order.customer,
    order.charged.map(({ cost, currency }) => `${cost} ${currency}`).join(', ') || null,
    timeText(order.receivedAt, nowMs),
  ]);
  return filtered(
    url,
    filtersOfOrders(read, url, nowMs),
    html`${shown.length === 0 ? html`<p>No order fits this filter. <a href="/orders">Show all orders</a>.</p>` : actionForms.selection(table('Orders', ['Order', 'Entries', 'Product', 'Customer', 'Charged', 'Received'], rows), context)}
${paging(url, next, 'before')}
${actionForms.orderList(url.searchParams, context)}`,
  );
}

/** The counts are those of entries: of the chosen shop by state, and of the chosen state by shop. */
function filtersOfOrders(read: PageSources['read'], url: URL, nowMs: number) {
  const counts = read.countsBySource();
  const countOf = (state: string | undefined, source: string | undefined): number =>
    counts.reduce(
      (sum, it) =>
        it.state === (state ?? it.state) && it.source === (source ?? it.source)
          ? sum + it.count
          : sum,
      0,
    );
  const [state, source] = [asked(url, 'state'), asked(url, 'source')];
  const states = entryStates.filter((it) => it === state || countOf(it, source) > 0);
  const dayText = (daysAgo: number): string => isoTime(nowMs - daysAgo * dayMs).slice(0, 10);
  return {
    links: {
      state: [
        'Lines by state',
        ['', 'All', countOf(undefined, source)],
        ...states.map((it) => [it, stateMark(it), countOf(it, source)] as const),
      ],
      source: shopLinks(read.sources(), (it) => countOf(state, it)),
      from: [
        'Came in',
        ['', 'At any time'],
        [dayText(0), 'Today'],
        [dayText(6), 'The last 7 days'],
      ],
      attention: ['Attention', ['', 'All orders'], ['1', 'Only those that need it']],
      sort: [
        'Order',
        ['', 'Newest first'],
        ['oldest', 'Oldest first, of 5,000'],
        ['amount', 'Largest first, of 5,000'],
      ],
    },
    fields: {
      search: 'Search (id, number, SKU, e-mail, code or end of a code)',
      product: 'Product: a variant or a plan',
      from: 'From day (UTC)',
      to: 'To day (UTC)',
    },
  } as const;
}
