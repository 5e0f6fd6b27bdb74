import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { secretDigest } from '../../ops/callers.ts';

/**
 * Escaped HTML. Only `html` of hono makes it: every value in a template is escaped, unless it is
 * `Html` itself.
 */
export type Html = ReturnType<typeof html>;

const folder = join(import.meta.dirname, 'assets');
/** The files that every page names. The only script fetches the page again from time to time. */
const types = {
  'icon.svg': 'image/svg+xml',
  'style.css': 'text/css; charset=utf-8',
  'live.js': 'text/javascript; charset=utf-8',
} as const;
type AssetName = keyof typeof types;

/** Read at the first page, because most runs of the program show none. */
const kept = new Map<string, { readonly path: string; readonly text: string }>();

/**
 * The path has the digest of the content, so that a browser may keep it and never has an old one.
 */
function asset(name: AssetName): { readonly path: string; readonly text: string } {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(join(folder, name), 'utf8');
  const read = { path: `/assets/${secretDigest(text).toString('hex').slice(0, 12)}/${name}`, text };
  kept.set(name, read);
  return read;
}

/** The routes of these files. They hold nothing of the outbox, so they need no sign-in. */
export function assetRoutes(): Hono {
  const routes = new Hono();
  routes.get('/assets/:version/:name', (context) => {
    const name = context.req.param('name');
    if (!isAsset(name) || asset(name).path !== context.req.path) return context.notFound();
    context.header('content-type', types[name]);
    context.header('cache-control', 'public, max-age=31536000, immutable');
    return context.body(asset(name).text);
  });
  return routes;
}

const isAsset = (name: string): name is AssetName => Object.hasOwn(types, name);

/** A whole HTML document. @param again whether the page asks for itself once more, at once */
export function htmlDocument(title: string, body: Html, again = false): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${again ? html`<meta http-equiv="refresh" content="0">` : null}
<title>${title}</title>
<link rel="icon" href="${asset('icon.svg').path}">
<link rel="stylesheet" href="${asset('style.css').path}">
<script src="${asset('live.js').path}" defer></script>
</head>
<body>
${body}
</body>
</html>`;
}

/** What a page says of its worker, also before anybody has signed in. */
export interface ShownWorker {
  readonly instance: string;
  readonly environment: 'sandbox' | 'production';
}

/** Which kind of worker it is: who mistakes one for the other may spend money. */
export const environmentBar = ({ environment }: ShownWorker): Html =>
  html`<p class="environment ${environment}">${
    environment === 'sandbox'
      ? html`<strong>Sandbox</strong>: no real money is spent, and no code can be redeemed`
      : html`<strong>Production</strong>: orders here spend money`
  }</p>`;
