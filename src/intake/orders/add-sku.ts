import { quoted } from '../../core/message-text.ts';
import { productOfSku } from '../../core/order/sku.ts';
import type { SkuMap } from '../../core/order/sku-map.ts';
import { mangledAs } from '../../core/order/spreadsheet.ts';
import { type FieldNames, isObject, type Problem, shownValue } from './check-line.ts';

export const mangledRule =
  'looks changed by a spreadsheet: set the column to text before you open or export the file';

/**
 * Adds what the SKU map says about a line. One item in the cart may stand for several units; a
 * top-up is for one eSIM, once. A cancel buys nothing, so its SKU is only carried.
 */
export function addSku(
  line: Record<string, unknown>,
  named: unknown,
  {
    nameOf,
    skus,
    otherwise,
  }: { nameOf: FieldNames; skus: SkuMap | null; otherwise: number | undefined },
  problems: Problem[],
): void {
  const problem = (field: string, rule: string, code = 'invalid_field'): void => {
    const value = shownValue(field === 'sku' ? named : line[field]);
    problems.push({ code, field: nameOf([field]), rule, value });
  };
  if (skus === null || typeof named !== 'string') {
    const rule =
      skus === null ? 'needs `sku_map` of the folder or of `intake.webhook`' : 'must be a string';
    problem('sku', rule);
    return;
  }
  // One that is no object stays: it is a mistake.
  const { extra = {} } = line;
  const carry = (more: object): void => {
    if (isObject(extra)) line['extra'] = { ...extra, ...more };
  };
  carry({ sku: named });
  if (line['type'] === 'esim_cancel') return;
  const twice = ['variant', 'plan'].find((column) => line[column] !== undefined);
  if (twice !== undefined)
    problem(
      'sku',
      `names a product, and so does ${nameOf([twice])}: fill only one of these columns`,
    );
  const sku = skus.get(named);
  if (sku === undefined) {
    const near = skus.near(named);
    const rule = `is not in the SKU map${near === undefined ? '' : `, which has ${quoted(near)}`}`;
    if (mangledAs(named) === null) problem('sku', rule, 'unknown_sku');
    else problem('sku', mangledRule, 'id_mangled');
    return;
  }
  const { quantity = sku.type === 'esim_topup' ? 1 : otherwise } = line;
  const product = productOfSku(sku);
  for (const [field, own] of Object.entries(product))
    if (
      ['type', 'days', 'currency'].includes(field) &&
      line[field] !== undefined &&
      line[field] !== own
    )
      problem(field, `differs from that of the SKU, which has ${own}`);
  const isTopup = sku.type === 'esim_topup';
  if (isTopup && quantity !== 1) {
    const rule = 'must be 1 for a top-up: an operator decides about several top-ups of one eSIM';
    problem('quantity', rule, 'repeated_topup');
  }
  Object.assign(line, product);
  carry({ sku: named, shop_quantity: String(quantity) });
  if (isTopup) delete line['quantity'];
  else line['quantity'] = typeof quantity === 'number' ? quantity * sku.quantity : quantity;
}
