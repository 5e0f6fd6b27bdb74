import { html } from 'hono/html';
import type { Html } from './html.ts';

type Cell = Html | string | number | null;

/** A table in a box of its own, which scrolls where the page is narrow. */
export function table(caption: string, header: readonly string[], rows: readonly (readonly Cell[])[]): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${header.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>${row.map((cell) => html`<td>${cell ?? '-'}</td>`)}</tr>
`,
  )}</tbody>
</table></div>`;
}
