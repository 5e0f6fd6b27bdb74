import { html } from 'hono/html';
import type { FormContext, PageSources } from './page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { asked, filterForm, oneOf, paging } from './list-parts.ts';
import { pausedSinks } from './paused-sections.ts';
import { longText, orderLink, timeText } from './text.ts';

const shownDeliveries = 100;

/** Results that no sink has yet: those that are tried, and those that were given up. */
export function deliveriesPage(sources: PageSources, context: FormContext, url: URL): Html {
  const { read, clock, forms } = sources;
  const nowMs = clock.wallMs();
  const status = oneOf(asked(url, 'status'), ['open', 'given_up']) ?? 'open';
  const [sink, after] = [asked(url, 'sink'), asked(url, 'after')];
  const place = { limit: shownDeliveries, ...(after === undefined ? {} : { after }) };
  const { rows, next } = read.deliveries({ status, sink }, place);
  const cells = rows.map((row) => {
    const delivery = { sink: row.sink, done: false, doneAt: null, lastError: row.lastError, givenUpAt: row.givenUpAt };
    return [
      orderLink(row.source, row.orderId),
      row.sink,
      row.tries,
      row.lastError === null ? null : longText(row.lastError),
      status === 'open' ? timeText(row.dueAt, nowMs) : timeText(row.givenUpAt, nowMs),
      forms.delivery(delivery, row, context),
    ];
  });
  const caption = status === 'open' ? 'Results that are tried, the next one first' : 'Results that were given up';
  return html`${filterForm('/deliveries', [
    {
      kind: 'choice',
      name: 'status',
      label: 'Show',
      value: status,
      choices: [
        ['open', 'those that are tried'],
        ['given_up', 'those that were given up'],
      ],
    },
    { kind: 'text', name: 'sink', label: 'Sink, for example folder', value: sink ?? '' },
  ])}
${pausedSinks(sources)}
${rows.length === 0 ? html`<p class="good">${status === 'open' ? 'No result waits: every sink has what it should have.' : 'No delivery was given up.'} What was delivered when stands on the page of its order.</p>` : table(caption, ['Order', 'Sink', 'Tries', 'Last error', status === 'open' ? 'Tried next' : 'Given up', 'Decide'], cells)}
${paging(url, 'after', next, { first: 'First page', before: 'Page before', next: 'Next page' })}`;
}
