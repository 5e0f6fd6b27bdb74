import type { Clock } from '../core/clock.ts';
import { programVersion } from '../ops/program-version.ts';
import { platformOf } from '../storefronts/platforms.ts';
import type { Shop } from '../storefronts/settings.ts';
import { type ConnectedShop, isConnected } from '../storefronts/shop-connections.ts';
import { type Finding, type Found, finding, pass, warn } from './doctor-checks.ts';

const answersWithinMs = 60_000;

/**
 * One finding for each shop that is read back: what its key may do, and how its orders come.
 * Changes nothing.
 */
export async function shopFindings(
  shops: readonly Shop[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const checked = shops
    .filter(isConnected)
    .map((shop) => finding(`shop:${shop.shop}`, () => checkShop(shop, clock)));
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
    const { writeBack } = shop;
    const why = writeBack === null ? null : await api.checks.withholds(writeBack, signal);
    if (why !== null) return warn(`${may}; ${why.message}`, why.next);
    const path = `/webhooks/${shop.platform}/${shop.shop}`;
    const webhooks = await api.checks.webhooksTo(path, signal);
    const statuses = webhooks
      .map(({ id, status, needs }) => `${id} (${[status, needs].filter(Boolean).join(', ')})`)
      .join(', ');
    if (webhooks.length === 0)
      return pass(`${may}; no webhook ends with ${path}: orders come only by read-back`);
    if (webhooks.every(({ status }) => status === 'active'))
      return pass(`${may}; webhooks: ${statuses}`);
    return warn(`${may}; webhooks: ${statuses}`, 'switch the webhooks on in the shop');
  } finally {
    await api.close();
  }
}
