import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationOf } from '../../../src/storefronts/woocommerce/authorization.ts';
import { restSettings } from '../shop-settings.ts';
import { folder, ShopAndWorker, whySkipped, within } from './shop-and-worker.ts';

describe.skipIf(folder === undefined)(
  `the way to a real WooCommerce${whySkipped}`,
  { timeout: 300_000 },
  () => {
    let both: ShopAndWorker;
    beforeAll(async () => void (both = await ShopAndWorker.open()));
    afterAll(() => both?.close());

    const setKeys = (pair: readonly [string, string]) =>
      both.place.configure((config) => {
        const { rest } = config.intake.webhook.woocommerce[0];
        [rest.consumer_key, rest.consumer_secret] = pair;
      });

    it('switches on what the shop switched off while the worker was down, and finds what was deleted', async () => {
      const { shop } = both;
      const deleted = await shop.order([both.line('STEAM-20')]);
      await both.completed(deleted);
      const noted = await shop.order([both.line('STEAM-20')], {
        status: 'pending',
        set_paid: false,
      });
      await both.worker.end('SIGTERM');
      for (let failed = 0; failed < 7; failed += 1)
        await shop.call('PUT', `/orders/${noted}`, { customer_note: `failed ${failed}` });
      expect(await both.webhookStatus()).toBe('disabled');
      const { status } = await shop.call('DELETE', `/orders/${deleted}?force=true`);
      expect(status).toBe(200);
      const lost = await shop.order([both.line('STEAM-20')]);
      await both.start();
      await expect.poll(() => both.webhookStatus(), within).toBe('active');
      await both.settled(lost, 'fulfilled');
      await expect.poll(() => both.flagsOf(deleted), within).toEqual(['refunded_in_storefront']);
      expect(both.flagsOf(null)).toEqual([]);
    });

    it('tells what a key that may only read cannot do, and writes at once after a better one', async () => {
      const { shop } = both;
      setKeys(shop.keys.read);
      await both.worker.reload();
      const id = await shop.order([both.line('STEAM-20')]);
      await both.settled(id, 'fulfilled');
      await both.worker.line(
        ({ msg, ...more }) => msg === 'a result could not be delivered' && more['order_id'] === id,
      );
      expect(await both.doctor()).toMatchObject({
        status: 'warn',
        message: expect.stringContaining('only read'),
      });
      await both.setWebhooks('disabled');
      await both.restart();
      await expect.poll(() => both.flagsOf(null), within).toEqual(['webhook_off']);
      expect(await both.ask('/healthz')).toContain('has switched off its webhook');
      setKeys(shop.keys.readWrite);
      await both.worker.reload();
      await both.completed(id);
      await expect.poll(() => both.webhookStatus(), within).toBe('active');
      await expect.poll(() => both.flagsOf(null), within).toEqual([]);
      expect(await both.ask('/healthz')).not.toContain('has switched off its webhook');
    });

    it('says that no customer gets a mail, and how orders come where WordPress refuses the address', async () => {
      await both.setWebhooks('active');
      expect(await both.doctor()).toMatchObject({ status: 'pass' });
      const mail = '/settings/email_customer_note/enabled';
      await both.shop.call('PUT', mail, { value: 'no' });
      expect(await both.doctor()).toMatchObject({
        status: 'warn',
        message: expect.stringContaining('"Customer note"'),
      });
      await both.shop.call('PUT', mail, { value: 'yes' });
      expect(await both.doctor()).toMatchObject({ status: 'pass' });
      for (const id of both.webhookIds)
        await both.shop.call('DELETE', `/webhooks/${id}?force=true`);
      expect(await both.doctor()).toMatchObject({ message: expect.stringContaining('read-back') });
      both.shop.setFlag('no-loopback', true);
      try {
        const { webhook } = await both.worker.started();
        const delivery_url = `http://${String(webhook)}/webhooks/woocommerce/main`;
        const made = await both.shop.call('POST', '/webhooks', {
          topic: 'order.updated',
          delivery_url,
        });
        both.webhookIds.splice(0, both.webhookIds.length, String(made.value['id']));
        process.stdout.write(
          `${both.shop.versions}: a webhook to loopback: ${made.status} ${JSON.stringify(made.value['status'])}\n`,
        );
        const id = await both.shop.order([both.line('STEAM-20')]);
        await both.settled(id, 'fulfilled');
      } finally {
        both.shop.setFlag('no-loopback', false);
      }
    });

    it('names permalinks that are off, and a certificate and a secret that are wrong', async () => {
      const { shop, place } = both;
      const set = async (structure: string) =>
        await shop.php(
          `update_option('permalink_structure','${structure}');global $wp_rewrite;$wp_rewrite->init();flush_rewrite_rules();`,
        );
      await set('');
      try {
        expect(await both.doctor()).toMatchObject({
          status: 'fail',
          message: expect.stringContaining('permalinks'),
        });
      } finally {
        await set('/%postname%/');
      }
      const before = readFileSync(place.configFile, 'utf8');
      place.configure((config) => void delete config.intake.webhook.woocommerce[0].rest.ca_file);
      expect(await both.doctor()).toMatchObject({
        status: 'fail',
        message: expect.stringMatching(/certificate|issuer/i),
      });
      place.configure((config) =>
        Object.assign(config.intake.webhook.woocommerce[0].rest, { ca_file: shop.caFile }),
      );
      expect(readFileSync(place.configFile, 'utf8')).toHaveLength(before.length);
      setKeys([shop.keys.read[0], 'cs_0000000000000000000000000000000000000000']);
      expect(await both.doctor()).toMatchObject({
        status: 'fail',
        message: expect.stringContaining('401'),
      });
      setKeys(shop.keys.readWrite);
    });

    it('accepts signed calls over plain http', async () => {
      const { hostname, port } = new URL(both.shop.url);
      const own = `http://${hostname}:${port}`;
      const [consumerKey, consumerSecret] = both.shop.keys.readWrite;
      const rest = {
        ...restSettings(own),
        ca: readFileSync(both.shop.caFile, 'utf8'),
        consumerKey,
        consumerSecret,
      };
      const sign = authorizationOf(rest, { wallMs: () => Date.now() });
      const paths = [
        "/products?sku=A'B%20(1)%2C*&_fields=sku%2Ctype",
        '/orders?modified_after=2026-01-01T00%3A00%3A00',
      ];
      for (const path of paths.map((tail) => `/wp-json/wc/v3${tail}`)) {
        // The address is the one in the shop's settings; its server listens for plain http one port
        // above.
        const answer = await fetch(`http://127.0.0.1:${Number(port) + 1}${path}`, {
          headers: { authorization: sign('GET', path) },
        });
        expect([path, answer.status]).toEqual([path, 200]);
      }
    });
  },
);
