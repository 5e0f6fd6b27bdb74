import { html } from 'hono/html';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import type { Html } from '../html/document.ts';

/** A time, with how long ago it was. */
export function timeText(iso: string | null, nowMs: number): Html {
  if (iso === null) return html`-`;
  const agoMs = nowMs - Date.parse(iso);
  const distance = agoMs >= 0 ? `${shortDuration(agoMs)} ago` : `in ${shortDuration(-agoMs)}`;
  return html`<span class="when"><time datetime="${iso}">${shortTime(iso)}</time> <span class="faint">${distance}</span></span>`;
}

export function timeOfMs(ms: number | null, nowMs: number): Html {
  return timeText(ms === null ? null : isoTime(ms), nowMs);
}

/** A text of a length that others decide: a long one is cut, and shown whole when it is opened. */
export function longText(text: string, length = 160): Html {
  if (text.length <= length) return html`<span class="text">${text}</span>`;
  return html`<details class="long"><summary><span class="text">${text.slice(0, length)}…</span></summary><p class="text">${text}</p></details>`;
}

/** The page of an order. */
export function orderPath(source: string, orderId: string): string {
  return `/orders/${encodeURIComponent(source)}/${encodeURIComponent(orderId)}`;
}

/** The page of a row of the attention list. @param list the filter of the list, as it stands in its address */
export function reviewPath(id: string, list = ''): string {
  const values = new URLSearchParams(list);
  values.set('id', id);
  return `/attention/review?${values.toString()}`;
}

export function orderLink(source: string | null, orderId: string | null): Html {
  if (orderId === null) return html`${source ?? '-'}`;
  if (source === null) return html`${orderId}`;
  return html`<a href="${orderPath(source, orderId)}">${source}/${orderId}</a>`;
}
