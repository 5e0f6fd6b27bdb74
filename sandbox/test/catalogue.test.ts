import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCatalogue, shippedCatalogue } from '../orders/catalogue.ts';
import {
  destinationsAnswer,
  plansAnswer,
  productsAnswer,
} from '../../test/support/sandbox-answers.ts';
import { callerOf, giftCard, refusalOf, startSandbox, temporaryFolder } from './running-sandbox.ts';

const small = (stock: number): string => `
gift_cards:
  - { brand: B, category: gaming, variants: [{ variant: one, name: One, prices: { USD: "10.00" }, stock: ${stock} }] }
destinations:
  - { destination: here, name: Here, countries: [ES], plans: [{ plan: p, name: P, prices: { EUR: "1.00" }, validity_days: 7 }] }
`;

describe('the catalogue', () => {
  it('the catalogue lists every product with its prices, its stock, and whether it is sold by API', async () => {
    const reply = await callerOf(await startSandbox()).get('/products');
    const { products, total, next } = productsAnswer.parse(reply.json);
    expect([products.length, next]).toEqual([total, null]);
    const known = (variant: string) => products.find((product) => product.variant === variant);
    expect(known('steam-usd-20')).toMatchObject({
      prices: { USD: '18.90', EUR: '17.39' },
      api_sellable: true,
    });
    expect(known('test-website-only')).toMatchObject({ website_only: true, api_sellable: false });
    expect(known('test-few-left')).toMatchObject({ stock: 3 });
    expect(known('test-limit-5')).toMatchObject({ max_quantity: 5 });
  });

  it('the pages of the catalogue together have every product once', async () => {
    const caller = callerOf(await startSandbox({ products_per_page: 50 }));
    const variants: string[] = [];
    let path: string | null = '/products';
    let pages = 0;
    while (path !== null) {
      const {
        products,
        next,
        last_page: lastPage,
      } = productsAnswer.parse((await caller.get(path)).json);
      variants.push(...products.map((product) => product.variant));
      pages += 1;
      expect(lastPage).toBe(3);
      path = next;
    }
    expect([pages, new Set(variants).size]).toEqual([
      3,
      readCatalogue(shippedCatalogue).products.size,
    ]);
  });

  it('the catalogue lists the destinations and their plans on sale, with a price per currency and the range of days', async () => {
    const caller = callerOf(await startSandbox());
    const { destinations } = destinationsAnswer.parse(
      (await caller.get('/esim/destinations')).json,
    );
    expect(
      destinations.find((place) => place.destination === 'europe')?.countries.length,
    ).toBeGreaterThan(25);
    const { plans } = plansAnswer.parse(
      (await caller.get('/esim/destinations/testland/plans')).json,
    );
    expect(plans.find((plan) => plan.plan === 'test-plan-daily')).toMatchObject({
      daily: true,
      min_days: 3,
      max_days: 10,
    });
    expect(plans.map((plan) => plan.plan)).not.toContain('test-plan-off-sale');
    expect(plans.find((plan) => plan.plan === 'test-plan-usd-only')?.prices).toEqual({
      USD: '5.00',
    });
  });

  it('the catalogue is as large as a real one, and its test values are the documented ones', () => {
    const { products, plans, destinations } = readCatalogue(shippedCatalogue);
    const real = [...products.values()].filter((product) => product.category !== 'test');
    expect(real.length).toBeGreaterThanOrEqual(60);
    expect(new Set(real.map((product) => product.brand)).size).toBeGreaterThanOrEqual(15);
    expect(destinations.size).toBeGreaterThanOrEqual(40);
    expect(plans.size).toBeGreaterThanOrEqual(150);
    expect(
      [...plans.values()].filter((plan) => plan.prices.has('USD') && plan.prices.has('EUR')).length,
    ).toBeGreaterThan(150);
    const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
    const testValues = [...products.keys(), ...plans.keys()].filter((name) =>
      name.startsWith('test-'),
    );
    expect(testValues.filter((name) => !document.includes(`\`${name}\``))).toEqual([]);
    const documented = [...document.matchAll(/`(test-[a-z0-9-]+)`/g)].map(
      (match) => match[1] ?? '',
    );
    expect(documented.filter((name) => !testValues.includes(name))).toEqual([]);
  });

  it('an edited stock in the catalogue file replaces what is left, and an unchanged stock does not', async () => {
    const folder = temporaryFolder();
    const database = join(folder, 'sandbox.db');
    const file = join(folder, 'goods.yaml');
    writeFileSync(file, small(2));
    const start = () => startSandbox({ catalogue: 'goods.yaml' }, { database, configDir: folder });
    const first = await start();
    expect((await callerOf(first).post('/orders', giftCard('a', { variant: 'one' }))).status).toBe(
      201,
    );
    await first.close();
    const second = await start();
    expect((await callerOf(second).post('/orders', giftCard('b', { variant: 'one' }))).status).toBe(
      201,
    );
    expect(
      refusalOf(await callerOf(second).post('/orders', giftCard('c', { variant: 'one' }))),
    ).toBe('409 out_of_stock');
    await second.close();
    writeFileSync(file, small(1));
    const third = await start();
    expect((await callerOf(third).post('/orders', giftCard('c', { variant: 'one' }))).status).toBe(
      201,
    );
  });

  it('a sandbox does not start with a wrong catalogue, and names the place of the mistake', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'goods.yaml'), small(1).replace('"10.00"', '"ten"'));
    await expect(startSandbox({ catalogue: 'goods.yaml' }, { configDir: folder })).rejects.toThrow(
      /gift_cards\[0\].variants\[0\].prices/,
    );
  });
});
