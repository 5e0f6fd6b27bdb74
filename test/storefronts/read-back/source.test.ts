import { describe, expect, it } from 'vitest';
import type { Installation } from '../../support/worker-process.ts';
import { minutesAgo, wooBody } from './running-read-back.ts';
import { boughtBy, foundOrders, installationFor, settled } from './shop-worker.ts';
import { StubWooCommerce } from './stub-shop.ts';

type Shop = { shop: string; source?: string };

/** Changes the only shop in the config file. */
const change = (installation: Installation, changes: Shop): void =>
  installation.configure(
    (config) => void Object.assign(config.intake.webhook.woocommerce[0], changes),
  );

describe('a renamed shop', () => {
  it('is refused at the start under another source, and under its own source buys nothing again', async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub);
    stub.put({ id: '727', modifiedMs: minutesAgo(5), body: wooBody('315') });
    const worker = installation.start();
    await worker.line(foundOrders);
    await settled(installation);
    expect(await worker.end('SIGTERM')).toBe(0);

    change(installation, { shop: 'front' });
    const refused = installation.start();
    expect(await refused.exited()).toBe(3);
    expect(refused.stderr).toContain('the shop with this address has the source "main"');
    expect(refused.stderr).toContain('set source: main');

    change(installation, { shop: 'front', source: 'main' });
    stub.put({ id: '728', modifiedMs: minutesAgo(1), body: wooBody('316') });
    const next = installation.start();
    await next.line(foundOrders);
    await settled(installation);
    expect(boughtBy(installation)).toBe(2);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('is refused by a reload under another source, and the configuration in use stays', async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub);
    const worker = installation.start();
    await worker.started();
    change(installation, { shop: 'main', source: 'front' });
    const answer = await worker.reload();
    expect(answer).toMatchObject({
      level: 'error',
      msg: 'reload refused; the configuration in use stays',
    });
    expect(JSON.stringify(answer)).toContain('has the source \\"main\\"');
    change(installation, { shop: 'main', source: 'main' });
    expect(await worker.reload()).toMatchObject({ need_restart: [] });
    expect(await worker.end('SIGTERM')).toBe(0);
  });
});
