import { assert } from '../core/order-sync-error.ts';
import { Reconcile } from '../storefronts/read-back/read-back.ts';
import type { TakeOrder } from '../storefronts/read-back/shop-reader.ts';
import type { StorefrontIntake } from '../storefronts/storefront-intake.ts';
import type { Store } from '../store/store.ts';
import type { WorkerDeps } from './worker-deps.ts';

/**
 * Builds the reading of shops through their REST APIs.
 * @param intake takes in what is read: the same that takes in the webhooks of these shops
 */
export function buildReadBack(
  deps: Pick<WorkerDeps, 'config' | 'clock' | 'logger' | 'version'>,
  store: Store,
  intake: () => StorefrontIntake,
): Reconcile {
  const { clock, version } = deps;
  const logger = deps.logger.child({ component: 'reconcile' });
  const shops = deps.config.intake.readBack;
  const { woocommerce = [], shopify = [] } = deps.config.intake.webhook ?? {};
  const notRead = woocommerce.length + shopify.length - shops.length;
  if (notRead > 0)
    logger.warn({ shops: notRead }, 'shops without a `rest` section: the worker misses orders whose webhook is lost');
  const take: TakeOrder = async ({ platform, shop }, value, refunds) => {
    const counter = intake().counter(platform, shop);
    assert(counter !== null, `a shop that is read back has a webhook: ${platform} ${shop}`);
    return await intake().take(counter, { value, isTest: false, refunds });
  };
  return new Reconcile({ shops, store, clock, logger, version, take });
}
