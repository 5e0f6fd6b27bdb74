import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';
import { parse } from 'yaml';
import type { Web } from './admission.ts';
import { problemKinds } from './problem.ts';

/** The OpenAPI document, and a page that loads nothing from elsewhere. Neither needs a token. */
export function documentRoutes(version: string): Hono<Web> {
  const routes = new Hono<Web>();
  // Read when somebody asks for it: it would take longer than all the rest of the start of the
  // intake.
  let document: string | null = null;
  routes.get('/openapi.json', (context) => {
    document ??= JSON.stringify(parse(textOfDocument(version)), null, 2);
    return context.body(document, 200, { 'content-type': 'application/json' });
  });
  routes.use(
    '/docs',
    secureHeaders({
      // The page contains its style; nothing else is loaded or run.
      contentSecurityPolicy: { defaultSrc: ["'none'"], styleSrc: ["'unsafe-inline'"] },
      strictTransportSecurity: false,
    }),
  );
  routes.get('/docs', (context) => context.html(page(version)));
  return routes;
}

function textOfDocument(version: string): string {
  const text = readFileSync(join(import.meta.dirname, 'openapi.yaml'), 'utf8');
  return text.replace('version: "0"', () => `version: ${JSON.stringify(version)}`);
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{border:1px solid #8888;padding:.3rem .6rem;text-align:left}`;

function page(version: string): ReturnType<typeof html> {
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>order-sync: orders over HTTP</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>
<h1>Orders over HTTP</h1><p>order-sync ${version}. The routes are in <a href="/openapi.json">openapi.json</a>.</p>
<ul><li>An acknowledgement means: the order is on disk and will be bought exactly once.</li>
<li>If you get no answer, send the same request again: nothing is bought twice.</li>
<li>A request is accepted whole or not at all.</li></ul>
<h2>Problems</h2><p>A refused request is answered with <code>application/problem+json</code> (RFC 9457). Match on <code>code</code>.</p>
<table><tr><th>Code</th><th>HTTP</th><th>Meaning</th></tr>
${Object.entries(problemKinds).map(([code, { status, title }]) => html`<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td></tr>`)}
</table></body></html>`;
}
