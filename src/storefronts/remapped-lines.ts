import { isDeepStrictEqual } from 'node:util';
import type { NewRequest } from '../core/entry/replacement.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { purchaseOf } from '../core/order/purchase.ts';
import { rulesOfLine } from '../core/order/sku.ts';
import type { SkuMap } from '../core/order/sku-map.ts';
import type { MappedLine } from '../store/read/mapped-lines.ts';
import { rulesOfShop, toOrderLine } from './plan-order.ts';
import type { ShopSettings } from './shop/shop-settings.ts';

/** Where a line's SKU map is, and what stands beside it. */
export interface MapOfLine extends Pick<ShopSettings, 'source' | 'currency' | 'skuMap'> {
  readonly shop: ShopSettings | null;
}

/**
 * The order of a rejected line by the present SKU map. Its `wait_h` counts from now.
 * @throws OrderSyncError NOT_ALLOWED when the map says nothing else than before, or nothing that can be
 * ordered
 */
export function newRequestFor(
  line: MappedLine,
  map: MapOfLine,
  skus: SkuMap,
  nowMs: number,
): NewRequest {
  const { reference, sku: named } = line;
  if (named === null || !Number.isInteger(named.quantity)) {
    throw new OrderSyncError('NOT_ALLOWED', `${reference} was not ordered by a SKU`, {
      hint: 'order the line again without --remap, or send it with a new line id and the right product',
    });
  }
  const sku = skus.get(named.name);
  if (sku === undefined) {
    throw new OrderSyncError('NOT_ALLOWED', `The SKU map has no "${named.name}"`, {
      hint: `add it to ${map.skuMap}`,
    });
  }
  const order = { orderId: line.orderId, number: null, currency: line.currency ?? '' };
  const iccids = line.iccid === null ? [] : [line.iccid];
  const shopLine = {
    lineId: line.lineId,
    sku: named.name,
    product: null,
    remaining: named.quantity,
    iccids,
  };
  const found = toOrderLine(order, shopLine, { ...map, iccidField: 'iccid' }, sku);
  if ('problem' in found) {
    throw new OrderSyncError(
      'NOT_ALLOWED',
      `${reference} cannot be ordered as the SKU map says: ${found.problem}`,
      {
        hint: `correct "${named.name}" in ${map.skuMap}`,
      },
    );
  }
  const rules = rulesOfLine(sku, map.shop === null ? {} : rulesOfShop(map.shop), nowMs);
  const request = { ...purchaseOf(found.line), ...rules };
  const same = { ...purchaseOf(line), rules: line.rules };
  if (isDeepStrictEqual({ ...purchaseOf(request), rules: request.rules }, same)) {
    throw new OrderSyncError(
      'NOT_ALLOWED',
      `The SKU map has the same product for "${named.name}" as when the line was ordered`,
      {
        hint: `correct the SKU in ${map.skuMap}, or order the line again without --remap`,
      },
    );
  }
  return request;
}
