import { html } from 'hono/html';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import type { Attention } from '../../store/read/attention.ts';
import { mayDecide, type FormContext } from './page-sources.ts';
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

/** What the buttons of the pages are called that do the same as a command. */
const buttons: Readonly<Record<string, string>> = {
  'orders ack': 'Acknowledge',
  'orders cancel': 'Cancel',
  'orders release': 'Release',
  'orders reorder': 'Order again',
  'orders resolve': 'Resolve',
  'orders resolve --same': 'It is the same purchase',
  '--another': 'It is another purchase',
  'orders resolve --as fulfilled --units': 'Enter the missing units',
  'orders retry': 'Retry now',
  'orders show': 'the page of the order',
  'queue resume': 'Resume',
  'results rewrite --sink': 'Deliver again',
};

/**
 * What to do about a row of the attention list, beginning with what the supplier advises about its error. Where the visitor
 * has buttons, they stand in the place of the commands; other commands stay.
 */
export function adviceText({ kind, code, whatToDo }: Attention, context: FormContext): string {
  const bySupplier = kind === 'rejected' ? clientActionFor(code) : null;
  const advice = bySupplier === null ? whatToDo : `the supplier advises: "${bySupplier}" Otherwise ${whatToDo}`;
  if (!mayDecide(context)) return advice;
  // Its form says that of the SKU map.
  return advice
    .replace(/ \(after a correction of the SKU map[^)]*\)/, '')
    .replaceAll(/`([^`]+)`/g, (whole, command: string) => {
      const button = buttons[command];
      if (button === undefined) return whole;
      return command === 'orders show' ? button : `"${button}"`;
    });
}
