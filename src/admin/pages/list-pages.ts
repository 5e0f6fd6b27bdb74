import { html } from 'hono/html';
import type { Html } from '../html/document.ts';
import { actionForms } from './action-forms.ts';
import { asked, dayMs, dayOf, filterForm, longText, oneOf, orderLink, paging, table, timeText } from './parts.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import type { ConfigValue } from '../../config/config.ts';
import { keyPlaces, pausedSinks } from './paused-sections.ts';

const shownRows = 40;

/** The decisions of people, the last one first; those of the worker and of shops where the address asks for them. */
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

/** The configuration in use: every value and where it came from. A secret is shown as the beginning of its digest. */
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
    orderLink(row.source, row.orderId),
    row.sink,
    row.tries,
    row.lastError === null ? null : longText(row.lastError),
    timeText(isOpen ? row.dueAt : row.givenUpAt, clock.wallMs()),
    actionForms.delivery(row.sink, row, context),
  ]);
  const caption = isOpen ? 'Results that are tried, the next one first' : 'Results that were given up';
  const header = ['Order', 'Sink', 'Tries', 'Last error', isOpen ? 'Tried next' : 'Given up', 'Decide'];
  const noRows = isOpen ? 'No result waits: every sink has what it should have.' : 'No delivery was given up.';
  return html`${filterForm(url, {
    status: ['Show', ['open', 'those that are tried'], ['given_up', 'those that were given up']],
    sink: 'Sink, for example folder',
  })}
${pausedSinks(sources, context)}
${rows.length === 0 ? html`<p class="good">${noRows} What was delivered when stands on the page of its order.</p>` : table(caption, header, cells)}
${paging(url, next)}`;
}
