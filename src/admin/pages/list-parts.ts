import { html } from 'hono/html';
import type { Html } from '../html/document.ts';

/** One field of the filter of a list. */
export type FilterField = {
  readonly name: string;
  readonly label: string;
  readonly value: string;
} & (
  | { readonly kind: 'text' | 'date' | 'search' }
  | { readonly kind: 'choice'; readonly choices: readonly (readonly [value: string, text: string])[] }
);

/** The filter of a list, as a form that leads to an address: everybody who opens it sees the same list. */
export function filterForm(path: string, fields: readonly FilterField[]): Html {
  return html`<form class="line" method="get" action="${path}" role="search" aria-label="Filter">
${fields.map(
  (field) => html`<div><label for="filter-${field.name}">${field.label}</label><br>${inputFor(field)}</div>
`,
)}<div><button type="submit">Show</button> <a href="${path}">Everything</a></div>
</form>`;
}

function inputFor(field: FilterField): Html {
  const { name, value, kind } = field;
  if (kind !== 'choice') {
    return html`<input type="${kind}" id="filter-${name}" name="${name}" value="${value}" maxlength="200">`;
  }
  return html`<select id="filter-${name}" name="${name}">${field.choices.map(
    ([choice, text]) => html`<option value="${choice}"${choice === value ? html` selected` : null}>${text}</option>`,
  )}</select>`;
}

/** A value of the address; undefined where there is none. */
export function asked(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name)?.trim();
  return value === undefined || value === '' ? undefined : value.slice(0, 200);
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

/** Links to the next and the first page of a list. `key`: the name under which the address has its place. */
export function paging(
  url: URL,
  key: string,
  next: string | null,
  names: { readonly first: string; readonly next: string },
): Html | null {
  const isFirst = asked(url, key) === undefined;
  if (isFirst && next === null) return null;
  return html`<nav class="paging" aria-label="Pages of this list">
${isFirst ? null : html`<a href="${addressWith(url, { [key]: null })}" rel="first">${names.first}</a>`}
${next === null ? html`<span class="faint">This is the end of the list.</span>` : html`<a href="${addressWith(url, { [key]: next })}" rel="next">${names.next}</a>`}
</nav>`;
}

/** One of some values, or undefined for any other text. */
export function oneOf<Value extends string>(text: string | undefined, values: readonly Value[]): Value | undefined {
  return values.find((value) => value === text);
}
