import type { Buffer } from 'node:buffer';
import type { SkuMap } from '../../core/order/sku.ts';
import { type ReadOrders, readOrders } from './read-orders.ts';
import { readShopOrder } from './read-shop-order.ts';
import type { ShopForm, WebhookSettings } from './settings.ts';

/** A SKU map that follows the changes of its file. */
export interface SkuSource {
  current(): SkuMap;
  /** Why the newest version of the file is not in use; null when it is. */
  readonly problem: string | null;
}

/** Throws CONFIG_INVALID when the file cannot be used. */
export type OpenSkuMap = (path: string) => SkuSource;

/** The forms in which orders come: ours, and those of home-made shops. */
export class ShopForms {
  readonly #config: WebhookSettings;
  readonly #skus = new Map<ShopForm, SkuSource>();

  /** Throws CONFIG_INVALID when a SKU map cannot be used. */
  constructor(config: WebhookSettings, openSkuMap: OpenSkuMap) {
    this.#config = config;
    for (const { form } of config.hmac) {
      if (form !== null && form.skuMap !== null) this.#skus.set(form, openSkuMap(form.skuMap));
    }
  }

  /** `warn` while a changed SKU map cannot be used and the last good one stands in for it. */
  health(): 'pass' | 'warn' {
    return [...this.#skus.values()].some((file) => file.problem !== null) ? 'warn' : 'pass';
  }

  /** Reads the orders of a body in the form of its caller; null: our own. Throws the refusal. */
  read(body: Buffer, form: ShopForm | null, source: string): ReadOrders {
    const { limits } = this.#config;
    if (form === null) return readOrders(body, limits, source);
    const { fields, currency, unmatched } = form;
    const skus = this.#skus.get(form)?.current() ?? null;
    return readShopOrder(body, limits, source, { fields, currency, unmatched, skus });
  }
}
