import { Buffer } from 'node:buffer';
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPages, operatorToken } from '../admin/pages/running-pages.ts';
import { fillOutbox, line, openOutbox } from '../cli/sample-outbox.ts';
import { nowMs, type Installation } from '../cli/installation.ts';

const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const phone = { width: 390, height: 844 };
const laptop = { width: 1280, height: 900 };
const causes = ['unknown_sku', 'invalid_field', 'id_mangled', 'duplicate_line', 'missing_field', 'unreadable'] as const;
const pauses = ['balance:EUR', 'variant:steam-10', 'key:main'];

/** 500 orders, 48 problems of six causes in three shops, and three pauses. */
async function fill(place: Installation): Promise<void> {
  const store = openOutbox(place);
  const lines = Array.from({ length: 500 }, (_, index) =>
    line(String(index), '1', { variant: index % 2 === 0 ? 'steam-10' : 'steam-20', quantity: 1 }),
  );
  const rejections = Array.from({ length: 48 }, (_, index) => ({
    lineNumber: index,
    source: `shop${index % 3}`,
    orderId: `refused-${index}`,
    lineId: '1',
    code: causes[index % causes.length] ?? '',
    field: 'quantity',
    rule: 'must be a whole number of at least 1, and at most as many as the catalogue allows for this product',
    value: '0',
  }));
  await store.intake.acceptBatch({ nowMs: nowMs - 3_600_000, fileId: null, lines, rejections });
  for (const scope of pauses)
    await store.submission.pauses.open({
      scope,
      reason: 'insufficient_balance',
      message: 'Three orders in a row were refused: the balance is too low for any of them',
      openedBy: 'worker',
      probeAtMs: nowMs + 60_000,
      nowMs: nowMs - 3_600_000,
    });
  await store.close();
}

describe.skipIf(browserPath === undefined)('the pages on a phone (needs /usr/bin/chromium)', () => {
  let browser: Browser;
  let address = '';
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: browserPath ?? '', args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());

  async function open(viewport: typeof phone, path: string) {
    const pages = await startPages({ fill, decides: true });
    address = `http://${pages.address}`;
    const { headers } = await pages.as(operatorToken);
    const context = await browser.newContext({ viewport, extraHTTPHeaders: headers });
    const page = await context.newPage();
    await page.goto(`${address}${path}`);
    if (process.env['PICTURES'] !== undefined)
      await page.screenshot({
        path: `${process.env['PICTURES']}/${viewport.width}${path.replaceAll('/', '-')}.png`,
        fullPage: true,
      });
    const heightOf = (selector: string) =>
      page
        .locator(selector)
        .evaluateAll((found: { offsetHeight: number }[]) => found.map(({ offsetHeight }) => offsetHeight));
    return { page, heightOf, bytes: Buffer.byteLength(await page.content()) };
  }

  it.each([
    [phone, 2000],
    [laptop, 1400],
  ])('show the overview in one glance at %o', async (viewport, most) => {
    const { heightOf, page } = await open(viewport, '/');
    const [height = 0] = await heightOf('body');
    expect(height).toBeGreaterThan(300);
    expect(height).toBeLessThanOrEqual(most);
    await page.close();
  });

  it.each(['/attention', '/attention?kind=refused_line&code=unknown_sku', '/orders', '/deliveries', '/audit'])(
    'keep each row of %s short, and nothing beside the screen',
    async (path) => {
      const { heightOf, page, bytes } = await open(phone, path);
      expect(bytes).toBeLessThan(60_000);
      const rows = await heightOf('tbody tr');
      expect(Math.max(0, ...rows)).toBeLessThanOrEqual(160);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(phone.width);
      await page.close();
    },
  );

  it('show what to do and the decision for all rows of a cause on the screen', async () => {
    const { page } = await open(phone, '/attention');
    expect(await page.locator('tbody tr').count()).toBe(causes.length + pauses.length);
    const box = await page.getByText('Acknowledge all 8').first().boundingBox();
    expect(box !== null && box.x >= 0 && box.x + box.width <= phone.width).toBe(true);
    const resume = await page.getByText('Resume').first().boundingBox();
    expect(resume !== null && resume.x + resume.width <= phone.width).toBe(true);
    await page.close();
  });

  /** A person who is signed in on a phone, who counts what they tap. */
  async function person() {
    const withCustomer = async (place: Installation): Promise<void> => {
      await fillOutbox(place);
      const store = openOutbox(place);
      const metadata = { email: 'anna@example.com' };
      const asked = line('1004', '1', { variant: 'steam-20', quantity: 1, metadata });
      await store.intake.acceptBatch({ nowMs, fileId: null, lines: [asked], rejections: [] });
      await store.close();
    };
    const pages = await startPages({ fill: withCustomer, decides: true });
    const { headers } = await pages.as(operatorToken);
    const context = await browser.newContext({ viewport: phone });
    const [cookie = '', session = ''] = headers.cookie.split('=');
    await context.addCookies([{ name: cookie, value: session, url: `http://${pages.address}` }]);
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    let taps = 0;
    return {
      page,
      store: pages.store,
      taps: () => taps,
      begin: async (path = '/') => {
        taps = 0;
        await page.goto(`http://${pages.address}${path}`);
      },
      tap: async (text: string) => {
        taps += 1;
        await page.getByText(text, { exact: true }).filter({ visible: true }).first().click();
      },
      search: async (text: string) => {
        await page.locator('[name="search"]').fill(text);
        await page.keyboard.press('Enter');
        await page.waitForURL(/search=/);
        return await page.locator('tbody tr a').allInnerTexts();
      },
      write: async (fields: Readonly<Record<string, string>>, button: string) => {
        const form = page
          .locator('form.stack', { has: page.getByRole('button', { name: button }) })
          .filter({ visible: true });
        for (const [name, value] of Object.entries(fields)) await form.locator(`[name="${name}"]`).first().fill(value);
        await form.getByRole('button', { name: button }).first().click();
        await page.locator('.good, h1').first().waitFor();
      },
    };
  }

  it('lead to each of ten tasks in at most three taps or one search', { timeout: 120_000 }, async () => {
    const { page, store, taps, begin, tap, search, write } = await person();
    const reason = 'asked by the shop';
    // Find by e-mail, by SKU and by a whole code.
    for (const [text, order] of [
      ['anna@example.com', 'shop1/1004'],
      ['steam-20', 'shop1/1004'],
      ['GIFT-CODE-2', 'shop1/1001'],
    ] as const) {
      await begin('/orders');
      expect(await search(text)).toEqual([order]);
    }
    // Why does it wait?
    await begin('/orders?search=1003');
    await tap('shop1/1003');
    expect(await page.locator('article').innerText()).toContain('Nothing of it is bought yet');
    // What was spent today?
    await begin();
    expect(await page.locator('.answers').innerText()).toContain('19.00 USD');
    // Hold a product, and buy it again.
    await tap('Pause buying');
    await write({ scope: 'variant:steam-20', reason }, 'Pause buying');
    expect([taps(), store.read.pauses().map(({ scope }) => scope)]).toEqual([1, ['balance:EUR', 'variant:steam-20']]);
    await begin();
    const paused = page.locator('tr', { hasText: 'variant:steam-20' });
    await paused.locator('summary', { hasText: 'Resume' }).click();
    await paused.locator('[name="reason"]').fill(reason);
    await paused.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Done: variant:steam-20 is resumed.').waitFor();
    // Release what is held.
    await begin('/orders?search=1003');
    await tap('shop1/1003');
    await tap('Hold');
    await write({ reason }, 'Hold');
    await tap('Release');
    await write({ reason }, 'Release');
    expect(taps()).toBe(3);
    expect(store.read.counts()).toMatchObject({ held: 0, pending: 2 });
    // Settle one whose outcome nobody knows.
    await begin();
    await tap('1 × needs_review');
    await tap('Resolve');
    await page.locator('[name="as"]').filter({ visible: true }).selectOption('rejected');
    await write({ reason }, 'Resolve');
    expect(taps()).toBeLessThanOrEqual(3);
    expect(store.read.counts().needs_review).toBe(0);
    // Deliver a result again.
    await begin('/orders?search=1001');
    await tap('shop1/1001');
    await tap('Deliver again');
    await write({ reason }, 'Deliver again');
    await page.getByText('Done: the result will be delivered again.').waitFor();
    expect(taps()).toBeLessThanOrEqual(3);
  });
});
