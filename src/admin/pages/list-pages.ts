import { html } from 'hono/html';
import { type Html, table } from '../html/document.ts';
import { actionForms } from './action-forms.ts';
import { asked, filterForm, oneOf, paging } from './list-parts.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { longText, orderLink, timeText } from './text.ts';
import type { ConfigValue } from '../../config/config.ts';
import { pausedSinks } from './paused-sections.ts';

const shownDecisions = 100;
const dayMs = 86_400_000;

/** Who decided what, and why; the last decision first. */
export function auditPage({ read, clock }: PageSources, url: URL): Html {
  const nowMs = clock.wallMs();
  const [actor, action, subject, day] = ['actor', 'action', 'subject', 'day'].map((name) => asked(url, name));
  const dayStartMs = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  const period = Number.isNaN(dayStartMs) ? {} : { sinceMs: dayStartMs, untilMs: dayStartMs + dayMs };
  const after = asked(url, 'after');
  const place = { limit: shownDecisions, after };
  const { rows, next } = read.auditLog({ actor, action, subject, ...period }, place);
  const cells = rows.map((row) => [
    timeText(row.at, nowMs),
    row.actor,
    row.action,
    longText(row.subject),
    longText(row.reason),
    Object.keys(row.detail).length === 0 ? null : longText(JSON.stringify(row.detail), 60),
  ]);
  return html`${filterForm('/audit', [
    { kind: 'text', name: 'actor', label: 'Who', value: actor ?? '' },
    { kind: 'text', name: 'action', label: 'What, for example hold', value: action ?? '' },
    { kind: 'text', name: 'subject', label: 'Subject: a reference, shop/order, a scope', value: subject ?? '' },
    { kind: 'date', name: 'day', label: 'Day (UTC)', value: day ?? '' },
  ])}
${rows.length === 0 ? html`<p>No decision fits this filter.</p>` : table('Decisions, the last one first', ['When', 'Who', 'What', 'Subject', 'Reason', 'Changed'], cells)}
${paging(url, 'after', next, { first: 'Newest', next: 'Older' })}`;
}

const fingerprintLength = 8;

/** The configuration in use: every value and where it came from. A secret is shown as the beginning of its digest. */
export function configPage({ configInUse }: PageSources, url: URL): Html {
  const inUse = configInUse();
  if (inUse === null)
    return html`<p>This worker was started without a file that can be read again, as the demo is.</p>`;
  const wanted = asked(url, 'key')?.toLowerCase();
  const shown = inUse.values.filter(({ path }) => wanted === undefined || path.toLowerCase().includes(wanted));
  const rows = shown.map((value) => [
    html`<span class="code">${value.path}</span>`,
    valueText(value, inUse.digests.get(value.path)),
    value.place === '' ? value.source : longText(value.place),
  ]);
  return html`<p>These values are in use. Change them in the file, and apply them with <code>order-sync reload</code> or a restart.</p>
${filterForm('/config', [{ kind: 'search', name: 'key', label: 'Key', value: wanted ?? '' }])}
${rows.length === 0 ? html`<p>No key fits this filter.</p>` : table('Configuration', ['Key', 'Value', 'From'], rows)}`;
}

function valueText({ value }: ConfigValue, digest: string | undefined): Html {
  // Secrets are masked already.
  if (value === '***')
    return html`secret${digest === undefined ? null : html`, fingerprint <span class="code">${digest.slice(0, fingerprintLength)}</span>`}`;
  return longText(typeof value === 'string' ? value : JSON.stringify(value));
}

const shownDeliveries = 100;

/** Results that no sink has yet: those that are tried, and those that were given up. */
export function deliveriesPage(sources: PageSources, context: FormContext, url: URL): Html {
  const { read, clock } = sources;
  const nowMs = clock.wallMs();
  const status = oneOf(asked(url, 'status'), ['open', 'given_up']) ?? 'open';
  const [sink, after] = [asked(url, 'sink'), asked(url, 'after')];
  const place = { limit: shownDeliveries, after };
  const { rows, next } = read.deliveries({ status, sink }, place);
  const cells = rows.map((row) => [
    orderLink(row.source, row.orderId),
    row.sink,
    row.tries,
    row.lastError === null ? null : longText(row.lastError),
    timeText(status === 'open' ? row.dueAt : row.givenUpAt, nowMs),
    actionForms.delivery(row.sink, row, context),
  ]);
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
${paging(url, 'after', next, { first: 'First page', next: 'Next page' })}`;
}
