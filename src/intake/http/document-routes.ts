import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import { parse } from 'yaml';
import type { Web } from './admission.ts';
import { documentPage, type OpenApi } from './document-page.ts';

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
