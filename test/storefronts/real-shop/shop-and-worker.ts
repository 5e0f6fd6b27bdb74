import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  Installation,
  type InstallationOptions,
  type WorkerProcess,
} from '../../support/worker-process.ts';
import { commandLine } from '../read-back/shop-worker.ts';
import { RealShop, type Shown } from './real-shop.ts';

// Against a real shop, see `real-shop.ts`, one file after the other, because all of them use the
// same shop: WOO_TRIAL=<its folder> npx vitest run --no-file-parallelism test/storefronts/real-shop

export const folder = process.env['WOO_TRIAL'];
export const whySkipped =
  folder === undefined ? ' (skipped: WOO_TRIAL names no folder of one)' : '';
export const within = { timeout: 90_000, interval: 250 };

export const secret = 'a-webhook-secret-of-the-shop';
const card = (quantity: number) => ({ type: 'gift_card_order', variant: 'steam-usd-20', quantity });
const skus = {
  'STEAM-20': card(1),
  'STEAM-3PACK': card(3),
  'STEAM-V': card(1),
  'STEAM-V-20': card(1),
  'TRIAL-NEW': card(1),
  'TRIAL-DOWN': card(1),
  'FR-7D': { type: 'esim_order', plan: 'fr-daily-1gb', days: 7 },
  'TOPUP-FR': { type: 'esim_topup', plan: 'fr-1gb-7d' },
};

/** A port that nobody listens on, of those to which the shop may send webhooks. */
async function freePort(port = 22_811): Promise<number> {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!isFree) return await freePort(port + 1);
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

/** A row of the attention list. */
export interface AttentionRow {
  readonly id: string;
  readonly reason: string;
  readonly order_id: string | null;
  readonly message: string | null;
}

/** The attention list of a worker. */
export async function attentionOf(place: Installation): Promise<readonly AttentionRow[]> {
  const { stdout } = await commandLine(
    place,
    'orders',
    'list',
    '--attention',
    '--limit',
    '1000',
    '--json',
  );
  return JSON.parse(stdout).attention;
}

/** A worker's files, with the shop in its config. @param ofShop keys of the shop's section */
export async function placeFor(
  shop: RealShop,
  options: InstallationOptions,
  ofShop: Shown,
): Promise<Installation> {
  const place = await Installation.open({ timeScale: 0.1, webhook: {}, ...options });
  const map = join(place.folder, 'skus.yaml');
  writeFileSync(map, JSON.stringify({ skus }));
  const [consumer_key, consumer_secret] = shop.keys.readWrite;
  place.configure((config) => {
    const rest = {
      url: shop.url,
      ca_file: shop.caFile,
      consumer_key,
      consumer_secret,
      schedule: '*/5 * * * * *',
    };
    const write_back = { deliver_codes: 'note' };
    config.intake.webhook.woocommerce = [
      { shop: 'main', secrets: [{ value: secret }], sku_map: map, rest, write_back, ...ofShop },
    ];
  });
  return place;
}

async function becomes(found: () => unknown, value: unknown): Promise<void> {
  await expect.poll(found, within).toEqual(value);
}

export const lineOf = (shop: RealShop, sku: string, quantity = 1): Shown => ({
  product_id: shop.products[sku] ?? 0,
  quantity,
});

/**
 * A real shop, and a worker that receives its webhooks, reads it back and writes into its orders.
 */
export class ShopAndWorker {
  readonly shop: RealShop;
  readonly place: Installation;
  worker: WorkerProcess;
  readonly webhookIds: string[] = [];

  private constructor(shop: RealShop, place: Installation, worker: WorkerProcess) {
    this.shop = shop;
    this.place = place;
    this.worker = worker;
  }

  /**
   * @param ofShop keys of the shop's section
   * @param prepare what happens in the shop before the first start
   */
  static async open(
    options: InstallationOptions = {},
    ofShop: Shown = {},
    prepare: (shop: RealShop) => Promise<void> = () => Promise.resolve(),
  ): Promise<ShopAndWorker> {
    const shop = new RealShop(folder ?? '');
    shop.setFault(null);
    for (const { id } of (await shop.call('GET', '/webhooks?per_page=100')).list)
      await shop.call('DELETE', `/webhooks/${String(id)}?force=true`);
    await shop.deleteOrders();
    await prepare(shop);
    const port = await freePort();
    const place = await placeFor(
      shop,
      { webhook: { listen: `127.0.0.1:${port}` }, ...options },
      ofShop,
    );
    const worker = place.start();
    // A worker that does not start leaves no files behind.
    await worker.started().catch(async (error: unknown) => {
      await place.close();
      throw error;
    });
    const both = new ShopAndWorker(shop, place, worker);
    for (const topic of ['order.created', 'order.updated', 'order.deleted'])
      await both.#addWebhook(topic);
    return both;
  }

  async #addWebhook(topic: string): Promise<void> {
    const { webhook } = await this.worker.started();
    const delivery_url = `http://${String(webhook)}/webhooks/woocommerce/main`;
    const made = await this.shop.call('POST', '/webhooks', {
      name: topic,
      topic,
      secret,
      delivery_url,
    });
    this.webhookIds.push(String(made.value['id']));
  }

  async close(): Promise<void> {
    for (const id of this.webhookIds) await this.shop.call('DELETE', `/webhooks/${id}?force=true`);
    await this.shop.close();
    await this.place.close();
  }

  entriesOf(orderId: string) {
    return this.place.query<{ line: string; state: string; quantity: number }>(
      `SELECT l.line_id AS line, e.state, e.quantity FROM entries e JOIN lines l ON l.id = e.line_id
       JOIN requests r ON r.id = l.request_id WHERE r.order_id = '${orderId}' ORDER BY e.id`,
    );
  }

  statesOf(orderId: string): readonly string[] {
    return this.entriesOf(orderId).map(({ state }) => state);
  }

  /** What was bought for an order, and how often; what is open, too. */
  boughtFor(orderId: string): number {
    const bought = this.entriesOf(orderId).filter(
      ({ state }) => !['cancelled', 'rejected'].includes(state),
    );
    return bought.reduce((sum, { quantity }) => sum + quantity, 0);
  }

  flagsOf(orderId: string | null): readonly string[] {
    const order = orderId === null ? 'NULL' : `'${orderId}'`;
    const rows = this.place.query<{ code: string }>(
      `SELECT code FROM rejections WHERE order_id IS ${order} AND taken_back = 0`,
    );
    return rows.map(({ code }) => code);
  }

  codesOf(orderId: string): readonly string[] {
    const result = readFileSync(join(this.place.folder, 'results/main', `${orderId}.json`), 'utf8');
    return [...result.matchAll(/"code": ?"([^"]+)"/g)].map(([, code = '']) => code);
  }

  /** How many mails about an order have each of its codes. */
  timesMailed(orderId: string): readonly number[] {
    const mails = this.shop.mails(orderId);
    return this.codesOf(orderId).map((code) => mails.filter((body) => body.includes(code)).length);
  }

  /** A line of an order. */
  line(sku: string, quantity = 1): Shown {
    return lineOf(this.shop, sku, quantity);
  }

  async completed(orderId: string): Promise<void> {
    await becomes(() => this.shop.statusOf(orderId), 'completed');
  }

  /**
   * The present second is over: what the shop changes now has a later time than all that it changed
   * before.
   */
  async nextSecond(): Promise<void> {
    const endMs = Math.floor(Date.now() / 1000) * 1000 + 1000;
    await becomes(() => Date.now() >= endMs, true);
  }

  async settled(orderId: string, ...states: readonly string[]): Promise<void> {
    await becomes(() => this.statesOf(orderId), states);
  }

  /** The status of the webhook for changed orders. */
  async webhookStatus(): Promise<unknown> {
    return (await this.shop.call('GET', `/webhooks/${this.webhookIds[1] ?? ''}`)).value['status'];
  }

  /**
   * Nothing is being written into the shop. A change of an order delivers its webhooks, and
   * WooCommerce then saves each of them as it was read before: what is set in a webhook meanwhile
   * is lost.
   */
  async isQuiet(): Promise<void> {
    const due =
      'SELECT count(*) AS n FROM deliveries WHERE done_version < due_version AND due_steady < 9000000000000000';
    await becomes(() => this.place.query<{ n: number }>(due)[0]?.n, 0);
  }

  async setWebhooks(status: 'active' | 'paused' | 'disabled'): Promise<void> {
    for (const id of this.webhookIds) await this.shop.call('PUT', `/webhooks/${id}`, { status });
  }

  async start(): Promise<void> {
    this.worker = this.place.start();
    await this.worker.started();
  }

  async restart(
    signal: NodeJS.Signals = 'SIGTERM',
    change: (config: Shown) => void = () => undefined,
  ): Promise<void> {
    await this.worker.end(signal);
    this.place.configure(change);
    await this.start();
  }

  /** What is not there after a whole run of read-back does not come. */
  async afterReadBack(): Promise<void> {
    const { code, stdout } = await commandLine(this.place, 'reconcile');
    if (code !== 0) throw new Error(`the shop was not read back: exit code ${code}: ${stdout}`);
  }

  /** The rows of the attention list about an order. */
  async rowsOf(orderId: string): Promise<readonly AttentionRow[]> {
    return (await attentionOf(this.place)).filter((row) => row.order_id === orderId);
  }

  /** What `doctor` says about the shop. */
  async doctor(): Promise<Shown> {
    const { checks } = JSON.parse((await commandLine(this.place, 'doctor', '--json')).stdout);
    return checks.find(({ check }: Shown) => check === 'shop:main');
  }

  /** A path of the worker's own pages and metrics. */
  async ask(path: string): Promise<string> {
    const { admin } = await this.worker.started();
    return await (await fetch(`http://${String(admin)}${path}`)).text();
  }
}
