import { html } from 'hono/html';
import { type Html, table } from '../html/document.ts';
import { asked, filterForm, paging } from './list-parts.ts';
import type { PageSources } from './page-sources.ts';
import { longText, timeText } from './text.ts';

const shownDecisions = 100;
const dayMs = 86_400_000;

/** Who decided what, and why; the last decision first. */
export function auditPage({ read, clock }: PageSources, url: URL): Html {
  const nowMs = clock.wallMs();
  const [actor, action, subject, day] = ['actor', 'action', 'subject', 'day'].map((name) => asked(url, name));
  const dayStartMs = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  const period = Number.isNaN(dayStartMs) ? {} : { sinceMs: dayStartMs, untilMs: dayStartMs + dayMs };
  const after = asked(url, 'after');
  const place = { limit: shownDecisions, ...(after === undefined ? {} : { after }) };
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
${paging(url, 'after', next, { first: 'Newest', before: 'Newer', next: 'Older' })}`;
}
