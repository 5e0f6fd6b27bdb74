import { html } from 'hono/html';
import { placeOf, type Attention, type AttentionFilter } from '../../store/read/attention.ts';
import type { EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import { actionForms } from './action-forms.ts';
import { adviceText } from './advice.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { asked, filterForm, paging } from './list-parts.ts';
import { entryCard, notAccepted } from './order-page.ts';
import { longText, orderLink, orderPath, reviewPath, timeText } from './text.ts';

const shownRows = 100;
/** The counts by kind end here. */
const mostCounted = 10_000;
const shownCalls = 50;

function attentionFilter(url: URL): AttentionFilter {
  return { code: asked(url, 'code'), source: asked(url, 'source') };
}

/** Everything that needs a person, beginning with the rows that hold up others. */
export function attentionPage({ read, clock }: PageSources, context: FormContext, url: URL): Html {
  const filter = attentionFilter(url);
  const nowMs = clock.wallMs();
  const after = asked(url, 'after');
  const { rows: found, next } = read.attentionPage(filter, { limit: shownRows, after });
  const counts = Object.entries(read.attentionCounts(filter, mostCounted));
  const list = attentionTable(found, context, nowMs, listOf(url));
  return html`${filterForm('/attention', [
    { kind: 'text', name: 'code', label: 'Code', value: filter.code ?? '' },
    { kind: 'text', name: 'source', label: 'Shop', value: filter.source ?? '' },
  ])}
${counts.length === 0 ? null : html`<p>${counts.map(([kind, count], index) => `${index === 0 ? '' : ', '}${count} ${kind}`)}</p>`}
${list}
${paging(url, 'after', next, { first: 'First page', next: 'Next page' })}
${actionForms.attentionList(url.searchParams, context)}`;
}

/** Rows of the attention list. @param list the filter of the list, as it stands in its address */
export function attentionTable(found: readonly Attention[], context: FormContext, nowMs: number, list = ''): Html {
  if (found.length === 0) return html`<p class="good">Nothing needs a person.</p>`;
  const rows = found.map((row) => [
    html`<a href="${reviewPath(row.id, list)}">${row.kind}</a>`,
    row.scope ?? orderLink(row.source, row.orderId),
    timeText(row.since, nowMs),
    html`<a href="/attention?code=${encodeURIComponent(row.code)}">${row.code}</a>${row.message === null || row.message === '' ? null : html`: ${longText(row.message)}`}`,
    longText(adviceText(row, context), 400),
  ]);
  return table('What needs a person', ['What', 'Concerns', 'Since', 'What happened', 'What to do'], rows);
}

/** One row of the attention list with its evidence, what may be decided, and the way to the next row. */
export function reviewPage(sources: PageSources, context: FormContext, url: URL): Html {
  const { read, clock } = sources;
  const nowMs = clock.wallMs();
  const id = asked(url, 'id') ?? '';
  const [row] = read.attention(1, { ids: [id] });
  const after = row === undefined ? {} : { after: placeOf(row) };
  const next = read.attentionPage(attentionFilter(url), { limit: 1, ...after }).rows[0] ?? null;
  const list = html`<nav class="paging" aria-label="Attention list"><a href="/attention${listOf(url)}">The whole list</a>
${next === null ? html`<span class="faint">This is the last row.</span>` : html`<a href="${reviewPath(next.id, listOf(url))}" rel="next">Next: ${next.kind} ${next.scope ?? [next.source, next.orderId].filter(Boolean).join('/')}</a>`}</nav>`;
  if (row === undefined) return html`<p class="good">"${id}" is not in the attention list any more.</p>${list}`;
  const order = orderOf(row, sources);
  return html`<dl class="facts">
<div><dt>What</dt><dd>${row.kind}: ${row.code}</dd></div>
<div><dt>Since</dt><dd>${timeText(row.since, nowMs)}</dd></div>
<div><dt>Concerns</dt><dd>${row.scope ?? orderLink(row.source, row.orderId)}${row.lineId === null ? null : ` line ${row.lineId}`}</dd></div>
<div><dt>Holds up</dt><dd>${row.holdsUp}</dd></div>
</dl>
${row.message === null || row.message === '' ? null : html`<p class="problem">${longText(row.message, 1000)}</p>`}
<p><strong>What to do:</strong> ${adviceText(row, context)}</p>
${actionForms.attention(row, context)}
${order === null ? null : evidence(row, order, sources, context)}
${list}`;
}

function orderOf({ source, orderId }: Attention, { read }: PageSources): OrderDetail | null {
  return source === null || orderId === null ? null : read.showOrder(source, orderId);
}

function evidence(row: Attention, order: OrderDetail, sources: PageSources, context: FormContext): Html {
  // A line that was not accepted has no entry; entries of other lines do not matter here.
  const isRefused = row.id.startsWith('line:');
  const entries = order.entries.filter(({ reference }) => row.reference === null || reference === row.reference);
  return html`<section aria-labelledby="evidence"><h2 id="evidence">Evidence</h2>
${isRefused ? notAccepted(order) : entryEvidence(entries, sources, context)}
<p><a href="${orderPath(order.source, order.orderId)}">The whole order</a></p></section>`;
}

function entryEvidence(entries: readonly EntryDetail[], sources: PageSources, context: FormContext): readonly Html[] {
  return entries.map(
    (entry) => html`${entryCard(entry, sources, context)}
${
  entry.attempts.length === 0
    ? html`<p>It was never sent.</p>`
    : table(
        `Calls for ${entry.reference}`,
        ['Call', 'Opened', 'Purpose', 'Outcome', 'HTTP', 'Took', 'Answer'],
        entry.attempts
          .slice(-shownCalls)
          .map((attempt) => [
            attempt.number,
            timeText(attempt.openedAt, sources.clock.wallMs()),
            attempt.purpose,
            attempt.closedAt === null
              ? 'in flight'
              : `${attempt.outcome ?? ''}${attempt.sent === false ? ', never left' : ''}`,
            attempt.httpStatus,
            attempt.durationMs === null ? null : `${attempt.durationMs} ms`,
            longText(
              [attempt.errorCode, attempt.errorMessage].filter((text) => text !== null && text !== '').join(': '),
            ),
          ]),
      )
}`,
  );
}

/** The filter of the list, as it stands in the address. */
function listOf(url: URL): string {
  const { code, source } = attentionFilter(url);
  const values = new URLSearchParams({
    ...(code === undefined ? {} : { code }),
    ...(source === undefined ? {} : { source }),
  });
  return values.size === 0 ? '' : `?${values.toString()}`;
}
