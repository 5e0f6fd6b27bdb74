import { describe, expect, it } from 'vitest';
import type { Installation } from '../../support/worker-process.ts';
import { minutesAgo, wooBody } from './running-read-back.ts';
import { foundOrders, houseOf, settled } from './shop-worker.ts';
import { StubWooCommerce } from './stub-shop.ts';

type Shop = { shop: string; source?: string };

/** Changes the only shop in the config file. */
const change = (house: Installation, changes: Shop): void =>
  house.configure((config) => void Object.assign(config.intake.webhook.woocommerce[0], changes));

const bought = (house: Installation): number => house.sandbox.ledger().orders.length;

describe('a renamed shop', () => {
  it('is refused at the start under another source, and under its own source buys nothing again', async () => {
    const stub = await new StubWooCommerce().open();
    const house = await houseOf(stub);
    stub.put({ id: '727', modifiedMs: minutesAgo(5), body: wooBody('315') });
    const worker = house.start();
    await worker.line(foundOrders);
    await settled(house);
    expect(await worker.end('SIGTERM')).toBe(0);

    change(house, { shop: 'front' });
    const refused = house.start();
    expect(await refused.exited()).toBe(3);
    expect(refused.stderr).toContain('the shop with this address has the source "main"');
    expect(refused.stderr).toContain('set source: main');

    change(house, { shop: 'front', source: 'main' });
    stub.put({ id: '728', modifiedMs: minutesAgo(1), body: wooBody('316') });
    const next = house.start();
    await next.line(foundOrders);
    await settled(house);
    expect(bought(house)).toBe(2);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('is refused by a reload under another source, and the configuration in use stays', async () => {
    const stub = await new StubWooCommerce().open();
    const house = await houseOf(stub);
    const worker = house.start();
    await worker.started();
    change(house, { shop: 'main', source: 'front' });
    const answer = await worker.reload();
    expect(answer).toMatchObject({ level: 'error', msg: 'reload refused; the configuration in use stays' });
    expect(JSON.stringify(answer)).toContain('has the source \\"main\\"');
    change(house, { shop: 'main', source: 'main' });
    expect(await worker.reload()).toMatchObject({ need_restart: [] });
    expect(await worker.end('SIGTERM')).toBe(0);
  });
});
