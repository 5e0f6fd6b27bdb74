import type { html } from 'hono/html';

/** Escaped HTML. Only `html` of hono makes it: every value in a template is escaped, unless it is `Html` itself. */
export type Html = ReturnType<typeof html>;
