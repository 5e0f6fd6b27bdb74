import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';

const secure = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: ["'self'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
  referrerPolicy: 'same-origin',
  strictTransportSecurity: false,
});

/** The headers of every page: no scripts, no frames, nothing from other hosts, and nothing kept by the browser. */
export const pageHeaders: MiddlewareHandler = async (context, next) => {
  await secure(context, next);
  context.header('cache-control', 'no-store');
};
