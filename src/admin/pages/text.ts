import { html } from 'hono/html';
import { isoTime } from '../../core/clock.ts';
import { shortDuration, shortTime } from '../../core/time/time-text.ts';
import { mayDecide, type FormContext } from './action-forms.ts';
import type { Html } from './html.ts';

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

/** Advice that names commands, with the buttons in their place where the visitor has them; other commands stay. */
export function adviceText(advice: string, context: FormContext): string {
  if (!mayDecide(context)) return advice;
  return advice.replaceAll(/`([^`]+)`/g, (whole, command: string) => {
    const button = buttons[command];
    if (button === undefined) return whole;
    return command === 'orders show' ? button : `"${button}"`;
  });
}
