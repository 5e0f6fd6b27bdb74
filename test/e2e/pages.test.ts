import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { faultless, faultsOf } from '../support/page-faults.ts';
import { Installation, order, type WorkerProcess } from '../support/worker-process.ts';

/** Debian's; no browser is downloaded. */
const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const token = 'the-token-of-anna-0001';
/** The first two in all detail: the others show the same elements in the same colours. */
const views: readonly (readonly [string, BrowserContextOptions, 'all' | 'width'])[] = [
  ['wide and light', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' }, 'all'],
  ['narrow and dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }, 'all'],
  [
    'narrow and light without JavaScript',
    { viewport: { width: 360, height: 740 }, javaScriptEnabled: false },
    'width',
  ],
  [
    'wide and dark without JavaScript',
    { viewport: { width: 1440, height: 900 }, colorScheme: 'dark', javaScriptEnabled: false },
    'width',
  ],
  ['on a 4k screen', { viewport: { width: 3840, height: 2160 }, colorScheme: 'light' }, 'width'],
];
const paths = [
  '/',
  '/attention',
  '/orders',
  '/orders?state=fulfilled',
  '/orders/shop/1006',
  '/deliveries',
  '/deliveries?status=given_up',
  '/numbers',
  '/audit',
  '/config',
  '/nothing-here',
];

describe.skipIf(browserPath === undefined)(
  'the pages in a browser (needs /usr/bin/chromium)',
  () => {
    let place: Installation;
    let worker: WorkerProcess;
    let browser: Browser;
    let address: string;

    beforeAll(async () => {
      place = await Installation.open();
      place.configure((config) => {
        config.admin.tokens = [
          { name: 'anna', role: 'operator', value: token },
          { name: 'wall-screen', role: 'viewer', value: 'the-token-of-the-screen' },
        ];
      });
      const broken = { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 0 };
      const missing = {
        line_id: '2',
        type: 'gift_card_order',
        variant: 'no-such-card',
        quantity: 1,
      };
      const mixed = JSON.stringify({
        source: 'shop',
        order_id: '1006',
        currency: 'USD',
        lines: [broken, missing],
      });
      const good = [1001, 1002, 1003, 1004, 1005].map(order);
      place.drop('orders.ndjson', `${good.join('\n')}\n`);
      worker = place.start();
      address = String((await worker.started())['admin']);
      // Until a lookup has found an order, a rejection needs review.
      await worker.line(({ msg }) => msg.startsWith('lookups work'));
      place.drop('mixed.ndjson', `${mixed}\n`);
      await worker.line(({ msg, order_id: id }) => msg === 'result delivered' && id === '1005');
      await worker.line(
        ({ msg, order_id: id, state }) =>
          msg === 'result delivered' && id === '1006' && state === 'failed',
      );
      browser = await chromium.launch({
        executablePath: browserPath ?? '',
        args: ['--no-sandbox'],
      });
    });
    afterAll(async () => {
      await browser?.close();
      await place?.close();
    });

    /** A page of somebody who signed in with the form, and what its console complained about. */
    async function signedIn(
      options: BrowserContextOptions = {},
    ): Promise<{ page: Page; complaints: string[] }> {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('pageerror', (error) => void complaints.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' && !message.text().includes('status of 40'))
          complaints.push(message.text());
      });
      await page.goto(`http://${address}/orders`);
      expect(await faultsOf(page, 'width')).toEqual(faultless);
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
      return { page, complaints };
    }

    it.each(views)('are all usable %s', { timeout: 240_000 }, async (_, options, judged) => {
      const { page, complaints } = await signedIn(options);
      await page.goto(`http://${address}/attention`);
      const review = await page
        .locator('.causes a[href^="/attention/review"]')
        .first()
        .getAttribute('href');
      for (const path of [...paths, review ?? '']) {
        const answer = await page.goto(`http://${address}${path}`);
        expect([path, answer?.status()]).toEqual([path, path === '/nothing-here' ? 404 : 200]);
        expect([path, await faultsOf(page, judged)]).toEqual([path, faultless]);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    it('lead from the overview to why order 1006 was not delivered, without JavaScript', async () => {
      const { page } = await signedIn({ javaScriptEnabled: false });
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('link', { name: 'shop/1006' }).first().click();
      await page.getByText('invalid_variant').first().waitFor();
      await page.getByText('must be at least 1').first().waitFor();
      await page.getByRole('navigation', { name: 'Pages' }).getByText('Orders').click();
      await page.getByRole('link', { name: 'fulfilled' }).click();
      await page.waitForURL(/state=fulfilled/);
      expect(await page.locator('tbody tr').count()).toBe(5);
      await page.context().close();
    });

    it.each([
      ['with', true],
      ['without', false],
    ])(
      'stop everything and resume it %s JavaScript, and say who did',
      async (_, javaScriptEnabled) => {
        const { page } = await signedIn({
          javaScriptEnabled,
          viewport: { width: 360, height: 740 },
        });
        await page.goto(`http://${address}/`);
        const decide = async (title: string, reason: string): Promise<void> => {
          await page.getByText(title, { exact: true }).first().click();
          const form = page
            .locator('form', { has: page.getByRole('button', { name: title }) })
            .first();
          expect(await faultsOf(page, javaScriptEnabled ? 'all' : 'width')).toEqual(faultless);
          if (title === 'Pause buying') await form.getByLabel('Scope').fill('account');
          await form.getByLabel('Why, for the audit log').fill(reason);
          await form.getByRole('button', { name: title }).click();
        };
        await decide('Pause buying', 'the shop sells at wrong prices');
        await page.goto(`http://${address}/`);
        await page.getByText('Buying is stopped: everything is paused').waitFor();
        await decide('Resume', 'prices are right again');
        await page.goto(`http://${address}/audit?actor=page:anna`);
        await page.getByText('the shop sells at wrong prices', { exact: true }).first().waitFor();
        expect(await page.locator('tbody tr').count()).toBeGreaterThanOrEqual(2);
        await page.context().close();
      },
    );

    it('find the order of a customer, and show its code to who says why', async () => {
      const { page } = await signedIn({ javaScriptEnabled: false });
      await page.locator('#filter-search').fill('1003');
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.getByRole('link', { name: 'shop/1003' }).click();
      await page.getByText('1 delivered, not shown here').waitFor();
      const [stored] = place.query<{ units: string }>(
        "SELECT e.units FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id WHERE r.order_id = '1003'",
      );
      const code =
        /"code":"([^"]+)"/.exec(stored?.units ?? '')?.[1] ?? 'the code is not stored as it was';
      expect(await page.content()).not.toContain(code);
      await page.getByText('Show the codes', { exact: true }).first().click();
      await page
        .getByLabel('Why, for the audit log')
        .first()
        .fill('the customer says that it is wrong');
      await page.getByRole('button', { name: 'Show the codes' }).click();
      await page.getByText(code).first().waitFor();
      await page.goto(`http://${address}/audit?actor=page:anna`);
      await page.getByText('the customer says that it is wrong', { exact: true }).first().waitFor();
      await page.context().close();
    });

    it('refresh by themselves, but not under the hands of an operator', async () => {
      const { page } = await signedIn();
      await page.clock.install();
      await page.goto(`http://${address}/orders`);
      const arrive = async (id: number): Promise<void> => {
        place.drop(`${id}.ndjson`, order(id));
        await worker.line(
          (line) => line.msg === 'result delivered' && line['order_id'] === String(id),
        );
      };
      await arrive(2001);
      await page.clock.runFor(5000);
      await page.getByRole('link', { name: 'shop/2001' }).waitFor();

      await page.locator('#filter-search').fill('sh');
      await arrive(2002);
      await page.clock.runFor(60_000);
      expect(await page.getByRole('link', { name: 'shop/2002' }).count()).toBe(0);
      expect(await page.locator('#filter-search').inputValue()).toBe('sh');

      await page.locator('#filter-search').fill('');
      await page.getByRole('button', { name: '30 s' }).click();
      await page.clock.runFor(31_000);
      await page.getByRole('link', { name: 'shop/2002' }).waitFor();

      await page.getByRole('button', { name: 'Off' }).click();
      await arrive(2003);
      await page.clock.runFor(120_000);
      expect(await page.getByRole('link', { name: 'shop/2003' }).count()).toBe(0);
      await page.context().close();
    });

    it('keep the focus, the scroll and what is opened when they refresh', async () => {
      const { page } = await signedIn({ viewport: { width: 390, height: 500 } });
      await page.clock.install();
      await page.goto(`http://${address}/`);
      await page.getByText('Sending and balance', { exact: true }).click();
      await page.getByRole('link', { name: 'The list' }).focus();
      await page.evaluate('window.scrollTo(0, 300)');
      const shown = await page.locator('main').elementHandle();
      const asked = page.waitForResponse(`http://${address}/`);
      await page.evaluate("document.querySelector('.causes, .card p').dataset.old = 'yes'");
      await page.clock.runFor(5000);
      await asked;
      await page.locator('[data-old]').waitFor({ state: 'detached' });
      expect(await shown?.evaluate('document.activeElement.textContent')).toBe('The list');
      expect(await page.evaluate('window.scrollY')).toBe(300);
      expect(await page.locator('details.folded').getAttribute('open')).toBe('');
      await page.context().close();
    });

    it('say that somebody was signed out, instead of showing old numbers as new', async () => {
      const { page } = await signedIn();
      await page.clock.install();
      await page.goto(`http://${address}/`);
      await page.context().clearCookies();
      await page.clock.runFor(5000);
      await page.getByText('You are signed out.').waitFor();
      await page.goto(`http://${address}/`);
      expect(await faultsOf(page)).toEqual(faultless);
      await page.context().close();
    });

    it('can be used with the keyboard: the first key leads past the navigation', async () => {
      const { page } = await signedIn();
      await page.goto(`http://${address}/`);
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('To the content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
      await page.keyboard.press('Tab');
      expect(
        await page.evaluate("document.querySelector('main').contains(document.activeElement)"),
      ).toBe(true);
      await page.context().close();
    });

    it('say that the API does not answer, since when, and how much waits', async () => {
      // Nothing listens on this port.
      const down = await Installation.open({ api: 'http://127.0.0.1:1' });
      onTestFinished(() => down.close());
      down.drop('orders.ndjson', `${[1, 2, 3, 4, 5].map(order).join('\n')}\n`);
      const without = down.start();
      const where = String((await without.started())['admin']);
      await without.line(({ msg }) => msg.includes('paused'));
      const page = await browser.newPage();
      await page.goto(`http://${where}/`);
      const status = page.locator('.status', { hasText: 'Waiting: 5 orders' });
      const state = await status.innerText();
      expect(state).toMatch(/What to do: /);
      expect(state).toMatch(/Buying is stopped: the supplier does not answer/);
      expect(state).toMatch(
        /For \d+ s\. Waiting: 5 orders, 5 lines of unknown cost, the oldest for \d+ s\. Tried again/,
      );
      await page.close();
    });
  },
);
