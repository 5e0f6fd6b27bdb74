import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { openOutbox } from '../../../src/app/open-outbox.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { commandLine } from '../../storefronts/read-back/shop-worker.ts';
import {
  shopifyApp,
  StubShopify,
  type StubShop,
  StubWooCommerce,
  woo,
} from '../../storefronts/read-back/stub-shop.ts';
import { writeLongAgo } from '../../storefronts/storefront-shops.ts';
import { Installation, type WorkerProcess } from '../../support/worker-process.ts';
import { type Delivery, nothing, oneCard, type Row, usualMap, woo as sentOrder } from './rows.ts';

/** What became of a row. */
interface Outcome {
  readonly bought: readonly string[];
  readonly told: readonly string[];
  readonly missingTexts: readonly string[];
  readonly count: number | null;
}

interface Shop {
  readonly row: Row;
  readonly platform: 'woocommerce' | 'shopify';
  readonly name: string;
  readonly secret: string;
  readonly skuFile: string;
  readonly stub: StubShop | null;
}

export const wanted = ({ bought = oneCard, told = nothing, count }: Row): Outcome => ({
  bought: bought.toSorted(),
  told: told.toSorted(),
  missingTexts: [],
  count: count ?? null,
});

/**
 * Plays all rows in one worker, each in a shop of its own. Returns what became of them, by name.
 */
export async function outcomesOf(
  rows: readonly Row[],
  patienceMs = 8000,
): Promise<ReadonlyMap<string, Outcome>> {
  const week = await FirstWeek.open(rows);
  await week.play();
  // A repair or a read of a shop may come a moment later. Rows that are right end the wait.
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const outcomes = week.outcomes();
    const isRight = rows.every(
      (row) => JSON.stringify(outcomes.get(row.name)) === JSON.stringify(wanted(row)),
    );
    if (isRight || performance.now() > untilMs) return outcomes;
    await pause();
  }
}

const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 50));

class FirstWeek {
  readonly #installation: Installation;
  readonly #shops: readonly Shop[];
  #worker: WorkerProcess | null = null;

  private constructor(installation: Installation, shops: readonly Shop[]) {
    this.#installation = installation;
    this.#shops = shops;
  }

  static async open(rows: readonly Row[]): Promise<FirstWeek> {
    const installation = await Installation.open({ webhook: {} });
    onTestFinished(() => installation.close());
    const shops: Shop[] = [];
    for (const [index, row] of [...rows, sentinel].entries()) {
      const { platform = 'woocommerce' } = row;
      const stub =
        row.read === undefined
          ? null
          : platform === 'shopify'
            ? new StubShopify()
            : new StubWooCommerce();
      if (stub !== null) {
        await stub.open();
        row.read?.(stub);
      }
      const name = `shop-${index + 1}`;
      const skuFile = join(installation.folder, `${name}.yaml`);
      writeFileSync(skuFile, `skus:${row.map ?? usualMap}`);
      shops.push({ row, platform, name, secret: `the-secret-of-${name}`, skuFile, stub });
    }
    const week = new FirstWeek(installation, shops);
    await week.#connect();
    return week;
  }

  /**
   * Creates the outbox as a worker that was connected with the shops earlier has left it, and
   * starts one.
   */
  async #connect(): Promise<void> {
    this.#configure();
    const { config } = loadConfig({ file: this.#installation.configFile, environment: {} });
    await openOutbox(config, 'if-missing').store.close();
    const database = new SqliteDatabase(this.#installation.databasePath);
    const connect = database.prepare(
      'INSERT INTO storefronts (source, connected_at_ms) VALUES (?, ?)',
    );
    for (const { row, name } of this.#shops) {
      if (row.connectedH !== 0)
        connect.run(name, Date.now() - (row.connectedH ?? 30 * 24) * 3_600_000);
    }
    database.close();
    this.#worker = this.#installation.start();
    await this.#worker.started();
  }

  #configure(): void {
    this.#installation.configure((config) => {
      for (const platform of ['woocommerce', 'shopify'] as const) {
        config.intake.webhook[platform] = this.#shops
          .filter((shop) => shop.platform === platform)
          .map(sectionOf);
      }
    });
  }

  async play(): Promise<void> {
    const steps = Math.max(...this.#shops.map(({ row }) => row.steps.length));
    for (let at = 0; at < steps; at += 1) {
      const played = this.#shops.filter(({ row }) => at < row.steps.length && row !== sentinel);
      await Promise.all(played.map((shop) => this.#playStep(shop, at)));
      if (played.some(({ stub }) => stub !== null)) await this.#readBack();
      await this.#settled();
    }
    for (const shop of this.#shops) if (shop.row === sentinel) await this.#playStep(shop, 0);
    await this.#settled();
    const { name } = this.#shops.at(-1) ?? { name: '' };
    while (!this.#bought().has(name)) await pause();
  }

  async #playStep(shop: Shop, at: number): Promise<void> {
    const step = shop.row.steps[at];
    if (step === undefined) return;
    if ('skus' in step) await this.#mapSkus(shop, step.skus);
    else if ('inShop' in step) step.inShop(stubOf(shop));
    else for (const delivery of [step].flat()) await this.#deliver(shop, delivery);
  }

  /** Resolves once the changed map is in use. The worker looks at it when somebody asks for it. */
  async #mapSkus({ skuFile }: Shop, skus: string): Promise<void> {
    const inUse = () =>
      this.#worker?.log.filter(
        ({ msg, file }) => file === skuFile && msg === 'the changed SKU map is in use',
      ).length ?? 0;
    const before = inUse();
    writeLongAgo(skuFile, `skus:${skus}`);
    const { admin } = (await this.#worker?.started()) ?? { admin: null };
    while (inUse() === before) {
      await (await fetch(`http://${String(admin)}/healthz`)).arrayBuffer();
      await pause();
    }
  }

  /** Whatever the worker answers: what becomes of the order counts. */
  async #deliver(
    shop: Shop,
    { body, topic, headers = {}, path = (usual) => usual }: Delivery,
  ): Promise<void> {
    const sent: unknown = typeof body === 'function' ? body() : body;
    const text = typeof sent === 'string' ? sent : JSON.stringify(sent);
    const started = await this.#worker?.started();
    const signature = createHmac('sha256', shop.secret).update(text).digest('base64');
    const own: Record<string, string> =
      shop.platform === 'shopify'
        ? { 'x-shopify-topic': topic, 'x-shopify-hmac-sha256': signature }
        : { 'x-wc-webhook-topic': topic, 'x-wc-webhook-signature': signature };
    const address = `http://${String(started?.['webhook'])}${path(`/webhooks/${shop.platform}/${shop.name}`)}`;
    const answered = fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...own, ...headers },
      body: text,
    });
    // The worker may end the connection while a body comes that is too large.
    await answered.then((response) => response.arrayBuffer()).catch(() => undefined);
  }

  async #readBack(): Promise<void> {
    await commandLine(this.#installation, 'reconcile');
  }

  async #settled(): Promise<void> {
    const open = `SELECT count(*) AS n FROM entries
      WHERE state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')`;
    while ((this.#installation.query<{ n: number }>(open)[0]?.n ?? 1) > 0) await pause();
  }

  /** By source: units of each line, as the sandbox sold them. */
  #bought(): ReadonlyMap<string, readonly string[]> {
    const lines = this.#installation.query<{ reference: string; source: string; line: string }>(
      `SELECT e.reference, r.source, r.order_id || '/' || l.line_id AS line
       FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id`,
    );
    const lineOf = new Map(lines.map((line) => [line.reference, line]));
    const units = new Map<string, Map<string, number>>();
    for (const { reference, quantity } of this.#installation.sandbox.ledger().orders) {
      const { source, line } = lineOf.get(reference) ?? { source: '?', line: reference };
      const ofSource = units.get(source) ?? new Map<string, number>();
      ofSource.set(line, (ofSource.get(line) ?? 0) + quantity);
      units.set(source, ofSource);
    }
    return new Map(
      [...units].map(([source, of]) => [
        source,
        [...of].map(([line, n]) => `${line} ${n}`).toSorted(),
      ]),
    );
  }

  #logOf(name: string): string {
    const lines = (this.#worker?.log ?? []).map((line) => JSON.stringify(line));
    return lines.filter((line) => line.includes(`"${name}"`)).join('\n');
  }

  outcomes(): ReadonlyMap<string, Outcome> {
    const bought = this.#bought();
    const rows = this.#installation.query<Attention>(
      `SELECT source, coalesce(order_id, 'shop') || ' ' || code AS told, coalesce(message, '') AS message,
         order_id IS NULL AS isShop, json_extract(evidence, '$.count') AS count FROM outbox_attention`,
    );
    return new Map(
      this.#shops.map(({ row, name }) => {
        const own = rows.filter(({ source }) => source === name);
        const messages = own.map(({ message }) => message).join('\n');
        const outcome: Outcome = {
          bought: bought.get(name) ?? [],
          told: [...new Set(own.map(({ told }) => told))].toSorted(),
          missingTexts: [
            ...(row.says ?? []).filter((text) => !messages.includes(text)),
            ...(row.logs ?? []).filter((text) => !this.#logOf(name).includes(text)),
          ],
          count:
            row.count === undefined
              ? null
              : Number(own.find(({ isShop }) => isShop === 1)?.count ?? 0),
        };
        return [row.name, outcome];
      }),
    );
  }
}

/** Bought last: whatever is wrongly bought before it is seen. */
const sentinel: Row = { name: 'the sentinel', source: '', steps: [sentOrder()] };

function stubOf({ row, stub }: Shop): StubShop {
  if (stub === null) throw new Error(`"${row.name}" has a shop that is read`);
  return stub;
}

function sectionOf({ row, platform, name, secret, skuFile, stub }: Shop): Record<string, unknown> {
  const keys =
    platform === 'shopify'
      ? { access_token: shopifyApp.token }
      : { consumer_key: woo.key, consumer_secret: woo.secret };
  return {
    shop: name,
    secrets: [{ value: secret }],
    sku_map: skuFile,
    ...row.shop,
    // The schedule never comes: the shop is read at the start, and when the table says so.
    ...(stub !== null && { rest: { url: stub.url, schedule: '0 0 1 1 *', ...keys } }),
  };
}

interface Attention {
  readonly source: string | null;
  readonly told: string;
  readonly message: string;
  readonly isShop: number;
  readonly count: string | null;
}
