import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { secretDigest } from '../../ops/callers.ts';

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

interface Assets {
  readonly icon: Asset;
  readonly styleSheet: Asset;
  /** The only script: it fetches the page again from time to time. */
  readonly script: Asset;
}

let kept: Assets | null = null;

/** The files that every page names. Read at the first page, because most runs of the program show none. */
export function pageAssets(): Assets {
  kept ??= {
    icon: readAsset('icon.svg', 'image/svg+xml'),
    styleSheet: readAsset('style.css', 'text/css; charset=utf-8'),
    script: readAsset('live.js', 'text/javascript; charset=utf-8'),
  };
  return kept;
}

/** The routes of these files. They hold nothing of the outbox, so they need no sign-in. */
export function assetRoutes(): Hono {
  const routes = new Hono();
  routes.get('/assets/:version/:name', (context) => {
    const asset = Object.values(pageAssets()).find(({ path }: Asset) => path === context.req.path);
    if (asset === undefined) return context.notFound();
    context.header('content-type', asset.type);
    context.header('cache-control', 'public, max-age=31536000, immutable');
    return context.body(asset.text);
  });
  return routes;
}
