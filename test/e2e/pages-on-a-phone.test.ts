import { Buffer } from 'node:buffer';
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPages, operatorToken } from '../admin/pages/running-pages.ts';
import { line, openOutbox } from '../cli/sample-outbox.ts';
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
});
