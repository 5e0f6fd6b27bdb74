import { html } from 'hono/html';
import type { TimelineEvent, TimelineKind } from '../../store/read/timeline.ts';
import type { Html } from './html.ts';
import { table } from './table.ts';
import { longText, timeText } from './text.ts';

const kinds: Readonly<Record<TimelineKind, string>> = {
  received: 'received',
  entry: 'entry made',
  call: 'call begun',
  answer: 'answer',
  pause: 'pause',
  decision: 'decision',
  not_accepted: 'not accepted',
  corrected: 'corrected',
  settled: 'settled',
  delivered: 'result delivered',
  given_up: 'delivery given up',
};

/** What happened to an order, the first thing first, with what was said word for word. */
export function timelineTable(events: readonly TimelineEvent[], nowMs: number): Html {
  if (events.length === 0) return html`<p>Nothing more.</p>`;
  const rows = events.map((event) => [
    timeText(event.at, nowMs),
    kinds[event.kind],
    longText(subjectOf(event)),
    event.reference === null ? null : html`<a class="code" href="#${event.reference}">${event.reference}</a>`,
    html`${factsOf(event)}${event.message === null || event.message === '' ? null : html` <q>${longText(event.message)}</q>`}`,
  ]);
  return table('Timeline', ['When', 'What', 'Which', 'Entry', 'Details'], rows);
}

function subjectOf({ kind, code, subject, lineId }: TimelineEvent): string {
  if (kind === 'pause') return `${subject ?? ''}: ${code === 'pause' ? 'paused' : 'resumed'}`;
  if (kind === 'answer' && subject === 'not_sent') return `${code}: the supplier got nothing`;
  if (kind === 'not_accepted' || kind === 'corrected')
    return [`line ${lineId ?? '-'}`, subject, code].filter(Boolean).join(', ');
  return kind === 'settled' && subject !== null ? `${code}, order ${subject}` : code;
}

function factsOf({ actor, number, keyName, httpStatus, durationMs, errorCode }: TimelineEvent): string {
  return [
    actor === null ? '' : `by ${actor}`,
    number === null ? '' : `call ${number}`,
    keyName === null ? '' : `key ${keyName}`,
    httpStatus === null ? '' : `HTTP ${httpStatus}`,
    durationMs === null ? '' : `${durationMs} ms`,
    errorCode ?? '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}
