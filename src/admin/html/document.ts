import { html } from 'hono/html';
import { pageAssets } from './assets.ts';

/** Escaped HTML. Only `html` of hono makes it: every value in a template is escaped, unless it is `Html` itself. */
export type Html = ReturnType<typeof html>;

/** A whole HTML document. */
export function htmlDocument(title: string, body: Html, options: { readonly again?: boolean } = {}): Html {
  const { icon, styleSheet, script } = pageAssets();
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${options.again === true ? html`<meta http-equiv="refresh" content="0">` : null}
<title>${title}</title>
<link rel="icon" href="${icon.path}">
<link rel="stylesheet" href="${styleSheet.path}">
<script src="${script.path}" defer></script>
</head>
<body>
${body}
</body>
</html>`;
}

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
