import type { Clock } from '../core/clock.ts';
import { programVersion } from '../ops/program-version.ts';
import { platformOf } from '../storefronts/platforms.ts';
import type { Shop } from '../storefronts/settings.ts';
import { type ConnectedShop, isConnected } from '../storefronts/shop-connections.ts';
import { type Finding, type Found, finding, pass, warn } from './doctor-checks.ts';

const answersWithinMs = 60_000;

/** One finding for each shop that is read back: what its key may do, and how its orders come. Changes nothing. */
export async function shopFindings(shops: readonly Shop[], clock: Clock): Promise<readonly Finding[]> {
  const checked = shops.filter(isConnected).map((shop) => finding(`shop:${shop.shop}`, () => checkShop(shop, clock)));
  return await Promise.all(checked);
}

async function checkShop(shop: ConnectedShop, clock: Clock): Promise<Found> {
  const api = platformOf(shop).connect(shop.rest, { clock, version: programVersion });
  const signal = AbortSignal.timeout(answersWithinMs);
  try {
    await api.changedSince(clock.wallMs()).nextPage(signal);
    if (api.checks === undefined) return pass('the key may read orders');
    const mayWrite = await api.checks.mayWrite(signal);
    const may = `the key may ${mayWrite ? 'read and write' : 'only read'}`;
    if (shop.writeBack !== null && !mayWrite)
      return warn(`${may}, and write_back is configured`, 'give the key the permission Read/Write');
    const path = `/webhooks/${shop.platform}/${shop.shop}`;
    const webhooks = await api.checks.webhooksTo(path, signal);
    const statuses = webhooks
      .map(({ id, status, url }) => `${id} (${status}${isPublic(url) ? '' : needsFilter})`)
      .join(', ');
    if (webhooks.length === 0) return pass(`${may}; no webhook ends with ${path}: orders come by read-back alone`);
    if (webhooks.every(({ status }) => status === 'active')) return pass(`${may}; webhooks: ${statuses}`);
    return warn(`${may}; webhooks: ${statuses}`, 'switch them on in the shop');
  } finally {
    await api.close();
  }
}

const needsFilter = ', to a private address or port: WordPress needs deploy/woocommerce/order-sync-webhooks.php';

/** Whether WordPress posts to an address without a filter that allows it. */
function isPublic(address: string): boolean {
  const { hostname = '', port = '' } = URL.parse(address) ?? {};
  const isPrivate = /^(localhost$|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/.test(hostname);
  return !isPrivate && ['', '80', '443', '8080'].includes(port);
}
