import { shortTime } from '../../core/clock.ts';
import { largestPage, type Page, type PageRequest } from '../../store/read/page.ts';
import type { TimelineEvent } from '../../store/read/timeline.ts';
import { renderTable } from '../table.ts';

/** So many events are shown; an order of many lines may have more. */
const mostShown = 10_000;

export interface Timeline {
  readonly events: readonly TimelineEvent[];
  readonly more: boolean;
}

/** The first events of an order, read in pages. */
export function wholeTimeline(read: (page: PageRequest) => Page<TimelineEvent>): Timeline {
  const events: TimelineEvent[] = [];
  let after: string | undefined;
  do {
    const page: Page<TimelineEvent> = read({ limit: largestPage, after });
    events.push(...page.rows);
    after = page.next ?? undefined;
  } while (after !== undefined && events.length < mostShown);
  return { events, more: after !== undefined };
}

export function timelineText({ events, more }: Timeline): string {
  const rows = events.map((event) => [
    shortTime(event.at),
    event.number === null ? event.kind : `${event.kind} ${event.number}`,
    event.reference ?? event.lineId ?? '',
    [event.code, event.subject === event.reference ? null : event.subject].filter((it) => it !== null).join(' '),
    detailOf(event),
  ]);
  const table = renderTable(['AT', 'WHAT', 'ENTRY', 'WHICH', 'DETAIL'], rows);
  return more ? `${table}There are more than these ${events.length} events.\n` : table;
}

function detailOf({ actor, keyName, httpStatus, durationMs, errorCode, message }: TimelineEvent): string {
  const said = [errorCode, message].filter((it) => it !== null && it !== '').join(': ');
  const facts = [
    actor,
    keyName === null ? null : `key ${keyName}`,
    httpStatus === null ? null : `HTTP ${httpStatus}`,
    durationMs === null ? null : `${durationMs} ms`,
    said === '' ? null : said,
  ];
  return facts.filter((fact) => fact !== null).join(', ');
}
