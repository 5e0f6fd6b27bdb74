import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { commandLine } from '../read-back/shop-worker.ts';
import {
  attentionOf,
  folder,
  secret,
  ShopAndWorker,
  whySkipped,
  within,
} from './shop-and-worker.ts';

const orderList = 'GET /wp-json/wc/v3/orders\\?';
const html = { 'content-type': 'text/html; charset=UTF-8' };

describe.skipIf(folder === undefined)(
  `answers of a real WooCommerce behind other programs${whySkipped}`,
  { timeout: 600_000 },
  () => {
    let both: ShopAndWorker;
    beforeAll(async () => void (both = await ShopAndWorker.open()));
    afterAll(() => both?.close());
    afterEach(async () => {
      both.shop.setFault(null);
      await both.isQuiet();
      await both.setWebhooks('active');
    });

    /** What an operator reads about the shop's answers. */
    const told = async (): Promise<string> => {
      const { stdout } = await commandLine(both.place, 'reconcile', '--json');
      return [stdout, JSON.stringify(await both.doctor())].join('\n');
    };
    const readBack = async () => await commandLine(both.place, 'reconcile');

    // W9

    it('reads orders behind a page cache that keeps an answer for its address, or says so', async () => {
      await both.setWebhooks('paused');
      both.shop.setFault({ match: orderList, stale: true, times: -1 });
      expect((await readBack()).code).toBe(0);
      await readBack();
      const id = await both.shop.order([both.line('STEAM-20')]);
      await readBack();
      await readBack();
      expect(both.boughtFor(id) === 1 ? 'cache' : await told()).toMatch(/cache/i);
    });

    it.each([
      ['by its age', { age: '7200', date: new Date(Date.now() - 7_200_000).toUTCString() }],
      ['by a name of its own', { 'x-cache': 'HIT' }],
      ['by a name of a host', { 'x-litespeed-cache': 'hit' }],
      ['by a name of a network', { 'cf-cache-status': 'HIT', age: '12' }],
    ])(
      'says that a page cache answers in the place of the shop, which shows %s',
      async (_how, shown) => {
        await both.setWebhooks('paused');
        const headers = { 'content-type': 'application/json', ...shown };
        both.shop.setFault({ match: orderList, status: 200, body: '[]', headers, times: -1 });
        // A run that had begun before may still see the shop itself.
        await readBack();
        const id = await both.shop.order([both.line('STEAM-20')]);
        const { code } = await readBack();
        expect(both.boughtFor(id)).toBe(0);
        expect(code).not.toBe(0);
        expect(await told()).toMatch(/cache/i);
        both.shop.setFault(null);
        await both.settled(id, 'fulfilled');
        expect((await readBack()).code).toBe(0);
      },
    );

    // W10

    it('flags the shop once while it refuses the signatures of its webhooks', async () => {
      const set = async (value: string): Promise<void> => {
        for (const id of both.webhookIds)
          await both.shop.call('PUT', `/webhooks/${id}`, { secret: value });
      };
      await set('another-secret-of-the-shop');
      try {
        const ids = [
          await both.shop.order([both.line('STEAM-20')]),
          await both.shop.order([both.line('STEAM-20')]),
        ];
        for (const id of ids) await both.settled(id, 'fulfilled');
        await expect.poll(() => both.flagsOf(null), within).toEqual(['signature_refused']);
        expect(await both.ask('/healthz')).toContain('"webhook":"warn"');
      } finally {
        await both.isQuiet();
        await set(secret);
        await both.setWebhooks('active');
      }
      await both.completed(await both.shop.order([both.line('STEAM-20')]));
      await expect.poll(() => both.flagsOf(null), within).toEqual([]);
    });

    // W13

    it('says that a page of a firewall is not an answer of WooCommerce, and does not blame the key', async () => {
      const body =
        '<!DOCTYPE html><html><head><title>Attention Required! | Firewall</title></head><body>Ray</body></html>';
      both.shop.setFault({ match: 'GET /wp-json', status: 403, headers: html, body, times: -1 });
      const text = await told();
      expect(text).toContain('Attention Required! | Firewall');
      expect(text).not.toMatch(
        /unauthorized|keys? (?:is|are|was|were) (?:refused|wrong)|check the keys?/i,
      );
    });

    it('names the page that came in the place of orders', async () => {
      const body =
        '<!DOCTYPE html><html lang="en"><head><title>Log In &lsaquo; Trial shop</title></head><body></body></html>';
      both.shop.setFault({ match: orderList, status: 200, headers: html, body, times: -1 });
      expect(await told()).toContain('Log In');
    });

    it('names a notice of PHP before the orders', async () => {
      const prefix =
        '<br />\n<b>Notice</b>:  Undefined index: gift in <b>/plugins/gifts/gifts.php</b> on line <b>12</b><br />\n';
      await both.setWebhooks('paused');
      both.shop.setFault({ match: orderList, prefix, times: -1 });
      const id = await both.shop.order([both.line('STEAM-20')]);
      const text = await told();
      // Either it is read all the same, or the notice is named.
      expect(both.boughtFor(id) === 1 ? prefix : text).toContain('Undefined index: gift');
      both.shop.setFault(null);
      await both.settled(id, 'fulfilled');
    });

    it('reads orders that a server packs although nobody asked for it', async () => {
      await both.setWebhooks('paused');
      both.shop.setFault({ match: orderList, gzip: true, times: -1 });
      const id = await both.shop.order([both.line('STEAM-20')]);
      expect((await readBack()).code).toBe(0);
      expect(both.boughtFor(id)).toBe(1);
    });

    it('leads to ca_file where the certificate is of a private authority', async () => {
      both.place.configure(
        (config) => void delete config.intake.webhook.woocommerce[0].rest.ca_file,
      );
      try {
        expect(JSON.stringify(await both.doctor())).toContain('ca_file');
      } finally {
        const { caFile } = both.shop;
        both.place.configure((config) =>
          Object.assign(config.intake.webhook.woocommerce[0].rest, { ca_file: caFile }),
        );
      }
    });

    it('flags what it cannot read of an order alone, and reads the others (a plugin breaks one order)', async () => {
      await both.setWebhooks('paused');
      const [bad, good] = [
        await both.shop.order([both.line('STEAM-20')]),
        await both.shop.order([both.line('STEAM-20')]),
      ];
      // As a plugin that dies while it shows one order.
      const dies = `add_filter('woocommerce_rest_prepare_shop_order_object',function($x,$o){if($o->get_id()===${bad}){status_header(500);echo '<p>There has been a critical error on this website.</p>';exit;}return $x;},10,2);`;
      both.shop.setPlugin('dies', dies);
      try {
        await both.settled(good, 'fulfilled');
        await expect
          .poll(
            async () => (await attentionOf(both.place)).map(({ message }) => message).join('\n'),
            within,
          )
          .toMatch(/read/i);
      } finally {
        both.shop.setPlugin('dies', null);
      }
      await both.settled(bad, 'fulfilled');
    });
  },
);

describe.skipIf(folder === undefined)(
  `a real WordPress that is being updated${whySkipped}`,
  { timeout: 600_000 },
  () => {
    // W4: with the delays of production.
    it('delays an order less than a minute although it asks for ten', async () => {
      const both = await ShopAndWorker.open({ timeScale: 1 });
      onTestFinished(() => both.close());
      const { shop } = both;
      await both.completed(await shop.order([both.line('STEAM-20')]));
      const metBefore = shop.answers(503);
      shop.setMaintenance(true);
      await expect.poll(() => shop.answers(503), within).toBeGreaterThan(metBefore);
      shop.setMaintenance(false);
      const began = performance.now();
      const id = await shop.order([both.line('STEAM-20')]);
      const patient = { timeout: 90_000, interval: 250 };
      await expect
        .poll(() => shop.mails(id).some((body) => body.includes('Code: <code')), patient)
        .toBe(true);
      const tookMs = Math.round(performance.now() - began);
      process.stdout.write(`${shop.versions}; mail after an update of a plugin: ${tookMs} ms\n`);
      expect(tookMs).toBeLessThan(60_000);
    });
  },
);
