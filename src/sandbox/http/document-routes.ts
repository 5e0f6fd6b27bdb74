import { Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Web } from './api-routes.ts';
import { documentPage } from './document-page.ts';
import { openApiDocument } from './openapi.ts';

/** The OpenAPI document, and a page to read it that loads nothing from anywhere else. */
export function documentRoutes(): Hono<Web> {
  const app = new Hono<Web>();
  app.get('/openapi.json', (context) => context.json(openApiDocument(new URL(context.req.url).origin)));
  app.use(
    '/docs',
    secureHeaders({
      contentSecurityPolicy: { defaultSrc: ["'none'"], styleSrc: ["'self'"] },
      strictTransportSecurity: false,
    }),
  );
  app.get('/docs', (context) => context.html(documentPage(new URL(context.req.url).origin)));
  return app;
}
