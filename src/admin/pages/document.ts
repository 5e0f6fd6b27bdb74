import { html } from 'hono/html';
import { pageAssets } from './assets.ts';
import type { Html } from './html.ts';

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
