import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { secretDigest } from '../../ops/known-tokens.ts';

const folder = join(import.meta.dirname, 'assets');

interface Asset {
  /** With the digest of its content, so that a browser may keep it and never has an old one. */
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

function readAsset(name: string, type: string): Asset {
  const text = readFileSync(join(folder, name), 'utf8');
  const version = secretDigest(text).toString('hex').slice(0, 12);
  return { path: `/assets/${version}/${name}`, type, text };
}

/** The only style sheet, and the only script: it fetches the page again from time to time. */
export const styleSheet = readAsset('style.css', 'text/css; charset=utf-8');
export const script = readAsset('live.js', 'text/javascript; charset=utf-8');

/** The files that every page names. They hold nothing of the outbox, so they need no sign-in. */
export function assetRoutes(): Hono {
  const routes = new Hono();
  for (const { path, type, text } of [styleSheet, script]) {
    routes.get(path, (context) => {
      context.header('content-type', type);
      context.header('cache-control', 'public, max-age=31536000, immutable');
      return context.body(text);
    });
  }
  return routes;
}
