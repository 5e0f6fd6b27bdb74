import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorToken, startPages } from '../admin/pages/running-pages.ts';
import { openOutbox } from '../cli/sample-outbox.ts';
import { nowMs, type Installation } from '../cli/installation.ts';
import type { OutboxReader } from '../../src/store/read/outbox-reader.ts';
import { explainQueue } from '../../src/buying/queue/explain-queue.ts';
import { fillBusyShop } from '../support/busy-shop.ts';
import { projectRoot } from '../support/worker-process.ts';

const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
/**
 * `UPDATE_IMAGES=1` makes the pictures of docs/pages.md; `UPDATE_IMAGES=<folder>` puts those of every
 * page, width and scheme into that folder.
 */
const asked = process.env['UPDATE_IMAGES'];
const isForDocs = asked === '1';
const folder = isForDocs ? join(projectRoot, 'docs/images') : (asked ?? '');

const wide = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };
const schemes = ['light', 'dark'] as const;
/** The pages by their pictures. @see shownInDocs */
const paths: Readonly<Record<string, string>> = {
  overview: '/',
  attention: '/attention',
  orders: '/orders',
  order: '/orders/main/1249',
  deliveries: '/deliveries',
  numbers: '/numbers',
  'not-found': '/orders/main/none',
};
const shownInDocs = new Set([
  'overview-1280-light',
  'overview-390-light',
  'overview-1280-dark',
  'attention-1280-light',
  'attention-390-dark',
  'orders-1280-light',
  'orders-390-light',
  'order-1280-light',
  'order-390-dark',
  'numbers-1280-light',
  'empty-1280-light',
  'sign-in-390-light',
]);

const explained = (read: OutboxReader) =>
  explainQueue({ read, nowMs, maxUnknownOutcomes: 8, minFreeBytes: 0, worker: null });
const values = [
  ['intake.folders.0.inbox', '/srv/keyshop/inbox'],
  ['intake.webhook.listen', '127.0.0.1:8080'],
].map(([path = '', value]) => ({ path, value, source: 'file' as const, place: '' }));

describe.runIf(asked !== undefined && browserPath !== undefined)(
  'the pictures of the pages',
  () => {
    let browser: Browser;
    beforeAll(async () => {
      mkdirSync(folder, { recursive: true });
      browser = await chromium.launch({
        executablePath: browserPath ?? '',
        args: ['--no-sandbox'],
      });
    });
    afterAll(() => browser?.close());

    /** Returns the files of the pictures. */
    async function take(address: string, cookie: string, shown: Readonly<Record<string, string>>) {
      const taken: string[] = [];
      for (const viewport of [wide, phone])
        for (const colorScheme of schemes) {
          const context = await browser.newContext({
            viewport,
            colorScheme,
            extraHTTPHeaders: cookie === '' ? {} : { cookie },
          });
          const page = await context.newPage();
          for (const [name, path] of Object.entries(shown)) {
            const picture = `${name}-${viewport.width}-${colorScheme}`;
            if (isForDocs && !shownInDocs.has(picture)) continue;
            await page.goto(`http://${address}${path}`);
            const file = join(folder, `pages-${picture}.${isForDocs ? 'jpg' : 'png'}`);
            await page.screenshot(
              isForDocs
                ? { path: file, type: 'jpeg', quality: 62 }
                : { path: file, fullPage: true },
            );
            taken.push(file);
          }
          await context.close();
        }
      return taken;
    }

    /** The pages as a running worker answers. */
    async function start(fill: (place: Installation) => Promise<void>) {
      const pages = await startPages({
        fill,
        decides: true,
        sources: {
          instance: 'keyshop',
          environment: 'production',
          explainQueue: () => ({ ...explained(pages.store.read), notes: [] }),
          configInUse: () => ({ values, digests: new Map(), readAtMs: nowMs }),
        },
      });
      return pages;
    }

    it('are made of a busy shop', { timeout: 300_000 }, async () => {
      const busy = await start(fillBusyShop);
      const cookie = (await busy.as(operatorToken)).headers.cookie;
      expect(await take(busy.address, cookie, paths)).not.toEqual([]);
      expect(await take(busy.address, '', { 'sign-in': '/' })).not.toEqual([]);
    });

    it('are made of a shop without an order', { timeout: 120_000 }, async () => {
      const empty = await start((place) => openOutbox(place).close());
      const cookie = (await empty.as(operatorToken)).headers.cookie;
      expect(await take(empty.address, cookie, { empty: '/' })).not.toEqual([]);
    });
  },
);
