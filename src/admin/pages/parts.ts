import { html } from 'hono/html';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { Html } from '../html/document.ts';

// The parts that pages are made of: sections, facts, tables, texts, links and the filters of lists.

type Cell = Html | string | number | null;

/** What belongs together, in a box with a title. @param more stands beside the title */
export function card(
  id: string,
  title: string,
  content: Html | null,
  more: Html | null = null,
): Html {
  return html`<section class="card" aria-labelledby="${id}"><div class="head"><h2 id="${id}">${title}</h2>${more}</div>
${content}</section>`;
}

/** An answer in one number. @param more stands below it */
export const answerCard = (title: string, answer: Html, more: Html | null = null): Html =>
  html`<li class="card"><h2>${title}</h2><p>${answer}</p>${more}</li>`;

/** A section that is closed until somebody opens it. */
export function foldedSection(id: string, title: string, content: Html): Html {
  return html`<details class="card folded"><summary><h2 id="${id}">${title}</h2></summary>
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

/** A word with a colour for what it means. @param meaning `good`, `open`, `warning`, `problem` or `ended` */
export const badge = (meaning: string, text: string | Html): Html =>
  html`<span class="badge is-${meaning}">${text}</span>`;

/** @param count of entries that are in it; one is not said */
export const stateMark = (state: EntryState, count = 1): Html =>
  badge(meaningOf[state], html`${many(count)}${state.replaceAll('_', ' ')}`);

/** `1,180.90 EUR`. */
export const money = (amount: string, currency: string): string =>
  `${amount.replaceAll(/\d(?=(?:\d{3})+\.)/g, '$&,')} ${currency}`;

/** `3 `; empty for one. */
export const many = (count: number): string => (count === 1 ? '' : `${count} `);

/** Names with their values; what is null is left out. */
export function factList(facts: readonly (readonly [name: string, value: Cell])[]): Html {
  return html`<dl class="facts">${facts.map(([name, value]) => (value === null ? null : html`<div><dt>${name}</dt><dd>${value}</dd></div>`))}</dl>`;
}

/** A number, or sums of money. */
const isAmount = (cell: Cell | undefined): boolean =>
  typeof cell === 'number' || (typeof cell === 'string' && /^[\d.,]+ [A-Z]{3}/.test(cell));

/**
 * A table in a box of its own. Where the page is narrow each row is a card, whose values have the
 * names of their columns.
 */
export function table(
  caption: string,
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
): Html {
  const numeric = header.map((_, at) => rows.some((row) => isAmount(row[at])));
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${header.map((name, at) => html`<th scope="col"${numeric[at] ? html` class="number"` : null}>${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr>${row.map((cell, column) => html`<td data-name="${header[column]}"${cell === null ? html` class="none${numeric[column] ? ' number' : ''}"` : isAmount(cell) ? html` class="number"` : null}>${cell ?? '-'}</td>`)}</tr>
`,
  )}</tbody>
</table></div>`;
}

/**
 * How long ago a time was; the time itself is shown where a pointer rests on it. @param say another
 * text than that
 */
export function timeText(time: string | number | null, nowMs: number, say = distanceText): Html {
  if (time === null) return html`-`;
  const iso = typeof time === 'number' ? isoTime(time) : time;
  return html`<time datetime="${iso}" title="${shortTime(iso)}">${say(nowMs - Date.parse(iso))}</time>`;
}

/** For how long something has been so. */
export const forText = (since: string | number, nowMs: number): Html =>
  timeText(since, nowMs, lengthText);

/** When something is done next: what is overdue is done now. */
export const dueText = (due: string | number | null, nowMs: number): Html =>
  timeText(due, nowMs, (agoMs) => distanceText(Math.min(0, agoMs)));

/** The time of day of an event; how long ago it was is shown where a pointer rests on it. */
export const clockText = (iso: string, nowMs: number): Html =>
  html`<time class="clock" datetime="${iso}" title="${distanceText(nowMs - Date.parse(iso))}, ${shortTime(iso)}">${iso.slice(11, 19)}</time>`;

function distanceText(agoMs: number): string {
  if (Math.abs(agoMs) < 1000) return 'now';
  return agoMs > 0 ? `${lengthText(agoMs)} ago` : `in ${lengthText(-agoMs)}`;
}

/** Minutes matter beside hours, and seconds beside nothing. */
const lengthText = (ms: number): string =>
  shortDuration(Math.max(0, ms)).replace(/ min .*/, ' min');

/** A text of a length that others decide: a long one is cut, and shown whole when it is opened. */
export function longText(text: string, length = 160): Html {
  if (text.length <= length) return html`<span class="text">${text}</span>`;
  return html`<details class="long"><summary><span class="text">${text.slice(0, length)}…</span></summary><p class="text">${text}</p></details>`;
}

/** A value that people paste elsewhere: the script of the pages puts a button beside it. */
export const copied = (text: string): Html => html`<span class="code" data-copy>${text}</span>`;

/** `1 line`, `17 lines`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

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

/** A choice of a filter. @param count how many fit */
type Choice = readonly [value: string, text: string | Html, count?: number | undefined];

interface Filters {
  /** Links by their names in the address: their title and choices; an empty value takes it out. */
  readonly links?: Readonly<Record<string, readonly [title: string, ...choices: Choice[]]>>;
  /** The labels of the fields of a form, by their names in the address. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * A list with its filter beside it; on a narrow page the filter is folded above it. Both lead to an
 * address: everybody who opens it sees the same list.
 */
export function filtered(url: URL, { links = {}, fields }: Filters, list: Html): Html {
  const valueOf = (name: string) => asked(url, name) ?? '';
  const set = Object.keys({ ...links, ...fields }).filter(valueOf).length;
  const kept = Object.keys(links).filter((name) => !(name in fields) && valueOf(name) !== '');
  return html`<div class="split"><details class="filters"><summary class="button">Filter${set === 0 ? null : html` <span class="count">${set}</span>`}</summary><div class="card">
${Object.entries(links).map(([name, [title, ...choices]]) => html`<h2 id="by-${name}">${title}</h2><ul aria-labelledby="by-${name}">${choices.map((choice) => choiceLink(url, name, choice))}</ul>`)}
<form method="get" action="${url.pathname}" role="search" aria-label="Filter">
${kept.map((name) => html`<input type="hidden" name="${name}" value="${valueOf(name)}">`)}
${Object.entries(fields).map(([name, label]) => html`<div><label for="filter-${name}">${label}</label><input type="${/^(?:day|from|to)$/.test(name) ? 'date' : 'text'}" id="filter-${name}" name="${name}" value="${valueOf(name)}" maxlength="200"></div>`)}
<p class="actions"><button type="submit">Show</button> <a href="${url.pathname}">Everything</a></p>
</form></div></details><div class="list">${list}</div></div>`;
}

function choiceLink(url: URL, name: string, [value, text, count]: Choice): Html {
  const isChosen = (asked(url, name) ?? '') === value;
  const path = addressWith(url, { [name]: value || null, after: null, before: null });
  return html`<li><a href="${path}"${isChosen ? html` aria-current="true"` : null}>${text}${count === undefined ? null : html` <span class="number">${count}</span>`}</a></li>`;
}

/** A choice for each shop. */
export const shopLinks = (
  names: readonly string[],
  countOf: (source?: string) => number | undefined = () => undefined,
) =>
  [
    'Shop',
    ...['', ...names].map(
      (name): Choice => [name, name || 'Every shop', countOf(name || undefined)],
    ),
  ] as const;

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
