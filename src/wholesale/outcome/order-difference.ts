import { familyOf } from '../../core/order/operation.ts';
import type { Purchase } from '../../core/order/purchase.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { firstAt, iccidIn, textIn } from '../connector/answer-values.ts';
import { quoted } from '../../core/message-text.ts';
import { orderObjectsIn } from '../connector/read-answer.ts';
import type { ComparedField, Wire } from '../connector/wire.ts';

/** One thing to compare: under which name it would be shown, how it was asked for, and in which form it counts. */
interface Compared {
  readonly what: ComparedField;
  readonly names: readonly string[];
  readonly asked: string | null;
  /** The shown value in the form in which it was asked; null for one that is not of that form. */
  readonly read: (shown: ExactJson) => string | null;
}

const number = (value: number | null): string | null => (value === null ? null : String(value));
const wholeNumberOf = (shown: ExactJson): string | null => /^(\d+)(?:\.0+)?$/.exec(textIn(shown) ?? '')?.[1] ?? null;
const currencyOf = (shown: ExactJson): string | null =>
  /^[A-Z]{3}$/.exec(textIn(shown)?.toUpperCase() ?? '')?.[0] ?? null;

function comparedOf(ordered: Purchase, wire: Wire): readonly Compared[] {
  const { operation } = ordered;
  if (operation === 'esim_cancel') return [];
  const { fields } = wire[operation];
  const product =
    'variant' in fields ? { name: fields.variant, asked: ordered.variant } : { name: fields.plan, asked: ordered.plan };
  return [
    { what: 'product', names: [product.name], asked: product.asked, read: textIn },
    { what: 'quantity', names: ['quantity'], asked: number(ordered.quantity), read: wholeNumberOf },
    { what: 'days', names: ['days'], asked: number(ordered.days), read: wholeNumberOf },
    { what: 'currency', names: [fields.currency], asked: ordered.currency, read: currencyOf },
    // An order of new eSIMs names other eSIMs than any that was asked for.
    {
      what: 'iccid',
      names: wire.answer.esims.iccid,
      asked: operation === 'esim_topup' ? ordered.iccid : null,
      read: iccidIn,
    },
  ];
}

/**
 * Finds out whether the order that a lookup found is another purchase than the one that its reference stands for. An
 * order may leave anything out and name things in its own way: only what stands under the name that the request uses,
 * in the form in which it was asked, and differs, counts. Null when nothing does; else both, for a person.
 */
export function findDifference(found: ExactJson, ordered: Purchase, wire: Wire): string | null {
  const order = orderObjectsIn(found, familyOf(ordered.operation), wire.answer)[0] ?? found;
  for (const { what, names, asked, read } of comparedOf(ordered, wire)) {
    if (asked === null || !wire.lookup.compare.includes(what)) continue;
    const shown = firstAt(order, names, read);
    if (shown !== null && shown !== asked)
      return `the order found under this reference has the ${what} ${quoted(shown)}, asked was ${quoted(asked)}`;
  }
  return null;
}
