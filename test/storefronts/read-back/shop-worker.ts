import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../../src/cli/commands/program.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import {
  Installation,
  type InstallationOptions,
  type WorkerProcess,
} from '../../support/worker-process.ts';
import { StubWooCommerce, woo } from './stub-shop.ts';
import { withNumericIds } from '../../support/shops/shop-order.ts';

const secret = 'a-webhook-secret-of-the-shop';

/** An installation whose worker receives the webhooks of a WooCommerce shop and reads it back. */
export async function installationFor(
  stub: StubWooCommerce,
  rest: Record<string, unknown> = {},
  options: InstallationOptions = {},
): Promise<Installation> {
  const installation = await Installation.open({
    ...options,
    webhook: {
      woocommerce: [
        {
          shop: 'main',
          secrets: [{ value: secret }],
          sku_map: 'SKUS',
          lookback_h: 24,
          rest: {
            url: stub.url,
            consumer_key: woo.key,
            consumer_secret: woo.secret,
            schedule: '0 0 1 1 *',
            ...rest,
          },
        },
      ],
    },
  });
  onTestFinished(() => installation.close());
  const skus = join(installation.folder, 'skus.yaml');
  writeFileSync(skus, 'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }\n');
  writeFileSync(
    installation.configFile,
    readFileSync(installation.configFile, 'utf8').replace('SKUS', skus),
  );
  return installation;
}

/** A shop, and a worker that has read it once: it relies on the shop's answers. */
export async function workerThatHasRead(rest: Record<string, unknown> = {}) {
  const stub = await new StubWooCommerce().open();
  const installation = await installationFor(stub, rest);
  const worker = installation.start();
  await worker.started();
  await stub.asks(1);
  const { code } = await commandLine(installation, 'reconcile');
  if (code !== 0) throw new Error(`the shop was not read back: exit code ${code}`);
  return { stub, installation, worker };
}

/** Runs the command line, while a worker runs or without one. */
export async function commandLine(
  installation: Installation,
  ...argv: string[]
): Promise<{ code: number; stdout: string }> {
  let stdout = '';
  const code = await runCommandLine([...argv, '--config', installation.configFile], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: () => undefined },
    clock: new SystemClock(),
  });
  return { code, stdout };
}

/** How many orders the sandbox sold to this installation. */
export const boughtBy = (installation: Installation): number =>
  installation.sandbox.ledger().orders.length;

/** Delivers an order as the shop's webhook does. Rejects when no worker listens. */
export async function deliver(
  worker: WorkerProcess,
  order: Record<string, unknown>,
): Promise<unknown> {
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
export async function settled(installation: Installation): Promise<void> {
  const open =
    "SELECT count(*) AS n FROM entries WHERE state NOT IN ('fulfilled', 'cancelled', 'rejected')";
  while ((installation.query<{ n: number }>(open)[0]?.n ?? 1) > 0)
    await new Promise((resolve) => void setTimeout(resolve, 100));
}

/** The log line of a run that found orders. */
export const foundOrders = (line: { msg: string }): boolean =>
  line.msg.startsWith('read-back found orders');
