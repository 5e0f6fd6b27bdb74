import { html } from 'hono/html';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { Html } from '../html/document.ts';

// The parts that pages are made of: sections, facts, tables, texts, links and the filters of lists.

type Cell = Html | string | number | null;

export function section(id: string, title: string, content: Html | null): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${content}</section>`;
}

/** A section that is closed until somebody opens it. */
export function foldedSection(id: string, title: string, content: Html): Html {
  return html`<details class="folded"><summary><h2 id="${id}">${title}</h2></summary>
${content}</details>`;
}

const meaningOf: Readonly<Record<EntryState, 'good' | 'open' | 'warning' | 'problem' | 'ended'>> = {
  pending: 'open',
  sending: 'open',
  placed: 'open',
  waiting: 'open',
  unknown: 'warning',
  held: 'warning',
  needs_review: 'problem',
  rejected: 'problem',
  expired: 'problem',
  fulfilled: 'good',
  refunded: 'ended',
  cancelled: 'ended',
};

/** A state with a colour and a shape for what it means; the word says it, too. */
export const stateMark = (state: EntryState): Html =>
  html`<span class="mark is-${meaningOf[state]}">${state}</span>`;

/** Names with their values; what is null is left out. */
export function factList(facts: readonly (readonly [name: string, value: Cell])[]): Html {
  return html`<dl class="facts">${facts.map(([name, value]) => (value === null ? null : html`<div><dt>${name}</dt><dd>${value}</dd></div>`))}</dl>`;
}

/**
 * A table in a box of its own. Where the page is narrow each row is a card, whose values have the
 * names of their columns.
 */
export function table(
  caption: string,
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${header.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr>${row.map((cell, column) => html`<td data-name="${header[column]}"${cell === null ? html` class="none"` : null}>${cell ?? '-'}</td>`)}</tr>
`,
  )}</tbody>
</table></div>`;
}

/** A time, with how long ago it was. */
export function timeText(time: string | number | null, nowMs: number): Html {
  if (time === null) return html`-`;
  const iso = typeof time === 'number' ? isoTime(time) : time;
  const agoMs = nowMs - Date.parse(iso);
  const distance = agoMs >= 0 ? `${shortDuration(agoMs)} ago` : `in ${shortDuration(-agoMs)}`;
  return html`<span class="when"><time datetime="${iso}">${shortTime(iso)}</time> <span class="faint">${distance}</span></span>`;
}

/** A time at which something is due: one that has come is now. */
export const dueText = (time: string | number | null, nowMs: number): Html =>
  time !== null && new Date(time).getTime() <= nowMs ? html`now` : timeText(time, nowMs);

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
  if (source === null || orderId === null) return html`${orderId ?? source ?? '-'}`;
  return html`<a href="${orderPath(source, orderId)}">${source}/${orderId}</a>`;
}

/**
 * The page of a row of the attention list. @param list the filter of the list, as it stands in its
 * address
 */
export function reviewPath(id: string, list = ''): string {
  const values = new URLSearchParams(list);
  values.set('id', id);
  return `/attention/review?${values.toString()}`;
}

/** A field of a filter: its label, and its choices where it has some. */
type FilterField =
  | string
  | readonly [label: string, ...choices: (readonly [value: string, text: string])[]];

/**
 * The filter of a list, as a form that leads to an address: everybody who opens it sees the same
 * list.
 * @param fields by their names in the address
 */
export function filterForm(url: URL, fields: Readonly<Record<string, FilterField>>): Html {
  return html`<form class="line" method="get" action="${url.pathname}" role="search" aria-label="Filter">
${Object.entries(fields).map(([name, field]) => {
  const [label, ...choices] = typeof field === 'string' ? [field] : field;
  return html`<div><label for="filter-${name}">${label}</label><br>${inputFor(name, asked(url, name) ?? '', choices)}</div>
`;
})}<div><button type="submit">Show</button> <a href="${url.pathname}">Everything</a></div>
</form>`;
}

function inputFor(
  name: string,
  value: string,
  choices: readonly (readonly [string, string])[],
): Html {
  if (choices.length === 0) {
    const type = ['day', 'from', 'to'].includes(name) ? 'date' : 'text';
    return html`<input type="${type}" id="filter-${name}" name="${name}" value="${value}" maxlength="200">`;
  }
  return html`<select id="filter-${name}" name="${name}">${choices.map(
    ([choice, text]) =>
      html`<option value="${choice}"${choice === value ? html` selected` : null}>${text}</option>`,
  )}</select>`;
}

/** A value of the address; undefined where there is none. */
export function asked(url: URL, name: string): string | undefined {
  return url.searchParams.get(name)?.trim().slice(0, 200) || undefined;
}

export const dayMs = 86_400_000;

/** When the day that the address names begins (UTC), in ms; undefined: it names none. */
export function dayOf(url: URL, name: string): number | undefined {
  const ms = Date.parse(`${asked(url, name)}T00:00:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The address of this list with some values changed; null takes one out. */
export function addressWith(url: URL, changes: Readonly<Record<string, string | null>>): string {
  const values = new URLSearchParams([...url.searchParams].filter(([, value]) => value !== ''));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) values.delete(name);
    else values.set(name, value);
  }
  return values.size === 0 ? url.pathname : `${url.pathname}?${values.toString()}`;
}

/**
 * Links to the next and the first page of a list. @param key the name under which the address has
 * its place
 */
export function paging(url: URL, next: string | number | null, key = 'after'): Html | null {
  const isFirst = asked(url, key) === undefined;
  if (isFirst && next === null) return null;
  return html`<nav class="paging" aria-label="Pages of this list">
${isFirst ? null : html`<a href="${addressWith(url, { [key]: null })}" rel="first">First page</a>`}
${next === null ? html`<span class="faint">This is the end of the list.</span>` : html`<a href="${addressWith(url, { [key]: String(next) })}" rel="next">Next page</a>`}
</nav>`;
}

/** One of some values, or undefined for any other text. */
export function oneOf<Value extends string>(
  text: string | undefined,
  values: readonly Value[],
): Value | undefined {
  return values.find((value) => value === text);
}
