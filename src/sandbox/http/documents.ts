import { Hono } from 'hono';
import { html } from 'hono/html';
import * as z from 'zod';
import { page } from '../account/account-pages.ts';
import { type ErrorCode, errorRows } from './answers.ts';
import { type ApiOperation, apiOperations } from './api-operations.ts';
import { openApiDocument } from './openapi.ts';
import { pageHeaders } from './page-headers.ts';
import type { Web } from './server.ts';

type Html = ReturnType<typeof html>;

/** The OpenAPI document, and a page to read it. The page loads nothing from other hosts. */
export function documentRoutes(): Hono<Web> {
  const app = new Hono<Web>();
  app.get('/openapi.json', (context) => context.json(openApiDocument(new URL(context.req.url).origin)));
  app.get('/docs', pageHeaders, (context) => context.html(documentPage(new URL(context.req.url).origin)));
  return app;
}

/** The API for people: each operation with its fields, an example of request and answer, and its errors. */
function documentPage(baseUrl: string): Html {
  return page(
    'Wholesale Ordering API',
    html`<h1>Wholesale Ordering API</h1>
<p>Base address: <code>${baseUrl}</code>. The same as a machine reads it: <a href="/openapi.json">openapi.json</a>. Your keys and balances: <a href="/account">account page</a>. What was sent and answered: <a href="/__sandbox/log">request log</a>, only on this machine.</p>
<h2>In short</h2><ul>
<li>Every request carries <code>Authorization: Bearer &lt;API_KEY&gt;</code>; one key works for both families.</li>
<li>Bodies are JSON (<code>Content-Type: application/json</code>). Amounts are decimal text.</li>
<li>A reference identifies one order, in both families together. Sending it again answers with that order and buys nothing.</li>
<li>An answer without <code>error</code> is a success, also when its status is <code>refunded</code>. When any error is returned, nothing was charged.</li>
<li>After a timeout, a dropped connection, 429 or 5xx: send the same call again, with the same reference.</li>
<li>Per key: 60 requests a minute; 20 orders, top-ups and cancels together a minute.</li></ul>
<h2>Try it</h2><pre>curl -s ${baseUrl}/orders -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(apiOperations[0]?.example.request)}'</pre>
<h2>Operations</h2><ul>${apiOperations.map((operation) => html`<li><a href="#${operation.operation}">${operation.summary}</a></li>`)}</ul>
${apiOperations.map(operationSection)}${errorsSection()}`,
  );
}

function operationSection(operation: ApiOperation): Html {
  const { request, answer } = operation.example;
  return html`<section id="${operation.operation}"><h3><code>${operation.method.toUpperCase()} ${operation.path}</code></h3>
<p><strong>${operation.summary}.</strong> ${withCode(operation.description)}${operation.given === true ? '' : html` <em>Method and path are assumed.</em>`}</p>
${operation.parameters.length === 0 ? '' : html`<table><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr>${operation.parameters.map((parameter) => html`<tr><td><code>${parameter.name}</code></td><td>${parameter.in}</td><td>${parameter.description}</td></tr>`)}</table>`}
${operation.request === undefined ? '' : html`${fieldsTable(operation.request)}<p>Example</p><pre>${JSON.stringify(request, null, 2)}</pre>`}
${Object.entries(operation.successes).map(([status, meaning]) => html`<p><code>${status}</code> ${meaning}</p>`)}
<details><summary>Example of the answer</summary><pre>${JSON.stringify(answer, null, 2)}</pre></details>
<p>Errors: ${operation.errors.map((code, index) => html`${index === 0 ? '' : ', '}<a href="#error-${code}"><code>${code}</code></a>`)}</p></section>`;
}

/** The parts of a JSON Schema that the table shows. */
const shownSchema = z.looseObject({
  properties: z.record(z.string(), z.looseObject({ type: z.string().optional(), description: z.string().optional() })),
  required: z.array(z.string()).default([]),
});

function fieldsTable(schema: z.ZodType): Html {
  const { properties, required } = shownSchema.parse(z.toJSONSchema(schema));
  const rows = Object.entries(properties);
  if (rows.length === 0) return html`<p>The body is empty, or <code>{}</code>.</p>`;
  return html`<table><tr><th>Field</th><th>Type</th><th>Required</th><th>Meaning</th></tr>
${rows.map(([name, { type, description }]) => html`<tr><td><code>${name}</code></td><td>${type ?? ''}</td><td>${required.includes(name) ? 'yes' : ''}</td><td>${withCode(description ?? '')}</td></tr>`)}</table>`;
}

function errorsSection(): Html {
  const shown = new Set<ErrorCode>();
  return html`<h2>Errors</h2><p>The body of every error: <code>{"error":{"code":"…","message":"…"}}</code>.</p>
<div class="scroll"><table><tr><th>HTTP</th><th>Code</th><th>Family</th><th>Meaning</th><th>What to do</th></tr>
${errorRows.map(({ status, code, family, meaning, action }) => {
  // `invalid_plan` has two rows; links lead to the first.
  const anchor = shown.has(code) ? '' : html` id="error-${code}"`;
  shown.add(code);
  return html`<tr${anchor}><td>${status}</td><td><code>${code}</code></td><td>${family}</td><td>${withCode(meaning)}</td><td>${withCode(action)}</td></tr>`;
})}</table></div>`;
}

/** Text with `names` in backticks, as the specification writes them. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
