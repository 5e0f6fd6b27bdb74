import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';
import { parse } from 'yaml';
import type { Web } from './admission.ts';
import { problemKinds } from './problem.ts';

/** The OpenAPI document, and a page of it that loads nothing from elsewhere. Neither needs a token. */
export function documentRoutes(version: string): Hono<Web> {
  const routes = new Hono<Web>();
  // Read when somebody asks for it: it would take longer than all the rest of the start of the
  // intake.
  let made: ReturnType<typeof makeDocuments> | null = null;
  const documents = () => (made ??= makeDocuments(version));
  routes.get('/openapi.json', (context) =>
    context.body(documents().json, 200, { 'content-type': 'application/json' }),
  );
  routes.use(
    '/docs',
    secureHeaders({
      // The page contains its style; nothing else is loaded or run.
      contentSecurityPolicy: { defaultSrc: ["'none'"], styleSrc: ["'unsafe-inline'"] },
      strictTransportSecurity: false,
    }),
  );
  routes.get('/docs', (context) => context.html(documents().page));
  return routes;
}

function makeDocuments(version: string) {
  const text = readFileSync(join(import.meta.dirname, 'openapi.yaml'), 'utf8');
  const document: OpenApi = parse(
    text.replace('version: "0"', () => `version: ${JSON.stringify(version)}`),
  );
  return { json: JSON.stringify(document, null, 2), page: documentPage(document) };
}

type Html = ReturnType<typeof html>;
type Content = { content?: Record<string, { examples?: Record<string, { value: unknown }> }> };
interface Operation {
  summary: string;
  description: string;
  requestBody?: Content;
  responses: Record<string, Content & { description: string }>;
}

/** What the page shows of `openapi.yaml`. */
interface OpenApi {
  info: { version: string; description: string };
  paths: Record<string, Record<string, Operation>>;
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{border:1px solid #8888;padding:.3rem .6rem;text-align:left}
pre{background:#8881;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}`;

/** A page of routes, examples and problem codes that loads and runs nothing. */
function documentPage({ info, paths }: OpenApi): Html {
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    ['post', 'get', 'delete'].flatMap((method) => {
      const operation = operations[method];
      return operation === undefined ? [] : [routeOf(`${method.toUpperCase()} ${path}`, operation)];
    }),
  );
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>order-sync: orders over HTTP</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>
<h1>Orders over HTTP</h1><p>order-sync ${info.version}. ${info.description} For programs: <a href="/openapi.json">openapi.json</a>.</p>
${routes}<h2>Problems</h2><p>A refused request is answered with <code>application/problem+json</code> (RFC 9457). Match on <code>code</code>.</p>
<table><tr><th>Code</th><th>HTTP</th><th>Meaning</th></tr>
${Object.entries(problemKinds).map(([code, { status, title }]) => html`<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td></tr>`)}
</table></body></html>`;
}

function routeOf(name: string, { summary, description, requestBody, responses }: Operation): Html {
  return html`<h2>${name}</h2><p>${summary}. ${description}</p>${examplesOf(requestBody)}
<table><tr><th>HTTP</th><th>Answer</th></tr>
${Object.entries(responses).map(([status, answer]) => html`<tr><td>${status}</td><td>${withLinks(answer.description)}${examplesOf(answer)}</td></tr>`)}
</table>`;
}

const examplesOf = ({ content = {} }: Content = {}): Html[] =>
  Object.values(content).flatMap(({ examples = {} }) =>
    Object.entries(examples).map(
      ([name, { value }]) => html`<p>${name}:</p><pre>${JSON.stringify(value, null, 2)}</pre>`,
    ),
  );

/** Codes of problems are in backticks. */
const withLinks = (text: string): Html[] =>
  text
    .split('`')
    .map((part, at) => (at % 2 === 0 ? html`${part}` : html`<a href="#${part}">${part}</a>`));
