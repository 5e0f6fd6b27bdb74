import { html } from 'hono/html';
import { totalOf } from '../../core/counts.ts';
import { sentence } from '../../core/message-text.ts';
import { affectedText } from '../../core/operator/affected.ts';
import { headlineOf } from '../../core/operator/headline.ts';
import { clientActionFor } from '../../core/answers/wholesale-errors.ts';
import { attentionActions, whatToDo, type AttentionAction } from '../../core/operator/attention.ts';
import {
  placeOf,
  type Attention,
  type AttentionFilter,
  type AttentionGroup,
  type AttentionKind,
} from '../../store/read/attention.ts';
import type { Page } from '../../store/read/page.ts';
import type { OrderDetail } from '../../store/read/order-detail.ts';
import { actionForms } from './action-forms.ts';
import { mayDecide, type FormContext, type PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { entryCard, notAccepted, timelineOf } from './order-page.ts';
import {
  asked,
  card,
  counted,
  factList,
  filtered,
  forText,
  longText,
  orderLink,
  orderPath,
  paging,
  reviewPath,
  shopLinks,
  table,
  timeText,
} from './parts.ts';

const shownRows = 50;
const mostCounted = 10_000;

const attentionFilter = (url: URL): AttentionFilter => ({
  kind: asked(url, 'kind'),
  code: asked(url, 'code'),
  subject: asked(url, 'subject'),
  source: asked(url, 'source'),
});

/**
 * Everything that needs an operator by its cause; the rows of one cause where the address names it.
 */
export function attentionPage({ read, clock }: PageSources, context: FormContext, url: URL): Html {
  const filter = attentionFilter(url);
  const { source, ...cause } = filter;
  const isOpened = Object.values(cause).some((value) => value !== undefined);
  const list = isOpened
    ? attentionRows(
        read.attentionPage(filter, { limit: shownRows, after: asked(url, 'after') }),
        context,
        clock,
        url,
      )
    : card(
        'causes',
        'By cause',
        attentionGroups(
          read.attentionGroups(filter, { limit: shownRows, atMost: mostCounted }),
          context,
          clock.wallMs(),
          source,
        ),
      );
  const { kind: _, ...rest } = filter;
  const kinds = Object.entries(read.attentionCounts(rest, mostCounted));
  const all = totalOf(Object.fromEntries(kinds));
  return filtered(
    url,
    {
      links: {
        kind: [
          'What',
          ['', 'All', all],
          ...kinds.map(([kind, count]) => [kind, kind.replaceAll('_', ' '), count] as const),
        ],
        source: shopLinks(read.sources()),
      },
      fields: { code: 'Code', subject: 'About: a product, scope or sink' },
    },
    html`${list}
${actionForms.attentionList(url.searchParams, context)}`,
  );
}

/** Kinds whose customers wait for what they paid for, or may have what is not theirs. */
const urgent: readonly AttentionKind[] = [
  'needs_review',
  'unknown',
  'rejected',
  'expired',
  'needs_manual_delivery',
  'shown_twice',
];
const nouns: Readonly<Partial<Record<AttentionKind, string>>> = {
  storefront: 'order',
  invalid_file: 'file',
  delivery: 'result',
};

/**
 * The causes, each with its number of rows and one decision for all of them. @param source only
 * those of this shop
 */
export function attentionGroups(
  found: readonly AttentionGroup[],
  context: FormContext,
  nowMs: number,
  source?: string,
): Html {
  if (found.length === 0) return html`<p class="good">Nothing needs attention.</p>`;
  const rows = found.map((group) => {
    const { id, kind, code, subject, count } = group;
    const path =
      count === 1
        ? reviewPath(id)
        : `/attention${listOf({ kind, code, subject: subject ?? undefined, source })}`;
    return html`<li class="cause is-${urgent.includes(kind) ? 'problem' : 'warning'}">
<h3><a href="${path}">${headlineOf(group)}</a></h3>
<p class="facts-line">${factsOf(group, nowMs)}</p>
<div>${happened(group)} <code>${code}</code></div>
<div class="todo"><strong>What to do:</strong> ${adviceText(group, context)}</div>
${actionForms.attentionGroup(group, source, context) ?? html`<div class="actions"><a class="button primary" href="${path}">Look at it</a></div>`}</li>`;
  });
  return html`<ul class="causes">${rows}</ul>`;
}

/** How much of what it concerns, where, and since when. */
function factsOf(
  { kind, count, sources, source, orderId, since, affects }: AttentionGroup,
  nowMs: number,
): Html {
  const affected = affectedText(affects, nowMs);
  const what = kind === 'pause' ? null : html`${counted(count, nouns[kind] ?? 'line')}`;
  const shops = sources > 1 ? html` in ${sources} shops` : null;
  const where = count === 1 && orderId !== null ? html` ${orderLink(source, orderId)}` : shops;
  return html`${what}${where}${what === null ? null : ', '}for ${forText(since, nowMs)}${affected === '' ? null : html`: ${affected}`}`;
}

/** The rows of one cause. Their advice stands above them once. */
function attentionRows(
  { rows: found, next }: Page<Attention>,
  context: FormContext,
  clock: PageSources['clock'],
  url: URL,
): Html {
  const [first] = found;
  if (first === undefined) return html`<p class="good">Nothing of this needs attention.</p>`;
  const list = listOf(attentionFilter(url));
  const rows = found.map((row) => [
    html`<a href="${reviewPath(row.id, list)}">${row.kind.replaceAll('_', ' ')}</a>`,
    row.scope ?? orderLink(row.source, row.orderId),
    timeText(row.since, clock.wallMs()),
    happened(row),
  ]);
  const advice = new Set(found.map((row) => adviceText(row, context)));
  return html`<p class="lead">${headlineOf({ ...first, subject: asked(url, 'subject') ?? first.scope })}</p>
${[...advice].map((text) => html`<p><strong>What to do:</strong> ${text}</p>`)}
${table('Rows of this cause', ['What', 'Concerns', 'Since', 'What happened'], rows)}
${paging(url, next)}`;
}

/** The message; the code stands in the cause. */
const happened = ({ code, message }: Attention): Html => longText(sentence(message ?? code), 500);

/**
 * The pages name an action that they have by its button, in quotes, and any other by its
 * command.
 */
const onPages: Readonly<Partial<Record<AttentionAction, string>>> = {
  ack: '"Acknowledge"',
  balance: '"Set a balance" on the overview',
  cancel: '"Cancel"',
  enter_units: '"Enter the missing units"',
  release: '"Release"',
  reorder: '"Order again"',
  resolve: '"Resolve"',
  resume: '"Resume"',
  retry: '"Retry now"',
  rewrite: '"Deliver again"',
  show: 'the page of the order',
  try: '"Try now"',
};

/**
 * The advice for a row of the attention list, beginning with that about its error.
 * It names buttons where the visitor has them, else commands.
 */
export function adviceText(
  { kind, code, reason, whatToDo: byCommands }: Attention,
  context: FormContext,
): string {
  const advice = mayDecide(context)
    ? whatToDo(reason, (action) => onPages[action] ?? `\`${attentionActions[action]}\``)
    : byCommands;
  const aboutError = kind === 'rejected' ? clientActionFor(code) : null;
  return aboutError === null ? advice : `${aboutError} Otherwise: ${advice}`;
}

/**
 * One row of the attention list with its evidence, what may be decided, and the way to the next
 * row.
 */
export function reviewPage(sources: PageSources, context: FormContext, url: URL): Html {
  const { read, clock } = sources;
  const id = asked(url, 'id') ?? '';
  const [row] = read.attention(1, { ids: [id] });
  const after = row === undefined ? undefined : placeOf(row);
  const [next] = read.attentionPage(attentionFilter(url), { limit: 1, after }).rows;
  const list = listOf(attentionFilter(url));
  const links = html`<nav class="paging" aria-label="Attention list"><a href="/attention${list}">The list</a>
${next === undefined ? html`<span class="faint">This is the last row.</span>` : html`<a href="${reviewPath(next.id, list)}" rel="next">Next: ${next.kind} ${next.scope ?? [next.source, next.orderId].filter(Boolean).join('/')}</a>`}</nav>`;
  if (row === undefined)
    return html`<p class="good">"${id}" is not in the attention list any more.</p>${links}`;
  const { source, orderId, lineId } = row;
  const order = source === null || orderId === null ? null : read.showOrder(source, orderId);
  return html`<section class="card"><h2>${headlineOf({ ...row, subject: row.scope })}</h2>${factList(
    [
      ['What', html`${row.kind.replaceAll('_', ' ')} <code>${row.code}</code>`],
      ['Since', timeText(row.since, clock.wallMs())],
      [
        'Concerns',
        row.scope ??
          html`${orderLink(source, orderId)}${lineId === null ? null : ` line ${lineId}`}`,
      ],
      ['Holds up', row.holdsUp],
    ],
  )}
${row.message ? html`<p class="problem">${longText(sentence(row.message), 1000)}</p>` : null}
<p><strong>What to do:</strong> ${adviceText(row, context)}</p>
${actionForms.attention(row, context)}</section>
${order === null ? null : evidence(row, order, sources, context)}
${links}`;
}

function evidence(
  row: Attention,
  order: OrderDetail,
  sources: PageSources,
  context: FormContext,
): Html {
  // A line that was not accepted has no entry; entries of other lines do not matter here.
  const isRefused = row.id.startsWith('line:');
  const entries = order.entries.filter(
    ({ reference }) => row.reference === null || reference === row.reference,
  );
  return html`<h2>Evidence</h2>${isRefused ? notAccepted(order) : entries.map((entry) => entryCard(entry, sources, context))}
${card('timeline', 'What happened', timelineOf(sources, order.id))}
<p><a href="${orderPath(order.source, order.orderId)}">The whole order</a></p>`;
}

/** The filter of the list, as it stands in the address. */
function listOf(filter: AttentionFilter): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(filter))
    if (value !== undefined) values.set(name, String(value));
  return values.size === 0 ? '' : `?${values.toString()}`;
}
