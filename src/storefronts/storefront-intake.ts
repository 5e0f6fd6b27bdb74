import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { messageText } from '../core/message-text.ts';
import { whatToDo } from '../core/operator/attention.ts';
import { normalSku, type SkuMap } from '../core/order/sku-map.ts';
import type { AcceptedLines } from '../store/intake/intake.ts';
import {
  notShown,
  type StorefrontAnswer,
  type StorefrontOrder,
} from '../store/storefronts/storefront-order.ts';
import type { Storefronts } from '../store/storefronts/storefronts.ts';
import { idOf, isObject } from './shop/payload-values.ts';
import {
  isVariation,
  planDeletion,
  planOrder,
  readKeptOrder,
  type RealOrder,
} from './plan-order.ts';
import type { WebhookFormat } from '../core/shop-webhook.ts';
import { unusableDelivery } from './shop/unusable-delivery.ts';
import type { ReadOrder, ShopApi } from './shop/shop-api.ts';
import { platformOf, webhookFormats } from './platforms.ts';
import { isOfOtherShop } from './shop/site.ts';
import type { Shop } from './settings.ts';
import type { ReadContext, ShopOrder, UnreadableOrder } from './shop/shop-order.ts';
import { SkuFile } from './sku-file.ts';

const oldMap = {
  reason: 'a changed SKU map has a mistake, so the last good SKU map stays in use',
  next: 'correct the SKU map: `order-sync skus check` names the mistake',
};
const followEveryMs = 5000;

interface StorefrontIntakeDeps {
  readonly shops: readonly Shop[];
  readonly store: Storefronts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The outbox has new lines, or lines were taken back. */
  readonly onChanged: (accepted: AcceptedLines) => void;
}

/** One state of an order, as a webhook delivered it or as the shop's API shows it. */
interface OrderSnapshot extends Omit<ReadContext, 'refunds' | 'nowMs'> {
  readonly document: unknown;
  readonly refunds: KnownRefunds;
  /** Absent: the shop cannot be asked at the moment. */
  readonly asked?: AskedShop | undefined;
  /** Nothing will read the order back: it is taken in by what is known. Absent: false. */
  readonly isLast?: boolean;
}

/** While so many orders wait to be read, a delivery that names more is flagged. */
const mostNamed = 1000;

interface AskedShop {
  readonly api: Pick<ShopApi, 'ownSkus' | 'paidMs'>;
  readonly signal: AbortSignal;
}

/**
 * The refunds of an order; `not_read`: they can be read when they are needed; `unknown`: they
 * cannot.
 */
type KnownRefunds = readonly unknown[] | 'not_read' | 'unknown';

export class StorefrontIntake {
  readonly formats = webhookFormats;
  readonly #handlers: ReadonlyMap<string, ShopHandler>;

  /** @throws OrderSyncError CONFIG_INVALID when a SKU map cannot be used */
  constructor(deps: StorefrontIntakeDeps) {
    this.#handlers = new Map(
      deps.shops.map((shop) => [`${shop.platform}/${shop.shop}`, new ShopHandler(shop, deps)]),
    );
  }

  handlerFor(platform: string, shop: string): ShopHandler | null {
    return this.#handlers.get(`${platform}/${shop}`) ?? null;
  }

  /** Puts changed SKU maps into use. Returns when to look again, in ms. */
  async followMaps(): Promise<number> {
    for (const handler of this.#handlers.values()) await handler.followMap();
    return followEveryMs;
  }

  /**
   * Why an operator should look: a changed SKU map cannot be used, or it lacks what was bought
   * lately; null: nothing.
   */
  details(): Readonly<Record<string, string>> | null {
    const handlers = [...this.#handlers.values()];
    if (handlers.some(({ skus }) => skus.problem !== null)) return oldMap;
    const reason = handlers.find(({ lostSkus }) => lostSkus !== null)?.lostSkus ?? null;
    return reason === null ? null : { reason, next: whatToDo('skus_lost') };
  }
}

export class ShopHandler {
  readonly shop: Shop;
  readonly webhook: WebhookFormat;
  readonly skus: SkuFile;
  /** Orders that deliveries named and did not have: to be read. */
  readonly named = new Set<string>();
  readonly #deps: StorefrontIntakeDeps;
  readonly #ownSkus = new Set<string>();
  /** By which the shop names itself; null: they were not read yet. */
  #sites: Set<string> | null = null;
  /** The map whose SKUs are remembered, and by which what waited for it was bought. */
  #followed: SkuMap | null = null;
  lostSkus: string | null = null;
  /** When a wrong signature came last, and none that is right since. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  /**
   * Why its orders come late; null: nothing is known. Undefined: an earlier start may have flagged
   * it.
   */
  problem: string | null | undefined;

  constructor(shop: Shop, deps: StorefrontIntakeDeps) {
    this.shop = shop;
    this.webhook = platformOf(shop).webhook;
    this.skus = new SkuFile(shop.skuMap, deps.clock, deps.logger);
    this.#deps = deps;
  }

  /** Takes in one state of an order. Its consequences are on disk when this resolves. */
  async take(snapshot: OrderSnapshot): Promise<StorefrontAnswer> {
    const { document, refunds, topic, isListed, site } = snapshot;
    if (!isListed) await this.#endRefused();
    const now = { ...this.#context(), isReadNow: isListed };
    const platform = platformOf(this.shop);
    const sender = site === undefined ? null : platform.siteOf(site);
    // The ids of a copy are those of the shop: nothing of it may change what is known.
    if (sender !== null && !(await this.#isOwn([sender], snapshot))) return { kind: 'other_shop' };
    const deleted = topic === this.webhook.deletedTopic ? deletedOrderId(document) : null;
    if (deleted !== null) return await this.#take(planDeletion(deleted, this.shop, now));
    const context = {
      ...snapshot,
      refunds: typeof refunds === 'string' ? null : refunds,
      nowMs: now.nowMs,
    };
    const reading = platform.readOrder(document, this.shop, context);
    if (reading.kind === 'other') return isListed ? reading : await this.#takeUnusable(snapshot);
    if (reading.kind === 'unreadable') return await this.#flagUnreadable(reading, snapshot);
    const { order } = reading;
    const { state } = order;
    if (!(await this.#isOwn(order.sites, snapshot))) return { kind: 'other_shop' };
    if (state === 'test') return { kind: 'test', order };
    return await this.#takeReal({ ...order, state }, snapshot, await this.#earliestMs());
  }

  async #takeReal(
    order: RealOrder,
    snapshot: Omit<OrderSnapshot, 'isTest' | 'topic'>,
    earliestMs: number,
  ): Promise<StorefrontAnswer> {
    const { refunds, isListed } = snapshot;
    const inUse = await this.skus.current(false);
    const isLater = refunds === 'not_read' && this.skus.isBeingRead;
    // A webhook is answered at once: its order is read back when the new map is in use. Without
    // read-back only an order with SKUs that the old map lacks waits.
    const isOld = isLater || (!isListed && order.lines.every(({ sku }) => inUse.has(sku)));
    const skus = isOld ? inUse : await this.skus.current();
    const areProven = await this.#proveSkus(order, snapshot, skus);
    const ownSkus = snapshot.isLast === true || this.shop.rest === null ? null : this.#ownSkus;
    const paidMs = await this.#paidMs(order, snapshot, earliestMs, skus);
    const known = { ...order, paidMs: paidMs === 'not_read' ? null : paidMs };
    const shown = [...order.lines, ...order.unreadable].flatMap(({ sku }) =>
      sku === null ? [] : [normalSku(sku)],
    );
    const asked = { source: this.shop.source, skus: JSON.stringify(shown) };
    const before = await this.#deps.store.mappedBefore(asked);
    const now = { ...this.#context(), isReadNow: isListed };
    const plan = planOrder(known, this.shop, skus, { ...now, earliestMs, ownSkus, before });
    // Another map may have come into use meanwhile, which has what this one lacks.
    if (skus !== this.#followed) this.#followed = null;
    const isRead =
      !isLater &&
      areProven &&
      paidMs !== 'not_read' &&
      (!order.refundUnclear || refunds !== 'not_read');
    if (isRead) {
      const answer = await this.#take(plan);
      const { stale, flagged } = answer.taken;
      const canAsk = !isListed && this.shop.rest !== null && snapshot.isLast !== true;
      if (!stale || flagged === 0 || order.state !== 'closed' || !canAsk) return answer;
      const { source } = this.shop;
      await this.#deps.store.awaitReading({ source, orderId: order.orderId, nowMs: now.nowMs });
      return { kind: 'needs_refunds', order };
    }
    const taken = await this.#deps.store.takeOrder({ ...plan, lines: null });
    return taken.stale ? { kind: 'taken', order, taken } : { kind: 'needs_refunds', order };
  }

  /**
   * Whether the shop is known by these, or by nothing of their kind yet. An order from its own API
   * is always its own.
   */
  async #isOwn(sites: readonly string[], { isListed, document }: OrderSnapshot): Promise<boolean> {
    const { store } = this.#deps;
    const { source, rest, sites: others } = this.shop;
    const { siteOf } = platformOf(this.shop);
    this.#sites ??= new Set([
      ...(await store.sitesOf(source)),
      ...[...(rest === null ? [] : [rest.url]), ...others].flatMap(
        (address) => siteOf(address) ?? [],
      ),
    ]);
    const known = this.#sites;
    const { nowMs } = this.#context();
    if (!isListed && isOfOtherShop(sites, known)) {
      const named = sites.map((site) => messageText(site, 200)).join(', ');
      const id = isObject(document) ? (idOf(document['id']) ?? '') : '';
      const rule = `orders name another shop (${named}) than this one (${[...known].join(', ')}): these orders were not taken in; the last one was ${id}`;
      await store.flagShop({ source, code: 'other_shop', rule, nowMs });
      this.#deps.onChanged(new Map());
      return false;
    }
    for (const site of sites.filter((one) => !known.has(one))) {
      await store.rememberSite({ source, site });
      known.add(site);
    }
    return true;
  }

  /** An order that was paid before is an old sale. The times of shops are whole seconds. */
  async #earliestMs(): Promise<number> {
    const { source, lookbackH } = this.shop;
    const connectedMs = (await this.#deps.store.connectedAt(source)) ?? 0;
    return Math.floor(connectedMs / 1000) * 1000 - lookbackH * 3_600_000;
  }

  /**
   * When an order was paid: as it says itself, as an earlier state told, or as its payments say.
   * One that was placed lately was paid lately. Null: nobody knows it. `not_read`: the shop must be
   * asked.
   */
  async #paidMs(
    order: RealOrder,
    snapshot: Pick<OrderSnapshot, 'asked' | 'document' | 'isLast'>,
    earliestMs: number,
    skus: SkuMap,
  ): Promise<number | null | 'not_read'> {
    const { maxAgeH, source, rest } = this.shop;
    const { orderId, paidMs, placedMs, state } = order;
    if (platformOf(this.shop).showsPayment || placedMs === null || state !== 'paid') return paidMs;
    const { nowMs } = this.#context();
    const seen = await this.#deps.store.seenOrder({ source, orderId });
    const told = seen?.paidMs ?? paidMs ?? (seen?.state === 'unpaid' ? nowMs : null);
    if (told !== null) return told;
    if (placedMs >= Math.max(earliestMs, nowMs - maxAgeH * 3_600_000)) return placedMs;
    if (rest === null || snapshot.isLast === true || !order.lines.some(({ sku }) => skus.has(sku)))
      return null;
    const { asked, document } = snapshot;
    return asked === undefined
      ? 'not_read'
      : ((await asked.api.paidMs?.(document, asked.signal)) ?? null);
  }

  /** Learns which variations show a SKU of their own. False: the shop must be asked first. */
  async #proveSkus(
    { lines }: Pick<ShopOrder, 'lines'>,
    { asked, isLast = false }: Pick<OrderSnapshot, 'asked' | 'isLast'>,
    skus: SkuMap,
  ): Promise<boolean> {
    const shown = lines.flatMap(({ sku, product }) =>
      isVariation(product) && skus.has(sku) ? [sku] : [],
    );
    const unproven = [...new Set(shown)].filter((sku) => !this.#ownSkus.has(normalSku(sku)));
    if (unproven.length === 0 || isLast || this.shop.rest === null) return true;
    if (asked === undefined) return false;
    const own = await asked.api.ownSkus?.(unproven, asked.signal);
    for (const sku of own ?? unproven) this.#ownSkus.add(normalSku(sku));
    return true;
  }

  /**
   * Puts a changed SKU map into use: remembers it, and takes in again the orders with SKUs that the
   * map lacked.
   */
  async followMap(): Promise<void> {
    const { store, clock } = this.#deps;
    const { source } = this.shop;
    const skus = await this.skus.current();
    if (skus !== this.#followed) {
      await store.useSkus({
        source,
        skus: JSON.stringify(skus.normalForms),
        nowMs: clock.wallMs(),
      });
      this.#followed = skus;
      try {
        for (const { orderId, sku } of await store.unknownSkus(source)) {
          // A shop that sells much else has thousands of others.
          const kept = skus.has(sku) ? await store.keptOrder(source, orderId) : null;
          // It was no old sale when it was kept.
          if (kept !== null)
            await this.#takeReal(
              readKeptOrder(kept),
              { document: null, refunds: 'unknown', isListed: false },
              0,
            );
          await clock.sleep(1);
        }
      } catch (error) {
        this.#followed = null;
        throw error;
      }
    }
    this.lostSkus = await store.lostSkus(source);
  }

  /** Takes in an order as the shop's API shows it now. */
  async takeRead(
    document: unknown,
    refunds: KnownRefunds,
    asked: AskedShop,
  ): Promise<StorefrontAnswer> {
    const answer = await this.take({
      document,
      refunds,
      asked,
      isTest: false,
      topic: null,
      isListed: true,
    });
    if (answer.kind === 'taken' && answer.taken.accepted > 0) await this.#flagRefused();
    return answer;
  }

  signatureRefused(): void {
    this.#refusedMs = this.#deps.clock.steadyMs();
  }

  /** Anybody can send a wrong signature: it counts once an order's webhook is missing, too. */
  async #flagRefused(): Promise<void> {
    const { clock, store } = this.#deps;
    if (clock.steadyMs() - this.#refusedMs > 3_600_000) return;
    this.problem = `the shop ${this.shop.shop} signs its webhooks with a secret that is not in \`secrets\``;
    const flag = { source: this.shop.source, code: 'signature_refused', rule: this.problem };
    await store.flagShop({ ...flag, nowMs: clock.wallMs() });
  }

  async #endRefused(): Promise<void> {
    this.#refusedMs = Number.NEGATIVE_INFINITY;
    if (this.problem === null) return;
    this.problem = null;
    await this.#deps.store.endShopFlag({ source: this.shop.source, code: 'signature_refused' });
  }

  async flagUnread(orderId: string | null, rule: string): Promise<StorefrontAnswer> {
    const reading = {
      kind: 'unreadable',
      orderId,
      modifiedMs: null,
      field: notShown,
      rule,
    } as const;
    return await this.#flagUnreadable(reading, { document: rule, topic: null });
  }

  /** Takes in an order that the shop was asked for just now; null: it has the order no more. */
  async takeNow(
    orderId: string,
    read: ReadOrder | null,
    asked: AskedShop,
  ): Promise<StorefrontAnswer> {
    if (read !== null) return await this.takeRead(read.value, read.refunds, asked);
    return await this.#take(
      planDeletion(orderId, this.shop, { ...this.#context(), isReadNow: true }),
    );
  }

  async #take(order: StorefrontOrder): Promise<StorefrontAnswer & { readonly kind: 'taken' }> {
    const { store, logger, onChanged } = this.#deps;
    const taken = await store.takeOrder(order);
    if (taken.accepted + taken.takenBack + taken.flagged + taken.released > 0) {
      const { platform, shop } = this.shop;
      logger.info(
        { platform, shop, order_id: order.orderId, ...taken },
        'storefront order taken in',
      );
      onChanged(new Map([[order.source, taken.accepted]]));
    }
    return { kind: 'taken', order, taken };
  }

  async #flagUnreadable(
    reading: UnreadableOrder,
    { document, topic }: Pick<OrderSnapshot, 'document' | 'topic'>,
  ): Promise<StorefrontAnswer> {
    const { store, logger, onChanged } = this.#deps;
    const { platform, shop, source } = this.shop;
    const { orderId, modifiedMs, field, rule } = reading;
    const content = hash('sha256', JSON.stringify(document), 'hex').slice(0, 16);
    const about =
      topic === null ? "read from the shop's list of orders" : `webhook ${messageText(topic, 64)}`;
    const order = { source, orderId, modifiedMs, field, rule, ...this.#context() };
    const flagged = await store.flagUnreadableOrder({
      ...order,
      origin: `${about}, content ${content}`,
    });
    if (flagged > 0) {
      const details = { platform, shop, order_id: orderId, field, rule, topic, content };
      logger.error(
        details,
        'an order of the shop cannot be read and was not bought: review it in the shop',
      );
      onChanged(new Map());
    }
    return { kind: 'unreadable', orderId, flagged };
  }

  async #takeUnusable({ document, topic, refunds }: OrderSnapshot): Promise<StorefrontAnswer> {
    const found = unusableDelivery(document, topic ?? '');
    if (found === null) return { kind: 'other' };
    if (refunds === 'not_read' && found.ids.length > 0 && this.named.size < mostNamed) {
      for (const id of found.ids) this.named.add(id);
      return { kind: 'other', result: 'read_back' };
    }
    await this.flagUnusable(found.rule, found.code);
    return { kind: 'other', result: 'unusable' };
  }

  async flagUnusable(rule: string, code = 'unusable_no_order'): Promise<void> {
    const { store, logger, onChanged } = this.#deps;
    const { platform, shop, source } = this.shop;
    await store.flagShop({ source, code, rule, nowMs: this.#context().nowMs });
    logger.error({ platform, shop, code, rule }, 'a webhook about orders cannot be used');
    onChanged(new Map());
  }

  #context(): { actor: string; nowMs: number } {
    const { platform, shop } = this.shop;
    return { actor: `${platform}:${shop}`, nowMs: this.#deps.clock.wallMs() };
  }
}

/**
 * The id of a deleted order. Null when the document has more: it is read as an order then, whatever
 * its headers say.
 */
function deletedOrderId(document: unknown): string | null {
  return isObject(document) && Object.keys(document).length === 1 ? idOf(document['id']) : null;
}
