import { allFields, type Fields, idOf, isObject, listOf } from './payload-values.ts';

// Plugins mark the parts of a bundle, each in its own fields: by the id or product of the container, or its key in the cart.

const ofPart =
  /^(?!.*(?:woobt|woofs|gift|upsell|bump|name)).*(?:bundled_?by|part_of|parent|container|chained|bundled?_item(?!s)|composite_item)/;
const ofBundle = /bundle|composite|combo|chained|mnm_|woosb|wooco|wepb/i;

function itemOf(item: Fields) {
  const fields = allFields(item);
  const valuesOf = (words: RegExp) =>
    fields.flatMap(([key, value]) => (words.test(key) ? (listOf(value) ?? [value]) : []));
  const { id, product_id, variation_id, variant_id, subtotal, price, name } = item;
  const ids = [id, product_id, variation_id, variant_id, ...valuesOf(/^(?!.*parent).*key$/)];
  return {
    id: idOf(id),
    ids,
    containers: valuesOf(ofPart).filter((value) => !ids.includes(value)),
    parts: valuesOf(/bundled_items|children$/),
    isPart: fields.some(([key]) => ofPart.test(key) && ofBundle.test(key)),
    isBundle: valuesOf(ofBundle).length > 0 || ofBundle.test(String(name)),
    price: valuesOf(/gift|free|bogo/).length > 0 ? null : Number(subtotal ?? price),
  };
}

/** The bundle's line of which each line is a part, by the id of the part. A container stands before its parts. */
export function bundleContainers(lines: readonly unknown[]): ReadonlyMap<string | null, string | null> {
  const items = lines.filter(isObject).map(itemOf);
  type Item = (typeof items)[number];
  const holds = (one: Item, part: Item): boolean =>
    one !== part &&
    (part.containers.some((id) => one.ids.includes(id)) || one.parts.some((id) => part.ids.includes(id)));
  // Beside a bundle that marks its parts, a line without a price is a gift.
  const marksNone = (one: Item) => one.isBundle && Number(one.price) > 0 && !items.some((part) => holds(one, part));
  const containerOf = (item: Item, index: number): Item | undefined => {
    const before = items.slice(0, index).filter((it) => !it.isPart && it.containers.length === 0);
    if (item.isPart) return before.at(-1);
    return item.price === 0 ? before.findLast(marksNone) : undefined;
  };
  return new Map(
    items.map((item, index) => [
      item.id,
      (items.find((it) => holds(it, item)) ?? containerOf(item, index))?.id ?? null,
    ]),
  );
}
