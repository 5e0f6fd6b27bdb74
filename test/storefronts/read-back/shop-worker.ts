import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Installation, type InstallationOptions, type WorkerProcess } from '../../support/worker-process.ts';
import { type StubWooCommerce, withNumericIds, woo } from './stub-shop.ts';

const secret = 'a-webhook-secret-of-the-shop';

/** A house whose worker takes the webhooks of a WooCommerce shop, and reads the stub back. */
export async function houseOf(
  stub: StubWooCommerce,
  rest: Record<string, unknown> = {},
  options: InstallationOptions = {},
): Promise<Installation> {
  const house = await Installation.open({
    ...options,
    webhook: {
      woocommerce: [
        {
          shop: 'main',
          secrets: [{ value: secret }],
          sku_map: 'SKUS',
          rest: {
            url: stub.url,
            consumer_key: woo.key,
            consumer_secret: woo.secret,
            lookback_h: 24,
            request_interval_ms: 0,
            schedule: '0 0 1 1 *',
            ...rest,
          },
        },
      ],
    },
  });
  onTestFinished(() => house.close());
  const skus = join(house.folder, 'skus.yaml');
  writeFileSync(skus, 'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }\n');
  writeFileSync(house.configFile, readFileSync(house.configFile, 'utf8').replace('SKUS', skus));
  return house;
}

/** Delivers an order as the shop's webhook does. Rejects when no worker listens. */
export async function deliver(worker: WorkerProcess, order: Record<string, unknown>): Promise<unknown> {
  const { webhook } = await worker.started();
  const body = withNumericIds(order);
  const response = await fetch(`http://${String(webhook)}/webhooks/woocommerce/main`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-wc-webhook-signature': createHmac('sha256', secret).update(body).digest('base64'),
    },
    body,
  });
  return await response.json();
}

/** Waits until every entry is final. */
export async function settled(house: Installation): Promise<void> {
  const open = "SELECT count(*) AS n FROM entries WHERE state NOT IN ('fulfilled', 'cancelled', 'rejected')";
  while ((house.query<{ n: number }>(open)[0]?.n ?? 1) > 0)
    await new Promise((resolve) => void setTimeout(resolve, 100));
}

/** The log line of a run that found orders. */
export const foundOrders = (line: { msg: string }): boolean => line.msg.startsWith('read-back found orders');
