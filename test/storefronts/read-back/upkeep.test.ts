import { describe, expect, it } from 'vitest';
import {
  minutesAgo,
  numbersAsText,
  oneCard,
  oneRefunded,
  readBackOf,
} from './running-read-back.ts';
import { StubWooCommerce } from './stub-shop.ts';

const webhookTo = (delivery_url: string, status = 'disabled', id = 7) => ({
  id,
  topic: 'order.updated',
  status,
  delivery_url,
});

const asksForWebhooks = (stub: StubWooCommerce): number =>
  stub.asked().filter((path) => /webhooks\?/.test(path)).length;

describe('webhooks that the shop has switched off', () => {
  it('are switched on at the start, and only those that send orders to this shop of the worker', async () => {
    const stub = await new StubWooCommerce().open();
    stub.webhooks.push(
      webhookTo('https://worker.example/webhooks/woocommerce/main/'),
      webhookTo('https://worker.example/webhooks/woocommerce/other', 'disabled', 8),
      webhookTo('https://worker.example/webhooks/woocommerce/main', 'paused', 9),
      {
        ...webhookTo('https://worker.example/webhooks/woocommerce/main', 'disabled', 10),
        topic: 'product.updated',
      },
    );
    const running = await readBackOf('woocommerce', stub);
    await running.readBack.start();
    await running.logged(
      'the shop had switched off a webhook after failed deliveries: the worker switched it on again',
    );
    expect(stub.webhooks.map(({ status }) => status)).toEqual([
      'active',
      'disabled',
      'paused',
      'disabled',
    ]);
    expect([running.readBack.health(), running.readBack.details()]).toEqual(['pass', null]);
    expect(running.flagged()).toEqual([]);
  });

  it('are told while the key may only read, until somebody has switched them on', async () => {
    const stub = await new StubWooCommerce().open();
    stub.permission = 'read';
    stub.webhooks.push(webhookTo('https://worker.example/webhooks/woocommerce/main'));
    const running = await readBackOf('woocommerce', stub);
    const { readBack, flagged } = running;
    const done = (): boolean => readBack.health() === 'warn' && flagged().length > 0;
    await readBack.start();
    await expect.poll(done).toBe(true);
    expect(readBack.details()).toMatchObject({
      reason: expect.stringMatching(/main has switched off its webhook 7/),
    });
    expect(flagged()).toEqual(['null/null webhook_off']);
    Object.assign(stub.webhooks[0] ?? {}, { status: 'active' });
    readBack.notify({ platform: 'woocommerce', shop: 'main' });
    await expect.poll(() => readBack.health()).toBe('pass');
    expect([readBack.details(), flagged()]).toEqual([null, []]);
  });

  it('are told when the shop switches them off again, because it does not reach the worker', async () => {
    const stub = await new StubWooCommerce().open();
    stub.webhooks.push(webhookTo('https://worker.example/webhooks/woocommerce/main'));
    const { readBack, flagged } = await readBackOf('woocommerce', stub);
    await readBack.start();
    await expect.poll(() => stub.webhooks[0]?.status).toBe('active');
    expect([readBack.health(), flagged()]).toEqual(['pass', []]);
    Object.assign(stub.webhooks[0] ?? {}, { status: 'disabled' });
    stub.put({ id: '1', modifiedMs: minutesAgo(1), body: oneCard('11') });
    readBack.notify({ platform: 'woocommerce', shop: 'main' });
    await expect
      .poll(() => [readBack.health(), flagged()])
      .toEqual(['warn', ['null/null webhook_off']]);
    expect(stub.webhooks[0]?.status).toBe('active');
    const before = asksForWebhooks(stub);
    readBack.notify({ platform: 'woocommerce', shop: 'main' });
    await expect.poll(() => asksForWebhooks(stub)).toBeGreaterThan(before);
    expect([readBack.health(), flagged()]).toEqual(['warn', ['null/null webhook_off']]);
  });

  it('are looked for within the hour when read-back brings an order whose webhook was lost', async () => {
    const stub = await new StubWooCommerce().open();
    const { readBack } = await readBackOf('woocommerce', stub);
    await readBack.start();
    await expect.poll(() => asksForWebhooks(stub)).toBe(1);
    stub.put({ id: '1', modifiedMs: minutesAgo(1), body: oneCard('11') });
    stub.webhooks.push(webhookTo('https://worker.example/webhooks/woocommerce/main'));
    readBack.notify({ platform: 'woocommerce', shop: 'main' });
    await expect.poll(() => stub.webhooks[0]?.status).toBe('active');
  });
});

describe('what the shop deleted without a webhook', () => {
  it('is taken back: an order that it does not know any more, one in the trash; others are not read', async () => {
    const stub = await new StubWooCommerce().open();
    for (const id of ['1', '2', '3'])
      stub.put({ id, modifiedMs: minutesAgo(600), body: oneCard(`${id}1`) });
    const running = await readBackOf('woocommerce', stub);
    await running.run();
    expect(running.bought()).toHaveLength(3);
    stub.orders.splice(0, 1);
    Object.assign(stub.orders[0]?.body ?? {}, { status: 'trash' });
    await running.readBack.start();
    const gone = [
      '1/11 1 x steam-usd-20 cancelled',
      '2/21 1 x steam-usd-20 cancelled',
      '3/31 1 x steam-usd-20 pending',
    ];
    await expect.poll(running.bought).toEqual(gone);
    expect(stub.asked().filter((path) => path.endsWith('/orders/3'))).toEqual([]);
  });

  it('is flagged: a refund that was deleted, because the customer is to get its line after all', async () => {
    const stub = await new StubWooCommerce().open();
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(600),
      body: oneCard('11'),
      refunds: oneRefunded('11'),
    });
    const running = await readBackOf('woocommerce', stub);
    const webhook = {
      isTest: false,
      topic: 'order.updated',
      isListed: false,
      refunds: 'unknown',
    } as const;
    const before = { ...stub.shown({ ...order, refunds: [], modifiedMs: minutesAgo(601) }) };
    await running.handler.take({ document: numbersAsText(before), ...webhook });
    await running.run();
    expect(running.bought()).toEqual(['1/11 1 x steam-usd-20 cancelled']);
    // The list of changed orders begins after it now.
    stub.put({ id: '2', modifiedMs: minutesAgo(1), body: oneCard('21') });
    await running.run();
    order.refunds.splice(0);
    await running.readBack.start();
    await expect.poll(running.flagged).toEqual(['1/11 two_states_in_one_second']);
  });
});
