import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { faultless, faultsOf } from '../support/page-faults.ts';
import { Installation, order } from '../support/worker-process.ts';

const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const token = 'the-token-of-anna-0001';
const reason = 'asked by the shop';

const views: readonly (readonly [string, BrowserContextOptions])[] = [
  ['wide and light', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' }],
  ['narrow and dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
  [
    'narrow without JavaScript',
    { viewport: { width: 360, height: 740 }, javaScriptEnabled: false, colorScheme: 'light' },
  ],
];

/** Opens a form by its title, fills it in and sends it. */
async function decideOn(
  page: Page,
  hasScript: boolean,
  title: string,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  const action = page
    .locator('details.action')
    .filter({ has: page.locator('summary', { hasText: title }) })
    .first();
  await action.locator('summary').click();
  for (const [name, value] of Object.entries(fields))
    await action.locator(`[name="${name}"]`).fill(value);
  expect(await faultsOf(page, hasScript ? 'all' : 'width')).toEqual(faultless);
  await action.locator('button').click();
}

describe.skipIf(browserPath === undefined)(
  'deciding in a browser (needs /usr/bin/chromium)',
  () => {
    let place: Installation;
    let browser: Browser;
    let address: string;

    beforeAll(async () => {
      place = await Installation.open();
      place.configure((config) => {
        config.admin.tokens = [{ name: 'anna', role: 'operator', value: token }];
      });
      const missing = { line_id: '1', type: 'gift_card_order', quantity: 1 };
      const refused = views.map((_, index) =>
        JSON.stringify({
          source: `shop${index}`,
          order_id: '2001',
          currency: 'USD',
          // Three of one product would pause it.
          lines: [{ ...missing, variant: `no-such-card-${index}` }],
        }),
      );
      place.drop('first.ndjson', `${order(1001)}\n`);
      const worker = place.start();
      address = String((await worker.started())['admin']);
      // Until a lookup has found an order, a rejection needs review.
      await worker.line(({ msg }) => msg.startsWith('lookups work'));
      place.drop('orders.ndjson', `${refused.join('\n')}\n`);
      for (const source of ['shop', ...views.map((_, index) => `shop${index}`)])
        await worker.line((line) => line.msg === 'result delivered' && line['source'] === source);
      browser = await chromium.launch({
        executablePath: browserPath ?? '',
        args: ['--no-sandbox'],
      });
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await place?.close();
    });

    it.each(views)(
      'pauses, shows codes, delivers again, orders again and acknowledges: %s',
      async (name, options) => {
        const permissions = ['clipboard-read', 'clipboard-write'];
        const context = await browser.newContext({ ...options, permissions });
        onTestFinished(() => context.close());
        const page = await context.newPage();
        const hasScript = options.javaScriptEnabled !== false;
        const decide = (title: string, fields: Readonly<Record<string, string>> = {}) =>
          decideOn(page, hasScript, title, fields);
        const go = (path: string) => page.goto(`http://${address}${path}`);
        const text = (selector: string) => page.locator(selector).first().innerText();
        await go('/');
        await page.locator('[name="token"]').fill(token);
        await page.locator('button[type="submit"]').click();

        await decide('Pause buying', { scope: 'account', reason });
        expect(await text('main')).toContain(`page:anna: ${reason}`);
        await decide('Resume', { reason });
        expect(await text('main')).not.toContain(`page:anna: ${reason}`);

        await go('/orders/shop/1001');
        await decide('Show the codes', { reason });
        expect(await text('h1')).toBe('Delivered codes');
        const copy = page.getByRole('button', { name: /^Copy / });
        const code = await text('main [data-copy]');
        const copyFirst = async (): Promise<unknown> => {
          await copy.first().click();
          await page.getByText('Copied', { exact: true }).waitFor();
          return await page.evaluate('navigator.clipboard.readText()');
        };
        expect(hasScript ? await copyFirst() : code).toBe(code);
        expect((await copy.count()) > 0).toBe(hasScript);
        expect(await faultsOf(page, hasScript ? 'all' : 'width')).toEqual(faultless);
        await go('/orders/shop/1001');
        await decide('Deliver again', { reason });
        expect(new URL(page.url()).pathname).toBe('/orders/shop/1001');

        const source = `shop${views.findIndex(([view]) => view === name)}`;
        await go(`/attention?source=${source}`);
        await decide('Acknowledge all of them');
        expect(await text('main')).toContain('1 rows would leave the list: 1 rejected');
        expect(await faultsOf(page, hasScript ? 'all' : 'width')).toEqual(faultless);
        await page.locator('main [name="reason"]').fill(reason);
        await page.locator('main form button').click();
        expect(await text('main')).toContain('1 rows left the attention list');
        expect(await faultsOf(page, hasScript ? 'all' : 'width')).toEqual(faultless);

        const own = `/orders/${source}/2001`;
        await go(own);
        const reference = await text('article [data-copy]');
        await decide('Order again', { reason, confirm: 'another' });
        expect([await text('h1'), (await text('main')).includes('was not confirmed')]).toEqual([
          'Not done',
          true,
        ]);
        await decide('Order again', { reason, confirm: reference });
        expect(new URL(page.url()).pathname).toBe(own);
        expect(await page.locator('article').count()).toBe(2);

        await go(`/audit?subject=${reference}`);
        const log = await text('main');
        for (const action of ['acknowledge', 'reorder', 'page:anna', reason])
          expect(log).toContain(action);
      },
      120_000,
    );
  },
);
