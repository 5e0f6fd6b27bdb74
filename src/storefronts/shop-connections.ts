import type { ApiContext } from './shop/platform.ts';
import { platformOf } from './platforms.ts';
import type { ShopApi } from './shop/shop-api.ts';
import type { Shop } from './settings.ts';

export type ConnectedShop = Shop & { readonly rest: NonNullable<Shop['rest']> };

export const isConnected = (shop: Shop): shop is ConnectedShop => shop.rest !== null;

/** The identity of a shop's API: with other keys or another pace it is another one. */
export const connectionKey = ({ platform, shop, source, rest }: ConnectedShop): string =>
  JSON.stringify([platform, shop, source, rest]);

/** The APIs of all shops, each with one pace: reading and writing a shop share its limits. */
export class ShopConnections {
  readonly #context: ApiContext;
  readonly #open = new Map<string, { readonly api: ShopApi; holders: number }>();

  constructor(context: ApiContext) {
    this.#context = context;
  }

  /** Closed once by each holder; the last one aborts the call that is under way. */
  connect(shop: ConnectedShop) {
    const key = connectionKey(shop);
    const shared = this.#open.get(key) ?? {
      api: platformOf(shop).connect(shop.rest, this.#context),
      holders: 0,
    };
    this.#open.set(key, shared);
    shared.holders += 1;
    return {
      api: shared.api,
      close: async () => {
        shared.holders -= 1;
        if (shared.holders > 0) return;
        this.#open.delete(key);
        await shared.api.close();
      },
    };
  }
}
