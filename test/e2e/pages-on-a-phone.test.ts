import { Buffer } from 'node:buffer';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startPages, operatorToken } from '../admin/pages/running-pages.ts';
import { fillOutbox, line, openOutbox } from '../cli/sample-outbox.ts';
import { nowMs, type Installation } from '../cli/installation.ts';
import { faultless, faultsOf } from '../support/page-faults.ts';
import { Installation as RealInstallation, order, projectRoot } from '../support/worker-process.ts';

const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const phone = { width: 390, height: 844 };
const laptop = { width: 1280, height: 900 };
const causes = [
  'unknown_sku',
  'invalid_field',
  'id_mangled',
  'duplicate_line',
  'missing_field',
  'unreadable',
] as const;
/** Each is a tap, or the one search. */
const mostSteps = 3;
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
    await store.pauses.open({
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

  async function open(
    viewport: typeof phone,
    path: string,
    colorScheme: 'light' | 'dark' = 'light',
    filled = fill,
  ) {
    const pages = await startPages({ fill: filled, decides: true });
    address = `http://${pages.address}`;
    const { headers } = await pages.as(operatorToken);
    const context = await browser.newContext({ viewport, colorScheme, extraHTTPHeaders: headers });
    const page = await context.newPage();
    await page.goto(`${address}${path}`);
    const heightOf = (selector: string) =>
      page
        .locator(selector)
        .evaluateAll((found: { offsetHeight: number }[]) =>
          found.map(({ offsetHeight }) => offsetHeight),
        );
    return { page, heightOf, bytes: Buffer.byteLength(await page.content()) };
  }

  it.each([
    [phone, 3400],
    [laptop, 1800],
  ])('show the overview in one glance at %o', async (viewport, most) => {
    const { heightOf, page, bytes } = await open(viewport, '/');
    const [height = 0] = await heightOf('body');
    expect(height).toBeGreaterThan(300);
    expect(height).toBeLessThanOrEqual(most);
    expect(bytes).toBeLessThan(60_000);
    await page.close();
  });

  it.each([
    [phone, 2 * phone.height],
    [{ width: 1280, height: 800 }, 800],
  ])('say above the fold what is wrong, since when, and what to do: %o', async (viewport, fold) => {
    const { page } = await open(viewport, '/');
    const status = page.locator('.status');
    expect(await status.innerText()).toMatch(/causes need you[\s\S]*the oldest for 1 h/);
    for (const shown of [
      status,
      page.getByText('Waiting').first(),
      page.locator('.cause').first(),
    ]) {
      const box = await shown.boundingBox();
      expect((box?.y ?? fold) + (box?.height ?? 0)).toBeLessThanOrEqual(fold);
    }
    await page.close();
  });

  it('have targets of at least 24 px, on every page', async () => {
    for (const path of ['/', '/attention', '/orders', '/numbers', '/orders/shop1/1', '/config']) {
      const { page } = await open(phone, path);
      const small =
        await page.evaluate(`[...document.querySelectorAll('button, input, select, summary.button, a.button, nav a, h3 a')]
        .filter((it) => it.type !== 'hidden' && it.getClientRects().length > 0)
        .filter((it) => Math.min(it.getBoundingClientRect().width, it.getBoundingClientRect().height) < 24)
        .map((it) => it.outerHTML.slice(0, 100))`);
      expect([path, small]).toEqual([path, []]);
      await page.close();
    }
  });

  it.each([
    ['light', phone],
    ['dark', phone],
    ['light', laptop],
    ['dark', laptop],
  ] as const)('have nothing that axe finds: %s, %o', async (scheme, viewport) => {
    const others = ['/orders/shop1/1', '/numbers', '/nothing-here'];
    for (const path of ['/', '/attention', '/orders', ...others]) {
      const { page } = await open(viewport, path, scheme);
      expect([path, await faultsOf(page)]).toEqual([path, faultless]);
      await page.close();
    }
    const empty = await open(viewport, '/', scheme, (place) => openOutbox(place).close());
    await empty.page.getByText('Send the first order').waitFor();
    expect(await faultsOf(empty.page)).toEqual(faultless);
  });

  it.each([
    '/attention',
    '/attention?kind=invalid_line&code=unknown_sku',
    '/orders',
    '/deliveries',
    '/numbers?from=2025-11-21',
    '/audit',
  ])('keep each row of %s short, and nothing beside the screen', async (path) => {
    const { heightOf, page, bytes } = await open(phone, path);
    expect(bytes).toBeLessThan(60_000);
    const rows = await heightOf('.scroll tbody tr, .cause');
    expect(Math.max(0, ...rows)).toBeLessThanOrEqual(path === '/attention' ? 250 : 160);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      phone.width,
    );
    await page.close();
  });

  it('show what to do and the decision for all rows of a cause on the screen', async () => {
    const { page } = await open(phone, '/attention');
    expect(await page.locator('.cause').count()).toBe(causes.length + pauses.length);
    const box = await page.getByText('Acknowledge all 8').first().boundingBox();
    expect(box !== null && box.x >= 0 && box.x + box.width <= phone.width).toBe(true);
    const resume = await page.getByText('Resume').first().boundingBox();
    expect(resume !== null && resume.x + resume.width <= phone.width).toBe(true);
    await page.close();
  });

  /**
   * Somebody with a phone, from the overview on. What they tap and search is counted; to fill in
   * fields is not.
   */
  async function person(where: string, signIn: (page: Page) => Promise<void>) {
    const context = await browser.newContext({ viewport: phone });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await signIn(page);
    const counted = { taps: 0, searches: 0 };
    const tap = async (target: Locator): Promise<void> => {
      counted.taps += 1;
      await target.filter({ visible: true }).first().click();
    };
    return {
      page,
      tap: (text: string, within: Page | Locator = page) =>
        tap(within.getByText(text, { exact: true })),
      press: (name: string) => tap(page.getByRole('button', { name, exact: true })),
      fillIn: async (fields: Readonly<Record<string, string>>) => {
        for (const [name, value] of Object.entries(fields)) {
          const field = page
            .locator(`form.stack [name="${name}"]`)
            .filter({ visible: true })
            .first();
          await (name === 'as' ? field.selectOption(value) : field.fill(value));
        }
      },
      search: async (text: string) => {
        counted.searches += 1;
        await page.getByLabel('Search orders').fill(text);
        await page.keyboard.press('Enter');
        await page.waitForURL(/\/orders/);
        return await page.locator('h1').innerText();
      },
      /** Performs a task on the overview and what it leads to, in so many steps at most. */
      does: async (task: string, perform: () => Promise<void>): Promise<void> => {
        Object.assign(counted, { taps: 0, searches: 0 });
        await page.goto(`http://${where}/`);
        await perform();
        const { taps, searches } = counted;
        expect([task, searches <= 1 && taps + searches <= mostSteps ? 'short' : counted]).toEqual([
          task,
          'short',
        ]);
        const path = join(projectRoot, `docs/images/task-${task.replaceAll(' ', '-')}.jpg`);
        if (process.env['UPDATE_IMAGES'] !== undefined && existsSync(path))
          await page.screenshot({ path, type: 'jpeg', quality: 32 });
      },
    };
  }

  const reason = 'asked by the shop';

  it('lead from the overview to the end of nine tasks in at most three steps', {
    timeout: 120_000,
  }, async () => {
    const withCustomer = async (place: Installation): Promise<void> => {
      await fillOutbox(place);
      const store = openOutbox(place);
      const metadata = { email: 'anna@example.com' };
      const asked = line('1004', '1', { variant: 'steam-20', quantity: 1, metadata });
      await store.intake.acceptBatch({ nowMs, fileId: null, lines: [asked], rejections: [] });
      await store.close();
    };
    const pages = await startPages({ fill: withCustomer, decides: true });
    const { read } = pages.store;
    const { page, tap, press, fillIn, search, does } = await person(
      pages.address,
      async (their) => {
        const [name = '', value = ''] = (await pages.as(operatorToken)).headers.cookie.split('=');
        await their.context().addCookies([{ name, value, url: `http://${pages.address}` }]);
      },
    );
    await does('find by e-mail', async () =>
      expect(await search('anna@example.com')).toBe('Order 1004'),
    );
    await does('find by SKU', async () => expect(await search('steam-20')).toBe('Order 1004'));
    await does('find by code', async () => expect(await search('GIFT-CODE-2')).toBe('Order 1001'));
    await does('why it waits', async () => {
      expect(await search('1003')).toBe('Order 1003');
      expect(await page.locator('article').innerText()).toContain('Nothing of it is bought yet');
    });
    await does('spent today', async () => {
      expect(await page.locator('.answers').innerText()).toContain('19.00 USD');
    });
    await does('hold a SKU', async () => {
      await tap('Pause buying');
      await fillIn({ scope: 'variant:steam-20', reason });
      await press('Pause buying');
      await page.getByText('Done: variant:steam-20 is paused.').waitFor();
    });
    await does('release a SKU', async () => {
      expect(read.pauses().map(({ scope }) => scope)).toContain('variant:steam-20');
      await tap('Resume', page.locator('.rows > li', { hasText: 'variant:steam-20' }));
      await fillIn({ reason });
      await press('Resume');
      await page.getByText('Done: variant:steam-20 is resumed.').waitFor();
      expect(read.pauses().map(({ scope }) => scope)).toEqual(['balance:EUR']);
    });
    await does('resolve an unknown one', async () => {
      await tap('es-7 needs a decision');
      await tap('Resolve');
      await fillIn({ as: 'rejected', reason });
      await press('Resolve');
      await page.getByText(/^Done: resolve/).waitFor();
      expect(read.counts().needs_review).toBe(0);
    });
    await does('deliver again', async () => {
      await search('1001');
      await tap('Deliver again');
      await fillIn({ reason });
      await press('Deliver again');
      await page.getByText('Done: the result will be delivered again.').waitFor();
    });
  });

  it('lead from the overview to a new key in two steps, and say in words why one is not used', {
    timeout: 120_000,
  }, async () => {
    const key = (name: string) => ({ name, value: `sandbox-key-${name}` });
    const accounts = [
      { id: 'acme', keys: [key('first'), key('next')] },
      { id: 'other', keys: [key('foreign')] },
    ];
    const place = await RealInstallation.open({
      sandbox: { accounts, limits: { enabled: false } },
    });
    onTestFinished(() => place.close());
    const file = join(place.folder, 'the-key');
    const token = 'the-token-of-anna-0001';
    writeFileSync(file, key('first').value, { mode: 0o600 });
    place.configure((config) => {
      config.wholesale.keys = [{ name: 'main', value: `file:${file}` }];
      config.admin.tokens = [{ name: 'anna', role: 'operator', value: token }];
    });
    const worker = place.start();
    const where = String((await worker.started())['admin']);
    const settled = (id: number) =>
      worker.line(
        ({ msg, ...event }) => msg === 'result delivered' && event['order_id'] === String(id),
      );
    place.drop('1.ndjson', order(1));
    await settled(1);
    // Without a lookup that found an order no key is asked for its account.
    await worker.line(({ msg }) => msg.startsWith('lookups work'));
    await place.sandbox.operate((operator) => operator.revokeKey('acme', 'first'));
    place.drop('2.ndjson', order(2));
    await worker.line(
      ({ msg, ...event }) => msg === 'scope paused' && event['scope'] === 'key:main',
    );
    const { page, tap, press, does } = await person(where, async (their) => {
      await their.goto(`http://${where}/`);
      await their.getByLabel('Token').fill(token);
      await their.getByRole('button', { name: 'Sign in' }).click();
      await their.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    });
    const paused = page.locator('.rows > li', { hasText: 'key:main' });
    const reload = async (value: string): Promise<void> => {
      writeFileSync(file, value);
      await tap('Reload the configuration', paused);
      expect(await paused.innerText()).toContain(`The key main is in ${file}`);
      await press('Reload the configuration');
    };
    await does('a file without a key', async () => {
      await reload('');
      await page.getByText('wholesale.keys.0.value must name a file that is not empty').waitFor();
    });
    await does('replace a key', async () => {
      await reload(key('next').value);
      await page.getByText('Done: in use now: wholesale.keys[].value.').waitFor();
    });
    await settled(2);
    await does('a key of another account', async () => {
      writeFileSync(file, key('foreign').value);
      await tap('Config');
      await tap('Reload the configuration');
      await press('Reload the configuration');
      await page.getByText('Done: in use now: wholesale.keys[].value.').waitFor();
    });
    await worker.line(
      ({ msg, ...event }) => msg === 'scope paused' && event['reason'] === 'key_of_other_account',
    );
    await page.goto(`http://${where}/`);
    expect(await paused.innerText()).toContain(
      'Configure a key of the account that bought the orders',
    );
    await page.goto(`http://${where}/config`);
    await tap('Reload the configuration');
    await page.getByText(`The key main is in ${file}`).waitFor();
    expect(await page.content()).not.toContain('sandbox-key');
    expect(await worker.line(({ msg }) => msg === 'reloaded')).toMatchObject({
      asked: 'page:anna',
    });
  });
});
